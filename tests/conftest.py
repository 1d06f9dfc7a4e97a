"""Fixtures shared by all tests."""

import tempfile

import pytest


@pytest.fixture
def own_locks(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give this test and its jobs device locks of their own."""
    folder = str(tmp_path_factory.mktemp("locks"))
    monkeypatch.setenv("TMPDIR", folder)
    monkeypatch.setattr(tempfile, "tempdir", folder)
