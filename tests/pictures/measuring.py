"""Pictures in a real browser: a program of its own, so that it shares no browser with other tests of its process.

``python measuring.py PAGE WIDTH SCHEME ...`` prints, for each page, what was measured of each picture on it, as JSON.
"""

from __future__ import annotations

import json
import shutil
import sys

from playwright.sync_api import Browser, sync_playwright

MEASURE = """
() => [...document.querySelectorAll('figure')].map(figure => {
  const around = figure.getBoundingClientRect();
  const texts = [...figure.querySelectorAll('text')].filter(text => getComputedStyle(text).display !== 'none');
  const boxes = texts.map(text => ({text: text.textContent, box: text.getBoundingClientRect()}));
  const outside = boxes.filter(({box}) => box.left < around.left - 1 || box.right > around.right + 1
    || box.top < around.top - 1 || box.bottom > around.bottom + 1).map(one => one.text);
  const touching = [];
  boxes.forEach((one, place) => boxes.slice(place + 1).forEach(other => {
    const across = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
    const down = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
    if (across > 1 && down > 4) touching.push([one.text, other.text]);
  }));
  const marks = [...figure.querySelectorAll('circle, path, rect, line')].map(mark => getComputedStyle(mark));
  const seen = mark => !/^(none|rgba\\(0, 0, 0, 0\\))$/.test(mark.fill) || mark.stroke !== 'none';
  return {
    name: figure.id,
    width: around.width,
    texts: boxes.length,
    smallest: Math.min(...texts.map(text => parseFloat(getComputedStyle(text).fontSize))),
    black: marks.filter(mark => mark.fill === 'rgb(0, 0, 0)' && mark.stroke === 'none').length,
    unseen: marks.filter(mark => !seen(mark)).length,
    outside, touching,
    sideways: document.documentElement.scrollWidth > innerWidth,
  };
})
"""


def measured(browser: Browser, page: str, width: str, scheme: str) -> object:
    look = "dark" if scheme == "dark" else "light"
    opened = browser.new_page(viewport={"width": int(width), "height": 800}, color_scheme=look)
    opened.goto(f"file://{page}")
    found: object = opened.evaluate(MEASURE)
    opened.close()
    return found


def main(asked: list[str]) -> None:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert program, "these tests need Chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        told = [measured(browser, *asked[place : place + 3]) for place in range(0, len(asked), 3)]
        browser.close()
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
