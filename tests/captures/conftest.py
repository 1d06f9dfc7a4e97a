"""What tests of captures share."""

from pathlib import Path

import pytest

from tests.captures.building import Export


@pytest.fixture
def export(tmp_path: Path) -> Export:
    """An export without events."""
    return Export(tmp_path)
