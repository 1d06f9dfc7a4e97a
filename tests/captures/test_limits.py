"""A capture that unpacks to too much, or can't be opened, and the card that a trace names."""

import gzip
import os
import zlib
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.captures.building import Export, event, launched, trace_file
from workflow_src.captures import events
from workflow_src.captures.cards import Card, card_of_trace
from workflow_src.captures.files import add_limit, within_limit
from workflow_src.captures.reading import read
from workflow_src.captures.torch_ranks import rank_of
from workflow_src.common.arguments import Parser
from workflow_src.common.errors import TraceError
from workflow_src.dag.captures import captures_of


def bomb(path: Path, start: bytes, mib: int) -> Path:
    """A small gzip file that unpacks to `start` and many MiB of one byte."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    with path.open("wb") as file:
        file.write(packer.compress(start))
        for _ in range(mib):
            file.write(packer.compress(b"a" * 2**20))
        file.write(packer.flush())
    assert path.stat().st_size < 2**20
    return path


def limits(path: Path, *given: str) -> Namespace:
    parser = Parser()
    parser.add_argument("--capture", type=Path, nargs="+")
    add_limit(parser)
    return parser.parse_args(["--capture", str(path), *given])


def said_of(path: Path, *given: str) -> str:
    with pytest.raises(TraceError) as caught, within_limit(limits(path, *given)):
        read(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "start", "given", "said"),
    [
        ("b.json.gz", b"", "--memory-gib=1", "its first 1 MiB have no list of traceEvents"),
        ("b.json.gz", b"[", "--memory-gib=0.001", "takes more than 0.001 GiB of memory; capt"),
    ],
)
def test_a_file_that_unpacks_to_a_hundred_times_its_size_ends_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, start: bytes, given: str, said: str
) -> None:
    # What a test before has freed counts as little: the one event of 64 MiB is held whole.
    holds, mib = (2**27, 64) if "memory" in given and start else (2**20, 4)
    monkeypatch.setattr(events, "LONGEST", holds)
    assert said in said_of(bomb(tmp_path / name, start, mib), given)


def test_one_within_the_limits_is_read(tmp_path: Path) -> None:
    path = trace_file(tmp_path, [event("user_annotation", "step", 0, 100), *launched(1, 5)])
    with within_limit(limits(path, "--memory-gib=1")):
        assert read(path).total_ns == 1_000


def test_a_pipe_is_no_capture_and_nobody_waits_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "c.json")
    assert rank_of(tmp_path / "c.json") is None
    assert "it is no file, as a pipe isn't; give" in said_of(tmp_path / "c.json")
    assert "it is a folder; give an SQLite export of nsys (" in said_of(tmp_path)
    assert said_of(tmp_path / "d*.json").endswith("d*.json: there is no such file")


def test_a_file_that_nobody_may_read_is_no_input_and_has_its_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path, *arguments: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    path = trace_file(tmp_path, [])
    monkeypatch.setattr(os, "access", lambda *given: False)
    captures = captures_of([str(path)], {})
    assert captures.inputs(SimpleNamespace(capture="c")) == []
    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(TraceError, match=r"c.json is not a capture .* \(Permission denied\)"):
        read(path)


V100 = '{"id": %d, "name": "Tesla V100", "computeMajor": 7, "computeMinor": %d}'


@pytest.mark.parametrize(
    ("properties", "card"),
    [
        (f"[{V100 % (0, 0)}, {V100 % (1, 0)}]", Card("Tesla V100", (7, 0))),
        (f"[{V100 % (0, 0)}, {V100 % (1, 5)}]", None),
        ('[{"name": "AMD Instinct MI300X"}]', Card("AMD Instinct MI300X")),
        ('[{"name": "zorp", "computeMajor": 9}, 7, null]', Card("zorp")),
        ("[{", None),
    ],
)
def test_the_card_of_a_trace(tmp_path: Path, properties: str, card: Card | None) -> None:
    path = tmp_path / "trace.json.gz"
    text = f'{{"cuda_driver_version": 12080, "deviceProperties": {properties}, "traceEvents": []}}'
    path.write_bytes(gzip.compress(text.encode()))
    assert card_of_trace(path) == (card and replace(card, driver="CUDA 12.8"))


def test_the_driver_of_an_export(tmp_path: Path) -> None:
    export = Export(tmp_path)
    export.range("step", 0, 9)
    export.sql("CREATE TABLE TARGET_INFO_GPU (name TEXT, computeMajor INT, computeMinor INT)")
    export.sql("INSERT INTO TARGET_INFO_GPU VALUES ('NVIDIA H200', 9, 0)")
    export.sql("CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT)")
    export.sql("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('NvDriverVersion', '580.159.04')")
    assert export.read().recording.card == Card("NVIDIA H200", (9, 0), "580.159.04")
