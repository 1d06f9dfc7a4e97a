"""A stale lock of what requirements*.txt pull in is noticed, and torch installed by its hashes."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(path.name for path in ROOT.glob("requirements*.txt"))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that `tools/lock --check` reads."""
    for file in ROOT.glob("requirements*.txt"):
        shutil.copy(file, tmp_path)
    shutil.copytree(ROOT / "locks", tmp_path / "locks")
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "lock", tmp_path / "tools")
    return tmp_path


def check(checkout: Path) -> subprocess.CompletedProcess[str]:
    command = [checkout / "tools" / "lock", "--check"]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("file", FILES)
def test_a_changed_requirement_makes_the_lock_stale(checkout: Path, file: str) -> None:
    with (checkout / file).open("a") as stream:
        stream.write("six==1.17.0\n")
    result = check(checkout)
    sentence = f"locks/ is stale: {file} changed since it was made; run `make lock`.\n"
    assert (result.returncode, result.stderr) == (1, sentence)


def install_torch(
    folder: Path, answer: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run tools/install_torch with a pip that notes its arguments and fails with this answer."""
    pip = folder / "pip"
    pip.write_text(f'#!/bin/sh\necho "$@" >>{folder}/asked\necho "{answer}" >&2\nexit 1\n')
    pip.chmod(0o755)
    return subprocess.run(
        [ROOT / "tools" / "install_torch", pip],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )


def test_a_cpu_build_with_another_hash_is_refused(tmp_path: Path) -> None:
    result = install_torch(tmp_path, "THESE PACKAGES DO NOT MATCH THE HASHES", TORCH="cpu")
    assert result.returncode == 1 and "DO NOT MATCH" in result.stderr
    assert "torch-cuda" not in (tmp_path / "asked").read_text()


def test_the_cuda_build_serves_where_no_cpu_build_can_be_fetched(tmp_path: Path) -> None:
    assert "taking the CUDA build" in install_torch(tmp_path, "No match", TORCH="cpu").stderr
    assert "locks/torch-cuda.txt" in (tmp_path / "asked").read_text()
