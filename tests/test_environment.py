"""Measurements from different machines or versions: found, named, and never mixed silently."""

import io
import json
import re
import sys
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
import torch

from tests.workflow import Project, rewritten
from workflow_src.common import environment as columns
from workflow_src.common.errors import StageError
from workflow_src.measure import machine
from workflow_src.measure.processes import measured_alone
from workflow_src.plan import drift
from workflow_src.tables import measured as machine_tables
from workflow_src.tables.environment import distinct, main, require_one

H200 = {"gpu": "H200", "torch": "2.13"}
A100 = {"gpu": "A100", "torch": "2.13"}
HERE = {"gpu": {"H200"}, "torch": {"2.13"}}


def tables_of(folder: Path, *environments: dict[str, str]) -> list[Path]:
    paths = [folder / str(n) / "environments.csv" for n in range(len(environments))]
    for path, environment in zip(paths, environments, strict=True):
        path.parent.mkdir()
        pd.DataFrame([environment | {"node": str(path)}]).to_csv(path, index=False)
    return paths


def test_another_host_or_boot_mixes_nothing_and_is_no_drift(tmp_path: Path) -> None:
    """So that a run can go on elsewhere, or after a boot."""
    hosts = [H200 | {"host_id": name} for name in ("0a1b2c3d", "4e5f6a7b")]
    require_one(distinct(tables_of(tmp_path, *hosts)))
    path = tmp_path / "benchmark.json"
    path.write_text(json.dumps({"environment": hosts[0]}))
    assert drift.drift([path], HERE) == ""


BOOT = "5ec2e700-b007-4000-8000-5ec2e75ec2e7"


def host_of(folder: Path, monkeypatch: pytest.MonkeyPatch, boot: str) -> str:
    """The id of a host whose boot has an id."""
    (folder / "boot").write_text(f"{boot}\n")
    monkeypatch.setattr(machine, "BOOT_ID", folder / "boot")
    return machine.host_id()


def test_a_host_keeps_its_id_until_it_boots_and_no_other_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = partial(host_of, tmp_path, monkeypatch)
    first = host(BOOT)
    assert re.fullmatch("[0-9a-f]{8}", first)
    assert first == host(BOOT) != host(BOOT[::-1])
    (tmp_path / "boot").unlink()
    assert machine.host_id() == ""


def test_the_id_is_in_what_is_measured_and_nothing_that_it_is_made_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_locks: None
) -> None:
    host = host_of(tmp_path, monkeypatch, BOOT)
    found = measured_alone("t", {"device": "cpu"}, "phases", dict)
    assert found["environment"]["host_id"] == host
    gpu = found["environment"] | {"device_name": "GPU-1"}
    tables = [
        machine_tables.environment(each, "torch 2")
        for each in (found, found | {"environment": gpu})
    ]
    assert tables[0]["gpu_id"].tolist() == [""] and len(tables[1]["gpu_id"][0]) == 8
    table = tables[0].to_csv()
    assert pd.read_csv(io.StringIO(table), dtype="str")["host_id"].tolist() == [host]
    assert BOOT not in table and BOOT not in json.dumps(found)


def test_the_first_column_that_differs_is_named_with_its_values(tmp_path: Path) -> None:
    paths = tables_of(tmp_path, H200, A100, H200)
    found = r"gpu differs .*: H200 \(2 measured\), A100 \(1 measured\);.* mixed_environments"
    with pytest.raises(StageError, match=found):
        require_one(distinct(paths))


@pytest.mark.parametrize("allowed", [True, False])
def test_mixing_is_written_only_if_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allowed: bool
) -> None:
    output, paths = tmp_path / "cases.csv", tables_of(tmp_path, H200, A100)
    given = ["x", "--measured", *map(str, paths), "--output", str(output)]
    monkeypatch.setattr(sys, "argv", given + ["--mixed-environments"] * allowed)
    if allowed:
        main()
        assert len(pd.read_csv(output)) == 2
    else:
        with pytest.raises(SystemExit, match="gpu differs"):
            main()
        assert not output.exists()


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        (H200, ""),
        (H200 | {"cpu": "not compared: unknown here"}, ""),
        (A100, "gpu: measured with 'A100', and here is 'H200'"),
        (H200 | {"torch": "2.11"}, "torch: measured with '2.11', and here is '2.13'"),
    ],
)
def test_drift_is_a_difference_from_what_is_here(
    tmp_path: Path, environment: dict[str, str], said: str
) -> None:
    path = tmp_path / "benchmark.json"
    path.write_text(json.dumps({"environment": environment}))
    assert drift.drift([path, tmp_path / "absent.json"], HERE) == said


def test_this_machine_is_described_as_results_describe_it() -> None:
    here = drift.here("cpu")
    assert here["torch"] == {torch.__version__} and here["cpu"] == {columns.cpu_model()}


@pytest.mark.workflow
def test_results_of_another_torch_are_kept_and_not_added_to(project: Project) -> None:
    for path in (project.folder / "results/smoke/benchmark").glob("*.json"):
        result = json.loads(path.read_text())
        result["environment"]["torch"] = "1.0"
        rewritten(path, json.dumps(result))
    assert project.stale() == {}
    before = {path: (project.folder / path).read_bytes() for path in project.results()}
    project.edit("config.yaml", "contexts: [16, 32]", "contexts: [16, 32, 48]")
    said = project.run(check=False)
    assert "can't be added to. torch: measured with '1.0', and here is '" in said
    assert "-R benchmark capture ceilings study_point" in said and "tag=" in said
    after = {path: (project.folder / path).read_bytes() for path in project.results()}
    assert before == after, "nothing was measured or removed"
    again = project.stale("-R", "benchmark", "capture", "ceilings", "study_point")
    assert [again[rule] for rule in ("benchmark", "capture", "ceilings")] == [3, 3, 1]
