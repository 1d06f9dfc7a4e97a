"""Where the runs are that the project publishes; their archives are unpacked once."""

import os
import shutil
import tarfile
import tempfile
import zlib
from functools import cache
from pathlib import Path

import pandas as pd

from workflow_src.common.read_table import read_table

EXAMPLES = Path(__file__).parent.parent / "examples"
UNPACKED = EXAMPLES.parent / ".published"
"""Kept between runs of the tests: a folder per run and content of its archives."""


@cache
def published(name: str) -> Path:
    """The folder of a run below examples, with what its archives hold: `tables` or `studies`."""
    source = EXAMPLES / name
    archives = sorted(source.glob("*.tar.gz"))
    if not archives:
        return source
    content = zlib.crc32(b"".join(path.read_bytes() for path in archives))
    folder = UNPACKED / f"{name.replace('/', '-')}-{content:08x}"
    if not folder.exists():
        UNPACKED.mkdir(exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=UNPACKED))
        for path in archives:
            with tarfile.open(path) as archive:
                archive.extractall(made, filter="data")
        for path in source.iterdir():
            if path not in archives:
                (made / path.name).symlink_to(path)
        try:
            os.rename(made, folder)
        except OSError:  # Another worker was faster.
            shutil.rmtree(made)
    return folder


H200, H100 = EXAMPLES / "h200", published("h100")


def read_study(path: Path) -> pd.DataFrame:
    """The table of the study that the file is named after; empty if it never ran."""
    if not path.is_file():
        return pd.DataFrame()
    return read_table(path, f"studies/{path.stem}")
