"""The host's time in CUDA calls, from api_calls.csv."""

from pathlib import Path

import pandas as pd

from tests.questions import answer_question
from tests.synthetic_tables import Sample, write_tables
from workflow_src.answers.api_time import summarize

TEMPLATES = Path(__file__).parent.parent / "report_templates"


def calls(case: str, precision: str, *rows: tuple[str, str, int, int]) -> pd.DataFrame:
    names = ["kind", "name", "calls", "total_ns"]
    about = Sample(precision=precision).front | {"case": case, "phase": "forward", "steps": 2}
    return pd.DataFrame([about | dict(zip(names, row, strict=True)) for row in rows])


def test_calls_are_per_step_and_medians_over_cases() -> None:
    launches = ("launch", "cudaLaunchKernel", 200, 2_000_000)
    more = ("launch", "cuLaunchKernelEx", 100, 1_000_000)
    waits = ("synchronize", "cudaDeviceSynchronize", 2, 8_000_000)
    table = pd.concat([
        calls("x", "bf16", launches),
        calls("a", "fp32", launches, more, waits),
        calls("b", "fp32", launches),
    ])  # fmt: skip
    fp32, bf16 = summarize(table)
    assert (fp32["precision"], fp32["phase"], fp32["cases"]) == ("fp32", "forward", 2)
    assert fp32["launches"] == 125 and fp32["launch"] == 1.25 and fp32["synchronize"] == 2.0
    assert fp32["launch_us"] == 10.0
    assert (bf16["precision"], bf16["launches"], bf16["synchronize"]) == ("bf16", 100, 0)


def test_the_table_is_in_the_appendix_where_calls_were_recorded(tmp_path: Path) -> None:
    write_tables(tmp_path, Sample())
    assert "CUDA calls" not in answer_question("a", tmp_path, TEMPLATES)[1]
    table = calls(Sample().case, "fp32", ("launch", "cudaLaunchKernel", 200, 2_000_000))
    table.to_csv(tmp_path / "api_calls.csv", index=False)
    text = answer_question("a", tmp_path, TEMPLATES)[1]
    assert "| fp32        | forward |       1 |        100 |            10.0 |" in text
