"""The script's own pieces in a real browser: what is merged is equal afterwards, and what was equal is the same."""

from __future__ import annotations

import gzip
from typing import Any

from browsing import Visitor

from everloop.console.pages import STATIC

MERGED = """async ([before, after]) => {
    const { merge } = await import('/static/merge.js');
    const region = document.querySelector('main');
    region.innerHTML = before;
    const old = [...region.querySelectorAll('*')];
    document.getElementById('held')?.focus();
    const fresh = region.cloneNode(false);
    fresh.innerHTML = after;
    merge(region, fresh);
    const same = old.filter((one) => one.isConnected).map((one) => one.id || one.localName);
    return {html: region.innerHTML, same, focus: document.activeElement.id};
}"""

RANDOM = """async ([rounds, seed]) => {
    const { merge } = await import('/static/merge.js');
    let state = seed;
    const draw = (n) => { state = (state * 1103515245 + 12345) % 2147483648; return Math.floor(state / 65536) % n; };
    const tags = ['p', 'div', 'li', 'details', 'span'];
    const grown = (depth, ids) => {
        const one = document.createElement(tags[draw(tags.length)]);
        const id = draw(12);
        if (draw(2) && !ids.has(id)) { ids.add(id); one.id = `n${id}`; }
        if (draw(3) === 0) one.className = `c${draw(3)}`;
        if (draw(5) === 0) one.dataset.seq = String(100 + draw(5));
        for (let n = draw(depth ? 4 : 1); n > 0; n -= 1) {
            one.append(draw(3) ? grown(depth - 1, ids) : `t${draw(4)}`);
        }
        return one;
    };
    const tree = () => { const root = document.createElement('div'); root.append(grown(3, new Set())); return root; };
    const unequal = [];
    for (let n = 0; n < rounds; n += 1) {
        const [old, fresh] = [tree(), tree()];
        const [was, wanted] = [old.outerHTML, fresh.cloneNode(true)];
        merge(old, fresh);
        if (!old.isEqualNode(wanted)) unequal.push([was, wanted.outerHTML, old.outerHTML]);
    }
    return unequal;
}"""


def merge(visitor: Visitor, before: str, after: str) -> dict[str, Any]:
    visitor.go("/sign-in")
    return dict(visitor.page.evaluate(MERGED, [before, after]))


def test_any_two_pages_are_equal_after_a_merge(visitor: Visitor) -> None:
    visitor.go("/sign-in")
    assert visitor.page.evaluate(RANDOM, [2000, 7]) == []


def test_a_new_row_above_leaves_the_others_and_the_focus_where_they_are(visitor: Visitor) -> None:
    row = '<li id="a"><a id="held" href="#">a</a></li><li id="b">b</li>'
    found = merge(visitor, f"<ol>{row}</ol>", f'<ol><li id="c">c</li>{row}</ol>')
    assert found == {"html": f'<ol><li id="c">c</li>{row}</ol>', "same": ["ol", "a", "held", "b"], "focus": "held"}


def test_a_row_that_is_gone_takes_no_other_with_it(visitor: Visitor) -> None:
    held = '<li id="b"><button id="held">b</button></li>'
    found = merge(visitor, f'<ol><li id="a">a</li>{held}<li id="c">c</li></ol>', f'<ol>{held}<li id="d">d</li></ol>')
    assert found["html"] == f'<ol>{held}<li id="d">d</li></ol>'
    assert (found["same"], found["focus"]) == (["ol", "b", "held"], "held")


def test_words_change_within_the_same_element(visitor: Visitor) -> None:
    found = merge(visitor, '<p class="old">one</p><p>two</p>', '<p title="x">three</p><p>two</p>')
    assert found["html"] == '<p title="x">three</p><p>two</p>'
    assert found["same"] == ["p", "p"]


def test_what_the_reader_opened_or_closed_stays_so(visitor: Visitor) -> None:
    before = '<details id="a" open=""><summary>a</summary>1</details><details id="b"><summary>b</summary>1</details>'
    after = '<details id="a"><summary>a</summary>2</details><details id="b" open=""><summary>b</summary>2</details>'
    found = merge(visitor, before, after)
    assert found["html"] == before.replace("1<", "2<")


def test_what_the_script_added_stays(visitor: Visitor) -> None:
    own = '<button data-own="">Copy</button>'
    found = merge(visitor, f"<pre>a</pre>{own}<p>x</p>", "<pre>b</pre><p>y</p><p>z</p>")
    assert found["html"] == f"<pre>b</pre>{own}<p>y</p><p>z</p>"


def test_the_script_is_small_and_asks_nothing_of_another_site() -> None:
    sources = {one.name: one.read_text() for one in STATIC.glob("*.js")}
    assert "console.js" in sources
    assert len(gzip.compress("".join(sources.values()).encode())) < 10_000
    for text in sources.values():
        assert "http:" not in text and "https:" not in text and "//" + "cdn" not in text
        assert "eval(" not in text and "innerHTML +=" not in text
