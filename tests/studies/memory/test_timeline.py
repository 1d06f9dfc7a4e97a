from tests.studies.memory.records import record
from workflow_src.studies.memory.timeline import (
    gradient_bytes,
    kinds,
    largest_allocations,
    place,
    segments,
)


def test_the_kind_of_memory_follows_from_when_it_lives() -> None:
    expected = ["activations", *["temporaries"] * 2, "gradients", "state", "temporaries"]
    assert kinds(record()) == expected


def test_a_path_names_a_place() -> None:
    assert place("step 1/forward/block 3/attention/softmax") == (
        ("step 1", "forward", "block 3", "softmax")
    )
    assert place("step 2/loss") == ("step 2", "loss", "", "")


def test_each_stretch_has_the_memory_of_its_peak() -> None:
    found = segments(record())
    told = [(row["part"], row["block"], row["component"], row["active_mib"]) for row in found]
    assert told == [
        ("forward", "block 0", "softmax", 20.0),
        ("backward", "", "", 13.0),
        ("backward", "block 0", "attention", 17.0),
        ("optimizer", "", "", 18.0),
        ("forward", "", "", 23.0),
    ]
    assert [found[0][f"{kind}_mib"] for kind in ("parameters", "activations", "temporaries")] == [
        10.0,
        2.0,
        8.0,
    ]
    assert (found[0]["start_ms"], found[0]["end_ms"]) == (4.0, 8.0)


def test_the_largest_allocations_of_the_last_step_have_their_lines() -> None:
    (only,) = largest_allocations(record())
    assert (only["mib"], only["part"], only["line"]) == (5.0, "forward", "model/attention.py:21")


def test_gradients_are_told_by_block() -> None:
    assert gradient_bytes(record()) == {"block 0": 4 * 2**20}
