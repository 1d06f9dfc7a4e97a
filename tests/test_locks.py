"""torch is installed by its hashes."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


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
