"""Build hook: the translation catalogues (``.mo``) are built from their sources (``.po``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Catalogues(BuildHookInterface[Any]):
    """Builds each catalogue beside its source."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - the interface
        """Before a wheel or an editable installation is made."""
        for source in sorted(Path(self.root, "src/everloop/language/translations").rglob("*.po")):
            with source.open("rb") as read:
                catalogue = read_po(read)
            with source.with_suffix(".mo").open("wb") as written:
                write_mo(written, catalogue)
