"""Fixtures for every test."""

import tempfile

import pytest


@pytest.fixture
def own_locks(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Device locks that this test and its jobs share with nobody else."""
    folder = str(tmp_path_factory.mktemp("locks"))
    monkeypatch.setenv("TMPDIR", folder)
    monkeypatch.setattr(tempfile, "tempdir", folder)
