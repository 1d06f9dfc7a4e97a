"""Two captures of other programs compared: what changed, by how much, and the gate's status."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from tests.captures.building import Export
from tests.captures.test_report import loop
from tests.workflow import ROOT
from workflow_src.cli import read_capture as cli
from workflow_src.common.errors import StageError
from workflow_src.compare import compare_captures, gate
from workflow_src.compare.compare_captures import compare, read_capture
from workflow_src.compare.page import Compared

RECORDED = ROOT / "tests" / "data" / "captures"
MS = 1_000_000


@pytest.fixture(scope="module")
def tabulated(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Tables of a capture whose steps launch kernels, each for some ms in a range of its name."""

    @cache
    def made(works: tuple[tuple[str, int], ...], steps: int, processes: int) -> Path:
        export = Export(tmp_path_factory.mktemp("captures"))
        for process in range(1, processes + 1):
            for step in range(steps):
                start = step * 1000 * MS
                export.range("step", start, start + 900 * MS, process=process)
                for place, (kernel, ms) in enumerate(works):
                    at = start + 100 * MS * place
                    export.range(f"in {kernel}", at, at + 100 * MS, process=process)
                    text = export.string(kernel)
                    export.work(at + 1, ms * MS, process=process, demangledName=text)
        path = export.write()
        return tables_of(path, path.parent / "tables")

    def of(works: dict[str, int], steps: int = 3, processes: int = 1) -> Path:
        return made(tuple(works.items()), steps, processes)

    return of


def tables_of(capture: Path, folder: Path) -> Path:
    cli.main(["--capture", str(capture), "--output", str(folder)])
    return folder


def judged(found: Compared) -> list[list[object]]:
    """Of device time and of the time from step to step: ms of A and B, and the verdict."""
    rows = found.facts["judged"]
    return [
        [float(ours), float(theirs), verdict]
        for ours, theirs, verdict in rows[["a_ms", "b_ms", "verdict"]].to_numpy(object)
    ]


def written(folder: Path, a: Path, b: Path) -> str:
    given = ["--templates", str(ROOT / "report_templates"), "--output", str(folder)]
    compare_captures.main(["--a", str(a), "--b", str(b), *given])
    return (folder / "compare.md").read_text()


def test_paths_and_kernels_have_times_of_a_step_and_what_is_new_or_gone(
    tabulated: Callable[..., Path],
) -> None:
    a = tabulated({"gemm": 10, "softmax": 20, "old": 4})
    b = tabulated({"gemm": 10, "softmax": 30, "new": 2}, steps=4)
    found = compare(a, b)
    assert found.facts["step"] == "step" and judged(found)[0] == [34, 42, "slower"]
    paths = found.tables["paths"].set_index("path")[["a_ms", "b_ms", "own_change_ms"]].fillna(-1)
    assert paths.to_dict("index") == {
        "step": {"a_ms": 34, "b_ms": 42, "own_change_ms": 0},
        "step/in gemm": {"a_ms": 10, "b_ms": 10, "own_change_ms": 0},
        "step/in softmax": {"a_ms": 20, "b_ms": 30, "own_change_ms": 10},
        "step/in old": {"a_ms": 4, "b_ms": -1, "own_change_ms": -4},
        "step/in new": {"a_ms": -1, "b_ms": 2, "own_change_ms": 2},
    }
    kernels = found.tables["kernels"]
    changed = kernels[kernels["kind"] != ""].set_index("name")
    assert changed["kind"].to_dict() == {
        "softmax": "time changed", "old": "vanished", "new": "appeared"
    }  # fmt: skip
    assert changed["change_ms"].to_dict() == {"softmax": 10, "old": -4, "new": 2}
    assert kernels["change_ms"].sum() == 42 - 34


@pytest.mark.parametrize(
    ("before", "after", "verdict", "status"),
    [
        (dict(works={"k": 100}), dict(works={"k": 103}), "slower", 1),
        (dict(works={"k": 103}), dict(works={"k": 100}), "faster", 0),
        (dict(works={"k": 100}), dict(works={"k": 101}), "same", 0),
        (dict(works={"k": 100}, processes=2), dict(works={"k": 100}), "same", 0),
        (dict(works={"k": 100}, steps=2), dict(works={"k": 100}), "can't tell", 3),
        (dict(works={}), dict(works={}), "can't tell", 3),
    ],
)
def test_each_verdict_and_its_status(
    tmp_path: Path, tabulated: Callable[..., Path], before: dict, after: dict, verdict: str,
    status: int,
) -> None:  # fmt: skip
    a, b = tabulated(**before), tabulated(**after)
    assert compare(a, b).facts["verdict"] == verdict
    text = written(tmp_path, a, b)
    found, said = gate.read_verdict(tmp_path / "compare.json")
    assert found == status and f"**{said}**" in text
    assert {path.name for path in tmp_path.iterdir()} == {
        "compare.md", "compare.html", "compare.json", "paths.csv", "kernels.csv", "findings.csv",
        "host.csv",
    }  # fmt: skip


