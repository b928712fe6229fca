"""The page of a run, by real requests: what it says in every state a run can be in. No script runs here."""

from __future__ import annotations

import gzip
import re
from html.parser import HTMLParser

import pytest
import stored
from browsing import Visitor
from visiting import Reader, Site

from everloop.service.permissions import Role

LOOPS = "/local/local/rsi/model-loops"
STATES = ("finished", "unconfirmed", "running", "paused", "failed", "stopped", "unreadable", "bare", "dry", "hostile")


class Tags(HTMLParser):
    """Every element of a page with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    @property
    def ids(self) -> list[str]:
        return [str(attributes["id"]) for _, attributes in self.found if "id" in attributes]


@pytest.fixture(scope="module")
def runs(site: Site) -> None:
    for state in STATES:
        getattr(stored, state)(site.place, f"page-{state}")
    stored.large(site.place, "page-large", rounds=120, events=1000)


@pytest.fixture
def page(runs: None, reader: Reader) -> Reader:
    reader.enter()
    return reader


def see(page: Reader, run: str) -> str:
    """The words of a run's page."""
    answer = page.get(f"{LOOPS}/page-{run}")
    assert answer.status_code == 200, page.text
    return page.text


def test_a_confirmed_run_says_what_is_shown_against_its_base_and_against_the_control_arm(page: Reader) -> None:
    words = see(page, "finished")
    assert "v3 is confirmed better than v0 by 0.205 [0.188, 0.222] on 2,238 blind items." in words
    assert "It is also shown to beat the control arm, which was trained as long without the loop, by 0.064" in words
    assert "the chance that any claim made so far is false is at most 0.03." in words


def test_a_run_that_was_not_confirmed_says_so_before_anything_else(page: Reader) -> None:
    words = see(page, "unconfirmed")
    assert "v3 is not confirmed: on 2,238 blind items it differs from v0 by +0.004 [-0.006, +0.014]." in words
    assert "Nor is it shown to beat the control arm" in words
    assert words.index("is not confirmed") < words.index("Loop progress") < words.index("Loop board")
    assert "confirmed better" not in words


def test_the_status_stands_before_every_picture(page: Reader) -> None:
    see(page, "finished")
    assert page.page.text.index('id="state"') < page.page.text.index('id="progress"') < page.page.text.index("<svg")


def test_a_running_run_says_what_it_does_and_that_nothing_is_confirmed_yet(page: Reader) -> None:
    words = see(page, "running")
    assert "running round 5 of 8" in words
    assert "v2 is certified better than v1 by" in words
    assert "It is not confirmed on blind items yet" in words
    assert "Against the control arm nothing is shown yet." in words
    assert "r5c1 is being compared with v2: log e 0.40 after 240 of at most 2,000 pairs, 5.30 needed." in words
    assert "loop · gate, since" in words


def test_recent_activity_has_the_newest_first(page: Reader) -> None:
    see(page, "running")
    numbers = [int(one) for one in re.findall(r'<li data-seq="(\d+)"', page.page.text)]
    assert len(numbers) > 50
    assert numbers == sorted(numbers, reverse=True)


def test_steers_are_shown_with_what_became_of_them(page: Reader) -> None:
    words = see(page, "running")
    assert re.search(r"queued \S+ \S+ UTC · user:ada Look at borrows first\.", words)
    assert re.search(r"delivered \S+ \S+ UTC · user:ada Prefer held-out families\.", words)
    assert re.search(r"dropped \S+ \S+ UTC · user:ada Look at borrows first\.", see(page, "finished"))


def test_jobs_lead_to_their_pages(page: Reader) -> None:
    see(page, "running")
    found = re.search(r'<a href="(/local/local/experiment/jobs/job_\w+)">control-0005-a1</a>', page.page.text)
    assert found
    assert page.get(found[1]).status_code == 200


def test_spend_stands_beside_its_caps(page: Reader) -> None:
    words = see(page, "running")
    assert "Models $0.1652 of $5.00" in words
    assert "GPU training $0.0501" in words
    assert "Together $0.2153 of $8.00" in words


def test_a_run_that_waits_for_a_person_shows_the_command_and_no_button(page: Reader) -> None:
    words = see(page, "paused")
    assert "The run is paused. r1c1 waits for a person's approval." in words
    assert "Against v0 it changed by +0.065 [+0.030, +0.100] on 400 fresh pairs." in words
    assert re.search(r"el approve decide apr-[0-9a-f]{20} --approve", words)
    assert "Nothing is shown yet." in words
    forms = [attributes["action"] for tag, attributes in Tags(page.page.text).found if tag == "form"]
    assert forms == ["/sign-out"]


def test_a_failed_run_shows_its_error(page: Reader) -> None:
    words = see(page, "failed")
    assert "The run has failed. INTERNAL_SERVER_ERROR KeyError in phase evaluate of round 2" in words
    assert "It was never confirmed on blind items: the run ended without a final gate." in words


