"""Build hook: the translation catalogues (``.mo``) are built from their sources (``.po``).

Run as a program it builds them in this checkout, without hatchling. `pybabel compile` would take "95 % interval" for a
placeholder; the tests check those as well.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

if TYPE_CHECKING:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def get_build_hook() -> type[BuildHookInterface[Any]]:
    """The hook, as hatchling asks for it."""
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface

    class Catalogues(BuildHookInterface[Any]):
        """Builds each catalogue beside its source."""

        PLUGIN_NAME = "custom"

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - the interface
            """Before a wheel or an editable installation is made."""
            build(Path(self.root))

    return Catalogues


def build(root: Path) -> None:
    """Build the catalogues of the checkout in `root`."""
    for source in sorted((root / "src/everloop/language/translations").rglob("*.po")):
        with source.open("rb") as read:
            catalogue = read_po(read)
        with source.with_suffix(".mo").open("wb") as written:
            write_mo(written, catalogue)


if __name__ == "__main__":
    build(Path(__file__).parent)
