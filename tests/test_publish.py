"""Published results are correct and contain no machine names."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from tests.published import published
from tests.workflow import ROOT, load
from tools.clean_export import clean_export
from tools.publish import publish
from workflow_src.captures.reading import read
from workflow_src.common.atomic_write import write_csv, write_json
from workflow_src.common.case import TABLES
from workflow_src.common.read_table import described
from workflow_src.dag.start import make_dag
from workflow_src.measure import machine
from workflow_src.studies.join_points import join
from workflow_src.studies.study import STUDIES

DATA = Path(__file__).parent / "data" / "nsys"


def test_a_cleaned_export_reads_the_same_and_has_no_other_data(tmp_path: Path) -> None:
    source = DATA / "autograd_thread_nsys2025.3.sqlite"
    with_secret = tmp_path / "secret.sqlite"
    with_secret.write_bytes(source.read_bytes())
    with closing(sqlite3.connect(with_secret)) as connection:
        connection.execute("CREATE TABLE TARGET_INFO_SYSTEM_ENV (name, value)")
        connection.execute("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('HOSTNAME', 'secret-host')")
        connection.execute("INSERT INTO StringIds VALUES (999999, '/home/secret-user')")
        connection.commit()
    clean = tmp_path / "clean.sqlite"
    clean_export(with_secret, clean)
    assert b"secret" not in clean.read_bytes()
    before, after = read(source), read(clean)
    for name in ("ranges", "work", "calls", "copies"):
        pd.testing.assert_frame_equal(getattr(before, name), getattr(after, name))


def test_a_published_run_names_its_command_and_no_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret-boot").write_text("secret-boot")
    monkeypatch.setattr(machine, "BOOT_ID", tmp_path / "secret-boot")
    points = tmp_path / "results" / "t" / "studies" / "mlp"
    about = {"gpu": "H200", "host_id": machine.host_id(), "node": "secret-host"}
    write_json(points / "a.json", {"environment": about})
    tables = tmp_path / "results" / "t" / "tables"
    (tables / "studies").mkdir(parents=True)
    (tmp_path / "results" / "t" / "figures").mkdir()
    for name in TABLES:
        table = pd.DataFrame({"case": ["a"], "node": ["secret-host"], "device_name": ["GPU-1"]})
        table["host_id"] = machine.host_id()
        table.to_csv(tables / f"{name}.csv", index=False)
    (tmp_path / "results/t/figures/x.svg").write_text("<svg/>")
    (tmp_path / "results/t/plan.csv").write_text("case\na\n")
    (tmp_path / "results/t/appendix.md").write_text("# Appendix\n")
    report = tmp_path / "report.md"
    report.write_text("# Title\n\n![x](results/t/figures/x.svg) [words](docs/glossary.md)\n")
    out = tmp_path / "out"
    page = tmp_path / "report.html"
    page.write_text("<!DOCTYPE html>\n")
    publish(report, tmp_path / "results" / "t", out, "snakemake report.md", page)
    text = (out / "report.md").read_text()
    assert text.startswith("# Title\n") and text.endswith(
        "\n\nReport made by `snakemake report.md`.\n"
    )
    assert "(figures/x.svg)" in text
    assert (out / "report.html").read_text() == page.read_text()
    assert "[words](../docs/glossary.md)" in text
    assert (out / "figures" / "x.svg").exists() and (out / "plan.csv").exists()
    assert (out / "appendix.md").read_text() == "# Appendix\n"
    for name in TABLES:
        table = pd.read_csv(out / "tables" / f"{name}.csv", dtype="str")
        assert table.to_dict("list") == {"case": ["a"], "host_id": [machine.host_id()]}
    point = json.loads((out / "studies" / "mlp" / "a.json").read_text())
    assert point == {"environment": {"gpu": "H200", "host_id": machine.host_id()}}
    written = [path for path in out.rglob("*") if path.is_file()]
    assert len(written) > len(TABLES)
    assert not [path for path in written if b"secret" in path.read_bytes()]


PARTLY = {"levers", "precision"}
OTHERS = ("own-*", "batch8-*", "*-limit")
"""Points of an attention that a run brought, which its configuration names; of an earlier version;
and of contexts that were chosen by what the device had free."""


@pytest.mark.parametrize("study", STUDIES)
def test_published_study_tables_are_derived_from_the_published_points(
    tmp_path: Path, study: str
) -> None:
    run = published("h200")
    dag = make_dag(
        load(ROOT / "config.yaml") | {"cluster": True, "device": "cuda", "profiler": "nsys"}
    )
    folder = run / "studies" / study
    files = [folder / f"{point}.json" for point in dag.studies.points(study)]
    files += sorted(each for kind in OTHERS for each in folder.glob(f"{kind}.json"))
    # Of these studies, some points were measured.
    points = [file for file in files if file.is_file()] if study in PARTLY else files
    table = join(study, points)
    write_csv(tmp_path / "t.csv", described(table, f"studies/{study}"))
    paths = (tmp_path / "t.csv", run / "tables" / "studies" / f"{study}.csv")
    made, expected = (pd.read_csv(path, dtype=str) for path in paths)
    # Published tables have columns of earlier versions, too.
    assert made.equals(expected[list(made)])
    assert {*described(expected, f"studies/{study}")} == {*made}