def test_a_run_that_cannot_be_read_is_told_as_such_and_as_nothing_else(page: Reader) -> None:
    words = see(page, "unreadable")
    assert "This run cannot be read. RUN_UNREADABLE" in words
    assert "This says nothing of what the run did, spent or has shown." in words
    assert "$0.00" not in words


@pytest.mark.parametrize("state", STATES)
def test_what_is_missing_is_a_dash_in_every_state(page: Reader, state: str) -> None:
    words = see(page, state)
    for wrong in ("None", "nan", "inf", "Undefined", "null"):
        assert not re.search(rf"(?<![\w.-]){wrong}(?![\w-])", words), wrong


def test_a_dry_run_says_that_it_trains_nothing(page: Reader) -> None:
    assert "This is a dry run: nothing is trained" in see(page, "dry")


def test_texts_that_others_gave_stay_texts(page: Reader) -> None:
    see(page, "hostile")
    assert "<script>alert" not in page.page.text
    assert "\u202e" not in page.page.text
    tags = Tags(page.page.text).found
    sources = [attributes.get("src") for tag, attributes in tags if tag == "script"]
    assert [str(one).partition("?")[0] for one in sources] == ["/static/console.js"]
    assert not [name for _, attributes in tags for name in attributes if name.startswith("on") or name == "style"]


@pytest.mark.parametrize("state", STATES)
def test_every_id_is_there_once_and_every_opened_piece_has_one(page: Reader, state: str) -> None:
    see(page, state)
    tags = Tags(page.page.text)
    assert len(tags.ids) == len(set(tags.ids))
    unnamed = [attributes for tag, attributes in tags.found if tag == "details" and "id" not in attributes]
    assert [attributes.get("class") for attributes in unnamed] in ([], ["menu"])


def test_every_decision_of_a_round_is_explained_in_a_sentence(page: Reader) -> None:
    words = see(page, "finished")
    for sentence in (
        "r8c1 was certified against v2 on fresh items: 32 won and 9 lost of 480 pairs, log e 5.70 where 5.30 was",
        "r7c1 was rejected by the screen: it gave -0.035 where +0.022 was needed, 9 won and 23 lost of 400 pairs.",
        "r6c1 could not be judged, which is no verdict on it: the training of r6c1 ended timeout: 600 s have passed.",
        "r5c1 was not shown to beat v2, and the test stopped because it would hardly get there",
        "r3c1 became the working head, not yet certified",
        "r2c1 was rejected by an audit: contamination: 12 rows equal items of the dev set.",
    ):
        assert sentence in words


def test_a_round_opens_to_its_plan_interventions_diff_and_reasons(page: Reader) -> None:
    see(page, "finished")
    html = page.page.text
    opened = html[html.index('id="round-8-more"') : html.index('id="round-7-more"')]
    for words in (
        "30% of each batch is replay",
        "add up to 1000 verified samples of",
        "+ families: add3_carry",
        "Expected gain",
        "what is not trained can fall",
        "checkpoints/r8c1",
        "held on 500 items",
        "$0.058 (models $0.0413, GPU $0.0167)",
    ):
        assert words in opened


def test_scores_carry_their_interval_and_n(page: Reader) -> None:
    words = see(page, "finished")
    assert "0.994 [0.990, 0.996] n=2,238, 2 missing" in words
    assert "control arm 6,600 0.930 [0.919, 0.940] n=2,238" in words


def test_the_final_gate_and_the_claims_are_shown_against_base_and_control(page: Reader) -> None:
    words = see(page, "finished")
    assert "v3 v0 0.994 0.789 +0.205 [+0.188, +0.222] 2,238 277.60 / 5.30 confirmed" in words
    assert "v3 control arm 0.994 0.930 +0.064 [+0.053, +0.075] 2,238 66.67 / 5.30 shown" in words
    assert "beats the control arm r8c1 control 0.005 shown" in words
    assert "certified r5c1 v2 0.005 not shown" in words


def test_the_protocol_is_shown_with_its_hash_its_sets_and_every_parameter_of_the_gate(page: Reader) -> None:
    words = see(page, "finished")
    assert re.search(r"Hash of the protocol [0-9a-f]{64} ", words)
    assert "dev 400 7 20" in words
    assert "blind 2,000 1 1" in words
    assert re.search(r"Smallest gain it can show, four times in five, if one answer in five differs 0\.\d{3}", words)
    assert re.search(r"test\.max_pairs [\d]+", words)
    assert "Most it can cost" in words


def test_directives_are_shown_as_they_were_written(page: Reader) -> None:
    see(page, "finished")
    assert "Never train on rows that a person has not allowed.\nKeep answers short." in page.page.text


def test_each_picture_has_its_table_and_its_downloads(page: Reader) -> None:
    see(page, "finished")
    for name in ("scores", "evidence", "families", "spend", "timeline"):
        assert f'<details id="picture-{name}-table">' in page.page.text
        for form in ("svg", "csv"):
            assert f'href="{LOOPS}/page-finished/pictures/{name}.{form}"' in page.page.text


