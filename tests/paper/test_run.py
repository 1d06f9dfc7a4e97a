"""Tables as chapters read them, and tables of cases."""

from pathlib import Path

import pytest

from tests.published import H100
from workflow_src.common.errors import StageError
from workflow_src.paper.number import Number
from workflow_src.paper.run import Run, matrices, medians

HEAD = "case,size,context,batch,precision,attention,optimizer,device"


def test_tables_have_their_types_and_absent_ones_their_columns(tmp_path: Path) -> None:
    (tmp_path / "environments.csv").write_text(
        f"{HEAD},compiled,gpu\na{',' * 7},True,1e3\nb{',' * 7},,\nc{',' * 7},1,\n"
    )
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "mlp.csv").write_text("point,status,median_ms\nmlp,ok,many\n")
    run = Run.of(tmp_path)
    read = run["environments"]
    assert read["compiled"].tolist() == [True, False, True]
    assert read["gpu"].tolist() == ["1e3", "", ""] and set(read["driver"]) == {""}
    assert read.index.tolist() == [("environments", line) for line in (2, 3, 4)]
    assert run["timings"].empty and {"case", "phase", "median_ms"} <= set(run["timings"])
    with pytest.raises(StageError, match=r"studies/mlp.csv is not .* median_ms"):
        run["studies/mlp"]
    assert Run([tmp_path / "none.csv"]).cases.empty


def test_cases_make_tables_by_size_and_context_and_by_precision() -> None:
    run = Run.of(H100 / "tables")
    cases = run.cases
    ones = cases["label"].map(lambda label: Number(1.0 if "fp32" in label else 3.0, "ms"))
    assert cases["label"].is_unique and "small at 128 in fp32" in set(cases["label"])
    found = medians(cases, {"time": (ones, "median"), "none": (ones[:0], "median")})
    assert [[str(cell) for cell in row] for row in found.to_numpy()] == [["time", "1.00", "3.00"]]
    assert list(found) == ["", "fp32", "bf16"]
    tables = matrices(cases, ones.where(cases["size"] != "small", "OOM"))
    assert list(tables) == ["fp32", "bf16"]
    assert tables["bf16"]["size"].iloc[0] == "small" and tables["bf16"]["128"].iloc[0] == "OOM"
