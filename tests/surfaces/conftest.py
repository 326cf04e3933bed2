"""Fixtures of the surfaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.surfaces.cli import Cli


@pytest.fixture
def jiyi(tmp_path: Path) -> Cli:
    return Cli(tmp_path)