def test_every_link_of_the_page_leads_somewhere(page: Reader) -> None:
    see(page, "finished")
    tags = Tags(page.page.text)
    links = {str(attributes["href"]) for tag, attributes in tags.found if tag in {"a", "link"} and "href" in attributes}
    within = {link[1:] for link in links if link.startswith("#")}
    assert within <= set(tags.ids)
    assert {link for link in links if not link.startswith(("#", "/"))} == set()
    for link in sorted(link for link in links if link.startswith("/")):
        assert page.get(link).status_code in {200, 303}, link


def test_a_long_run_shows_its_newest_rounds_and_the_way_to_the_others(page: Reader) -> None:
    see(page, "large")
    shown = [int(one) for one in re.findall(r'id="round-(\d+)-more"', page.page.text)]
    assert shown == list(range(120, 95, -1))
    assert f'href="{LOOPS}/page-large?rounds=95#rounds"' in page.page.text
    page.get(f"{LOOPS}/page-large?rounds=10")
    shown = [int(one) for one in re.findall(r'id="round-(\d+)-more"', page.page.text)]
    assert shown == list(range(10, 0, -1))
    assert "Earlier rounds" in page.text


@pytest.mark.parametrize("asked", ["0", "x", "-1", "1.5", "9" * 30])
def test_rounds_that_are_no_number_are_refused_with_a_page(page: Reader, asked: str) -> None:
    answer = page.get(f"{LOOPS}/page-large?rounds={asked}")
    assert answer.status_code == 422
    assert "Rounds must be a whole number from 1" in page.text


@pytest.mark.parametrize("run", ["finished", "large", "hostile"])
def test_a_page_is_light(page: Reader, run: str) -> None:
    see(page, run)
    assert len(gzip.compress(page.page.content, 6)) < 40 * 1024


def test_the_board_is_what_the_page_has_within_it_without_the_recent_activity(page: Reader) -> None:
    see(page, "running")
    whole = Tags(page.page.text).ids
    answer = page.get(f"{LOOPS}/page-running/board")
    assert answer.status_code == 200
    inside = Tags(answer.text).ids
    assert inside == whole[whole.index("board") + 1 : whole.index("board") + 1 + len(inside)]
    assert {"verdict", "progress", "events", "loop-board", "evidence"} <= set(inside)
    assert "data-seq" not in answer.text


def test_the_script_learns_from_the_page_where_it_stands(page: Reader) -> None:
    see(page, "running")
    told = next(attributes for tag, attributes in Tags(page.page.text).found if tag == "main")
    assert told["data-live"] == f"{LOOPS}/page-running/live"
    assert told["data-board"] == f"{LOOPS}/page-running/board"
    assert told["data-cursor"] == "68"
    assert "data-ended" not in told
    for state in ("finished", "failed", "stopped", "unreadable"):
        see(page, state)
        assert "data-ended" in next(attributes for tag, attributes in Tags(page.page.text).found if tag == "main")


def test_in_another_group_than_its_own_a_run_is_found_where_it_belongs(page: Reader) -> None:
    answer = page.get("/local/local/rsi/data-loops/page-finished?rounds=3")
    assert (answer.status_code, answer.headers["location"]) == (303, f"{LOOPS}/page-finished?rounds=3")


def test_a_run_of_another_project_and_one_that_is_not_there_are_told_alike(page: Reader, site: Site) -> None:
    project = site.project()
    page.enter((project, Role.VIEWER))
    answers = [page.get(f"/local/{project}/rsi/model-loops/{run}") for run in ("page-finished", "page-nowhere")]
    assert [one.status_code for one in answers] == [404, 404]
    assert answers[0].text.replace("page-finished", "page-nowhere").count("page-nowhere") == answers[1].text.count(
        "page-nowhere"
    )


def test_viewers_see_the_page_as_others_do(runs: None, reader: Reader) -> None:
    reader.enter(("local", Role.VIEWER))
    assert "v3 is confirmed better than v0" in see(reader, "finished")


@pytest.mark.parametrize("state", ["running", "paused", "bare", "hostile", "unreadable"])
def test_the_page_looks_right_on_a_phone_and_on_a_wall(runs: None, visitor: Visitor, state: str) -> None:
    visitor.enter()
    visitor.go(f"{LOOPS}/page-{state}")
    visitor.looks_right()


def test_an_opened_round_and_its_neighbours_look_right(runs: None, visitor: Visitor) -> None:
    visitor.enter()
    visitor.go(f"{LOOPS}/page-finished")
    for summary in visitor.at("#rounds summary, #evidence summary, .drawn summary").all():
        summary.click()
    visitor.looks_right()


def test_a_past_that_cannot_be_read_is_not_shown_as_one_in_which_nothing_was(site: Site, reader: Reader) -> None:
    run = stored.finished(site.place, "past-unreadable")
    stored.past_lost(site.place, run)
    reader.enter()
    assert reader.get(f"/local/local/rsi/model-loops/{run}").status_code == 200
    assert "What is on record of this run's past cannot be read." in reader.text
    reader.get(f"/local/local/rsi/model-loops/{stored.finished(site.place, 'past-readable')}")
    assert "past cannot be read" not in reader.text
