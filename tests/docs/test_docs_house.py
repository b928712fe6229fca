"""What the repository as a whole must hold."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import everloop

ROOT = Path(__file__).parents[2]
# Written in pieces, so that this file does not hold what it looks for.
HOSTS = ["pypi" + ".org", "python" + "hosted.org", "registry." + "npmjs.org", "deb." + "debian.org"]
FOLDERS = ["/" + name + "/" for name in ("work", "farm", "root", "Users")] + ["/opt/" + "pypi", "/opt/" + "wheels"]
FORBIDDEN = re.compile("|".join([*map(re.escape, HOSTS), *(rf"(?<![\w.~}})/]){re.escape(path)}" for path in FOLDERS)]))


def _files() -> list[Path]:
    """What is tracked, and what will be; every file of an unpacked archive where there is no repository."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    done = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, timeout=60)
    if done.returncode == 0:
        found = [ROOT / name for name in done.stdout.split("\0") if name]
    else:
        found = [path for path in ROOT.rglob("*") if ".venv" not in path.parts]
    return [path for path in found if path.is_file()]


def test_no_file_names_a_registry_host_or_a_path_of_one_machine() -> None:
    found = []
    for path in _files():
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        found += [
            f"{path.relative_to(ROOT)}:{n}: {line[:100]}" for n, line in enumerate(lines, 1) if FORBIDDEN.search(line)
        ]
    assert found == []


@pytest.mark.parametrize("text", ["see /" + "root/x", "https://" + "pypi" + ".org/simple", "'/" + "work/main'"])
def test_the_search_finds_what_it_looks_for(text: str) -> None:
    assert FORBIDDEN.search(text)


@pytest.mark.parametrize("text", ["frame/" + "work/x", "home / 'work'", "https://example.com/" + "work/x"])
def test_the_search_lets_other_text_be(text: str) -> None:
    assert not FORBIDDEN.search(text)


def test_changelog_has_this_version() -> None:
    assert re.search(
        rf"^## \[{re.escape(everloop.__version__)}\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M
    )


def test_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == everloop.__version__


def test_constraints_pin_every_direct_dependency_exactly() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    lines = [
        line for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines() if not line.startswith("#")
    ]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9a-z.]*", line) for line in lines)
    pinned = {_normal(line.partition("==")[0]) for line in lines}
    names = {_normal(re.split(r"[\[<>=~! ;]", one)[0]) for one in wanted}
    assert sorted(names - pinned) == []


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
