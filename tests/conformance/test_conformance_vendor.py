"""The wire contract: every check of the vendor's own, unmodified client, on both databases."""

from __future__ import annotations

from pathlib import Path

import pytest
import vendor_groups


@pytest.mark.timeout(1200)
def test_every_check_holds(database_url: str, tmp_path: Path) -> None:
    vendor_groups.hold(tmp_path, database_url)
