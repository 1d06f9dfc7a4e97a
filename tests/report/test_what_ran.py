"""What was run: parameters of a size, settings as recorded, and what is missing with its state."""

from dataclasses import replace

import pandas as pd
import pytest

from tests.report.test_trust import NOTHING, read
from tests.synthetic_tables import Sample
from workflow_src.answers.tables import Tables
from workflow_src.paper.show import Printer
from workflow_src.report.opening import opening, several_hosts
from workflow_src.report.run import OPTIONAL, REPORT_TABLES
from workflow_src.report.what_ran import NO_RESULT, incomplete, recorded, settings, sizes, what_ran

__all__ = ["read"]

PLANNED = {"layers": 12, "heads": 12, "vocabulary": 10000, "d_model": 768, "d_ff": 3072}


def test_parameters_are_counted_from_the_plan():
    """768 x (4 x 768 + 3 x 3072 + 2) x 12 in the blocks, twice 10000 x 768, and a last norm."""
    plan = pd.DataFrame([Sample().front | PLANNED] * 2, index=[2, 3])
    (row,) = sizes(plan).to_numpy()
    assert [str(Printer()(cell)) for cell in row] == [
        "small",
        "768",
        "3,072",
        "12",
        "12",
        "64",
        "129",
    ]


def test_settings_are_shown_as_they_were_recorded():
    cells = pd.DataFrame({"cuda": ["13.0", "13.0", ""], "steps": [10.0, 20.0, float("nan")]})
    assert recorded(cells, "cuda") == "`13.0`"
    assert recorded(cells, "steps") == "`10`, `20`"
    assert recorded(cells, "nothing") == ""
    many = pd.DataFrame({"driver": [f"{n}" for n in (9, 10, 8, 7, 11)]})
    assert recorded(many, "driver") == "`7` to `11`"


def test_the_profiler_has_its_name_before_its_version(read):
    assert dict(settings(read(Sample())).to_numpy())["profiler"] == "Nsight Systems `2025.1`"


def test_names_of_machines_stay_at_home(read):
    assert "secret" not in str(settings(read(Sample())).to_numpy())


@pytest.mark.parametrize(("column", "row"), [("host_id", "hosts"), ("gpu_id", "GPUs")])
@pytest.mark.parametrize(
    ("ids", "said"),
    [(("1e5", "1e5"), 1), (("1e5", "100000"), 2), (("1e5", ""), None), ((None, None), None)],
)
def test_hosts_and_gpus_are_counted_where_each_case_tells_its_own(read, column, row, ids, said):
    """By ids as texts: some look like numbers, such as 1e5 and 100000."""
    known = [{} if name is None else {column: name} for name in ids]
    first, second = Sample(environment=known[0]), Sample(context=256, environment=known[1])
    run = read(first, second)
    found = dict(settings(run).to_numpy().tolist()).get(row)
    assert (found.number if found else None) == said
    doubted = several_hosts(run.tables)
    assert (doubted is not None) == (row == "hosts" and said == 2)


def test_studies_of_hosts_on_which_no_case_ran_are_named(read, tmp_path):
    """One of the same host, two of another, one that doesn't tell, as older ones don't."""
    run = read(Sample(environment={"host_id": "1e5"}))
    studies = {"mlp": "host_id,status\n1e5,ok\n,ok\n", "levers": "host_id,status\n100000,ok\n"}
    studies |= {"warmup": "status\nok\n", "fusion": "host_id,status\n,ok\n100000,ok\n"}
    (tmp_path / "tables" / "studies").mkdir()
    for name, text in studies.items():
        (tmp_path / "tables" / "studies" / f"{name}.csv").write_text(text)
    parts = tuple(replace(NOTHING, name=name) for name in studies)
    tables = run.tables.with_studies(tmp_path / "tables", studies)
    found = what_ran(replace(run, studies=parts, tables=tables))
    assert (found.elsewhere, found.without_host) == (("levers", "fusion (in part)"), ("warmup",))


def test_compiled_cases_are_said_to_have_no_ranges_of_modules(read):
    name = "cases under torch.compile, so without ranges of modules"
    first, second = (Sample(context=n, environment={"compiled": n == 128}) for n in (128, 256))
    assert str(Printer()(dict(settings(read(first, second)).to_numpy())[name])) == "1 of 2"
    assert name not in dict(settings(read(second)).to_numpy())


def test_what_is_missing_has_its_state_and_reason(read):
    oom = {"train_step": ("oom", "CUDA out of memory")}
    (row,) = incomplete(read(Sample(status=oom)).times).to_numpy()
    assert list(row) == ["small-ctx128-fp32", "training step", "OOM", "OOM", "CUDA out of memory"]
    lost = {"train_step": ("not_measured", "")}
    (row,) = incomplete(read(Sample(status=lost)).times).to_numpy()
    assert list(row)[2:] == ["not measured", "not measured", NO_RESULT]


def test_a_case_without_a_machine_was_not_measured(read, tmp_path):
    run = read(Sample(), Sample(context=256))
    assert opening(run).measured is None
    path = tmp_path / "tables" / "environments.csv"
    pd.read_csv(path).iloc[1:].to_csv(path, index=False)
    found = opening(replace(run, tables=Tables.read(path.parent, REPORT_TABLES, OPTIONAL)))
    assert (found.cases.number, found.measured and found.measured.number) == (2, 1)
