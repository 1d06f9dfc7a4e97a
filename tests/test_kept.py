"""Kept fingerprints are those of the files that are there, or are made anew."""

import json
from pathlib import Path

import pytest

from tests.package import copy_package, edit
from workflow_src.plan.fingerprint import fingerprint
from workflow_src.plan.kept import contents, kept_fingerprint

MODULE = "workflow_src.tables.join"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return copy_package(tmp_path)


def ask(root: Path) -> str:
    """As another process would, which remembers nothing."""
    contents.cache_clear()
    fingerprint.cache_clear()
    return kept_fingerprint(MODULE, root / "kept.json", root)


def test_a_kept_fingerprint_is_the_fingerprint(root: Path) -> None:
    assert ask(root) == ask(root) == fingerprint(MODULE, root)
    assert json.loads((root / "kept.json").read_text())["fingerprints"] == {MODULE: ask(root)}


def test_what_is_kept_is_used(root: Path) -> None:
    ask(root)
    kept = json.loads((root / "kept.json").read_text())
    kept["fingerprints"][MODULE] = "0123456789ab"
    (root / "kept.json").write_text(json.dumps(kept))
    assert ask(root) == "0123456789ab"


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("tables/join.py", "ignore_index=True", "ignore_index=False"),
        ("common/case.py", '"batch"', '"batches"'),
        ("plan/reader.py", '"""', '""" '),
    ],
)
def test_after_any_edit_it_is_made_anew(root: Path, file: str, old: str, new: str) -> None:
    ask(root)
    edit(root, file, old, new)
    assert ask(root) == fingerprint(MODULE, root)
    kept = json.loads((root / "kept.json").read_text())
    assert kept["contents"] == contents(root)


@pytest.mark.parametrize(
    "damage",
    ["", "{}", "[]", '{"contents": 1, "fingerprints": 2}', '{"fingerprints": {"a": 1}}', "\x00"],
)
def test_a_damaged_file_only_costs_time(root: Path, damage: str) -> None:
    (root / "kept.json").write_text(damage)
    assert ask(root) == fingerprint(MODULE, root)


def test_a_value_that_is_no_fingerprint_is_not_used(root: Path) -> None:
    before = ask(root)
    kept = json.loads((root / "kept.json").read_text())
    kept["fingerprints"][MODULE] = "x"
    (root / "kept.json").write_text(json.dumps(kept))
    assert ask(root) == before


def test_a_folder_that_cannot_be_written_only_costs_time(root: Path) -> None:
    (root / "file").write_text("")
    assert kept_fingerprint(MODULE, root / "file" / "kept.json", root) == fingerprint(MODULE, root)
