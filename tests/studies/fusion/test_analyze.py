from pathlib import Path
from typing import Any

from tests.studies.fusion.rows import launches
from tests.studies.tables import filled, joined
from workflow_src.studies.fusion import analyze as fusion


def raw(implementation: str, columns: int, ns: int = 0, **other: Any) -> dict[str, Any]:
    """A row as it is measured: 128 rows of softmax; without a time it ran out of memory."""
    about = {"operation": "softmax", "implementation": implementation, "dtype": "bfloat16"}
    about |= {"rows": 128, "columns": columns}
    if not ns:
        return about | {"status": "oom", "reason": "full"}
    outcome = {"status": "ok", "reason": "", "relative_error": 1e-3, "samples_ns": [ns]}
    return about | outcome | other


def test_what_is_derived_of_raw_rows(tmp_path: Path) -> None:
    copied, torchs, gone = filled(
        joined(
            tmp_path,
            fusion.derive,
            [raw("copy", 64, 2000), raw("torch", 64, 8000), raw("triton", 64)],
        )
    )
    assert torchs["elements"] == gone["elements"] == 8192
    assert torchs["bytes_moved"] == 2 * 8192 * 2
    assert torchs["median_ms"] == 0.008
    assert torchs["achieved_gb_per_s"] == 4.096
    assert (copied["share_of_copy"], torchs["share_of_copy"]) == (1.0, 0.25)
    assert gone["status"] == "oom" and gone["share_of_copy"] is gone["bytes_moved"] is None


def test_the_ceiling_is_the_best_that_reads_as_much_as_it_writes() -> None:
    def ceiling(name: str, ns: int, status: str = "ok") -> dict[str, Any]:
        about = {"kind": "bandwidth", "name": name, "status": status}
        return about | ({"bytes": 1000, "samples_ns": [ns, 2 * ns]} if status == "ok" else {})

    rows = [ceiling("write", 1), ceiling("copy", 5), ceiling("scale", 4), ceiling("copy", 1, "oom")]
    (derived,) = fusion.derive({}, [*rows, raw("torch", 64, 1000, median_ms=0.001)])
    assert derived["ceiling_gb_per_s"] == 250.0


def test_without_a_copy_there_is_no_share() -> None:
    rows = [raw("copy", 64), raw("copy", 32, 1000), raw("torch", 64, 1000, median_ms=0.001)]
    rows[1]["median_ms"] = 0.001
    gone, copied, torchs = fusion.derive({}, rows)
    assert "share_of_copy" not in gone
    assert (copied["share_of_copy"], torchs["share_of_copy"]) == (1.0, None)


def test_rows_of_the_same_length_share_the_count_of_the_profiled_one(tmp_path: Path) -> None:
    rows = [
        raw("written_out", 64, 1000, activities=launches(2, 3)),
        raw("written_out", 64, 900, rows=64),
        raw("written_out", 32, 800, activities=launches(4)),
        raw("written_out", 16, 700),
        raw("torch", 64, 600),
    ]
    found = filled(joined(tmp_path, fusion.derive, rows))
    assert [row["kernels_launched"] for row in found] == [5, 5, 4, None, None]


def test_one_profile_counts_the_launches_of_gelu_at_every_size() -> None:
    gelu = {"operation": "gelu", "rows": 1, "median_ms": 1.0}
    rows = [
        raw("torch", 64, 1000, **gelu, activities=launches(1)),
        raw("torch", 32, 1000, **gelu),
        raw("torch", 32, 1000, **gelu, dtype="float32"),
    ]
    assert [row["kernels_launched"] for row in fusion.derive({}, rows)] == [1, 1, None]
