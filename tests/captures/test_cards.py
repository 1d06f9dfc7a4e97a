"""The card that a trace of torch.profiler names; an nsys export's is tried with findings."""

import gzip
from pathlib import Path

import pytest

from workflow_src.captures.recording import Card, card_of_trace

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
    text = f'{{"schemaVersion": 1, "deviceProperties": {properties}, "traceEvents": []}}'
    path.write_bytes(gzip.compress(text.encode()))
    assert card_of_trace(path) == card
