"""Documents for the tests of pictures, and what is read off a picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta

from everloop.events import Json, JsonValue
from everloop.pictures import Picture

SVG = "{http://www.w3.org/2000/svg}"
START = datetime(2026, 11, 30, 1, tzinfo=UTC)


def score(mean: float | None, set_name: str = "blind", split: str = "all", n: int | None = 400) -> Json:
    low, high = (None, None) if mean is None else (max(0.0, mean - 0.02), min(1.0, mean + 0.02))
    return {"set": set_name, "split": split, "mean": mean, "low": low, "high": high, "n": n, "missing": 0}


def version(name: str, *scores: JsonValue) -> Json:
    return {"version": name, "parent": None, "round": None, "rows": 6600, "artifact": {}, "scores": list(scores)}


def document(*versions: JsonValue, control: JsonValue = None, **more: JsonValue) -> Json:
    return {"run": "arith-carry-1", "versions": list(versions), "control": control, "best_version": "v1", **more}


def many(count: int) -> Json:
    """A run of `count` versions with a control arm."""
    made = [version(f"v{place}", score(0.5 + 0.4 * place / count, n=2000)) for place in range(count)]
    return document(*made, control={"rows": 6600, "scores": [score(0.93)]})


def final(passed: bool | None, candidate: str = "v1") -> Json:
    figures: Json = {"n": 2000, "change": 0.2, "low": 0.18, "high": 0.22}
    return {"gate": "final", "candidate": candidate, "baseline": "v0", "passed": passed, **figures}


def looks(*log_e: float | None, **more: JsonValue) -> Json:
    """The comparison of a history, with a look each 20 pairs."""
    made: list[JsonValue] = [
        {"pairs": 20 * place, "wins": 3 * place, "losses": place, "log_e": value, "futility": -0.1 * place, "at": None}
        for place, value in enumerate(log_e, 1)
    ]
    bounds: Json = {"threshold": 5.298, "futility_threshold": 0.693, "max_pairs": 2000, "stopped": None}
    return {"candidate": "r4c1", "against": "v0", **bounds, "looks": made, **more}


def spent(*totals: float | None, minutes: float = 5) -> list[Json]:
    """Cumulative spend after each round."""
    return [
        {
            "round": place,
            "at": moment(60 * minutes * place),
            "model_usd": total,
            "gpu_usd": None,
            "total_usd": total,
        }
        for place, total in enumerate(totals, 1)
    ]


def phase(number: int, name: str, begun: float, ended: float | None, **more: JsonValue) -> Json:
    """A phase between two seconds of the run."""
    until = None if ended is None else moment(ended)
    took = None if ended is None else ended - begun
    return {"round": number, "phase": name, "started_at": moment(begun), "ended_at": until, "seconds": took, **more}


def moment(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def read(picture: Picture) -> ET.Element:
    """The picture as it stands on a page."""
    return ET.fromstring(picture.svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1))


def marked(picture: Picture, name: str, kind: str) -> list[ET.Element]:
    """Elements of a name and class."""
    return [one for one in read(picture).iter(f"{SVG}{name}") if kind in one.get("class", "").split()]


def written(picture: Picture) -> list[str]:
    """All lines of text in it."""
    return [one.text or "" for one in read(picture).iter(f"{SVG}text")]


def told(picture: Picture) -> list[str]:
    """What its marks say when a pointer rests on them."""
    return [title.text or "" for group in read(picture).iter(f"{SVG}g") for title in group.findall(f"{SVG}title")]