def test_a_loader_that_sleeps_longer_makes_steps_slower_and_is_named(tmp_path: Path) -> None:
    """Device work is the same: 9 kernels of 100 us a step, for which the host waits."""
    exports = [loop(tmp_path / f"{us}", us) for us in (0, 580)]
    folders = [tables_of(each, each.parent / "tables") for each in exports]
    found = compare(*folders)
    assert [verdict for *_, verdict in judged(found)] == ["no difference shown", "slower"]
    assert judged(found)[1][:2] == pytest.approx([0.92, 1.5])
    assert found.facts["verdict"] == "longer" and gate.STATUSES["longer"] == 1
    assert "1.50 ms instead of 0.920 ms" in written(tmp_path / "o", *folders)
    host = found.tables["host"]
    assert host["change_ms"].sum() == pytest.approx(0.58, rel=0.05)
    longer = found.tables["findings"].iloc[0]
    assert (longer["a_ms"], longer["b_ms"]) == pytest.approx((0.02, 0.6), rel=0.01)
    back = compare(*reversed(folders))
    assert back.facts["verdict"] == "shorter"
    assert back.tables["findings"]["change_ms"].iloc[0] == pytest.approx(-0.58, rel=0.01)


def test_a_finding_whose_saving_is_unknown_did_not_vanish(tmp_path: Path) -> None:
    """The same products, in a capture that the replay doesn't understand."""
    strangers = ROOT / "tests" / "data" / "strangers"
    a, b = (
        tables_of(strangers / f"compare_{name}.json.gz", tmp_path / name)
        for name in ("before", "after")
    )
    for pair in ((a, b), (b, a)):
        findings = compare(*pair).tables["findings"].set_index("name")
        products = findings.loc["Products in float32"]
        assert products["kind"] == "saving unknown" and pd.isna(products["change_ms"])
        assert not {"appeared", "vanished", "time changed"} & set(findings["kind"])


def test_what_one_capture_does_not_tell_is_no_change(tmp_path: Path) -> None:
    """The second one has no steps, so neither findings nor calls of the host."""
    a = tables_of(loop(tmp_path / "a", 580), tmp_path / "with")
    single = Export(tmp_path)
    single.range("setup", 0, 100)
    single.work(10)
    b = tables_of(single.write(), tmp_path / "without")
    for pair in ((a, b), (b, a)):
        found = compare(*pair)
        assert found.tables["findings"].empty and found.tables["host"].empty
        assert found.facts["parts"]["change_ms"].isna().all()


def test_captures_without_tables_or_that_could_not_be_read_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.sqlite").write_text("hello")
    with pytest.raises(StageError, match=r"make its tables: snakemake .*'captures=\[FILE\]'"):
        read_capture(tmp_path)
    given = ["--capture", f"{tmp_path}/bad.sqlite", "--output", f"{tmp_path}/bad"]
    cli.main([*given, "--note-problem"])
    with pytest.raises(StageError, match=r"could not be read: .*bad\.sqlite: it is neither"):
        read_capture(tmp_path / "bad")


def test_kernels_of_different_profilers_are_matched_by_short_name(tmp_path: Path) -> None:
    folders = tmp_path / "torch", tmp_path / "nsys"
    for folder, file in zip(folders, ("streams.json.gz", "streams.sqlite.gz"), strict=True):
        tables_of(RECORDED / file, folder)
    found = compare(*folders)
    kinds = found.tables["kernels"].set_index("name")["kind"]
    assert len(kinds) == 14 and not {"appeared", "vanished"} & set(kinds)
    said = written(tmp_path / "o", *folders)
    assert said.count("The profilers differ (A: torch, B: nsys)") == 1
    assert "profilers differ" not in written(tmp_path / "o", folders[0], folders[0])
