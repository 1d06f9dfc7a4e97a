"""The stage that writes a study's section, and the conditions that it prints."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from tests.published import EXAMPLES, H200
from tests.studies.subsets import ROOT
from tests.studies.tables import printed, table
from workflow_src.common.words import DASH
from workflow_src.studies import section
from workflow_src.studies.conditions import conditions
from workflow_src.studies.registry import REGISTRY

STUDY = next(iter(REGISTRY))
"""A study that this module still writes."""

PUBLISHED = next(EXAMPLES.glob(f"*/tables/studies/{STUDY}.csv"))
FILES = ("md", "page.md", "appendix.md", "appendix.page.md", "json")


def run(monkeypatch: pytest.MonkeyPatch, folder: Path, csv: Path, *more: str) -> dict[str, str]:
    """What the command writes of the study, by ending."""
    made = folder / "figure.svg"
    given = [
        "--study",
        STUDY,
        "--tables",
        str(csv),
        *more,
        "--templates",
        str(ROOT / "report_templates"),
    ]
    given += ["--figure", str(made), "--output", str(folder), "--log", "logs/study.log"]
    monkeypatch.setattr(sys, "argv", ["", *given])
    section.main()
    return {end: (folder / f"{STUDY}.{end}").read_text() for end in FILES} | {
        "svg": made.read_text()
    }


def test_a_section_is_written_with_its_page_its_tables_and_its_numbers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    csv, ceilings = PUBLISHED, H200 / "tables/ceilings.csv"
    found = run(monkeypatch, tmp_path, csv, str(ceilings))
    assert f"]({tmp_path}/figure.svg)" in found["md"] and "](#" not in found["md"]
    assert f"](#studies/{STUDY}-" in found["page.md"]
    said = json.loads(found["json"])
    assert (said["study"], said["title"]) == (STUDY, REGISTRY[STUDY].chapter.title)
    assert f"**{said['headline']}**" in found["md"]
    assert found == run(monkeypatch, tmp_path, csv, str(ceilings))
    assert found["md"] == run(monkeypatch, tmp_path, csv)["md"], "it isn't held against ceilings"


def test_a_defect_leaves_a_section_that_says_so_and_a_log(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(table: pd.DataFrame, ceilings: pd.DataFrame) -> None:
        raise KeyError("whole")

    chapter = replace(REGISTRY[STUDY].chapter, result=broken)
    changed = replace(REGISTRY[STUDY], chapter=chapter)
    monkeypatch.setattr(section, "REGISTRY", {**REGISTRY, STUDY: changed})
    found = run(monkeypatch, tmp_path, PUBLISHED)
    assert "could not be written: see `logs/study.log`" in found["md"] == found["page.md"]
    assert found["appendix.md"] == "" and json.loads(found["json"])["verdict"] == "failed"
    assert "could not" not in found["svg"], "the figure is none the worse"
    assert "KeyError: 'whole'" in capsys.readouterr().err


def test_a_figure_that_fails_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = replace(REGISTRY[STUDY], draw=lambda table: table["none"])
    monkeypatch.setattr(section, "REGISTRY", {**REGISTRY, STUDY: changed})
    found = run(monkeypatch, tmp_path, PUBLISHED)
    assert "could not be drawn: see logs/study.log" in found["svg"]
    assert json.loads(found["json"])["verdict"] != "failed"
    assert "KeyError: 'none'" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "point,ms\na,1\n", "\0"])
def test_a_damaged_table_ends_with_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    csv = tmp_path / "t.csv"
    csv.write_text(text)
    with pytest.raises(SystemExit) as ended:
        run(monkeypatch, tmp_path, csv)
    said = f"{ended.value.code}{capsys.readouterr().err}"
    assert "is not a study's table" in said and "Traceback" not in said


def test_the_conditions_of_a_study() -> None:
    """What has no times can't vary with its host."""
    host = {"host_operation_us_least": 6.0, "host_operation_us_most": 7.0, "median_ms": 1.0}
    calm = conditions(table(host, host | {"host_operation_us_most": 7.1}), STUDY)
    assert (calm.attached, calm.unsteady) == ((), False)
    rows = table(host | {"point": "a"}, host | {"host_operation_us_most": 7.3, "point": "b"})
    rows.loc[3, "profiler_stayed"] = True
    found = conditions(rows, STUDY)
    assert not conditions(rows.drop(columns="median_ms"), "memory").unsteady
    assert (found.attached, found.unsteady) == (("b",), True)
    assert found.fastest and found.slowest
    assert (found.fastest.number, found.slowest.number) == (6.0, 7.3)
    unknown = conditions(table({}), STUDY)
    assert (unknown.fastest, unknown.slowest, unknown.unsteady) == (None, None, False)


def test_processes_are_told_where_a_time_is_of_several() -> None:
    templates, chapter = ROOT / "report_templates", section.section(STUDY, "f.svg")
    for counts, said in (((6, 3), "Processes of each time: 3 to 6."), ((1, 1), ""), ((), "")):
        rows = table({}, *({"processes": count} for count in counts))
        text = chapter.texts((rows, pd.DataFrame()), templates).markdown
        assert said in text and ("Processes of each time" in text) == bool(said)


def test_points_of_several_hosts_are_told_by_host() -> None:
    """Each with its own speeds, which those over all hosts mix."""
    speeds = {"host_operation_us_least": 6.0, "host_operation_us_most": 9.0}
    faster = [speeds, speeds | {"host_operation_us_least": 5.0}, {}]
    named = [{"point": name, "host_id": "f4e3"} for name in ("b", "b", "c")]
    rows = table({"point": "a"}, *(one | more for one, more in zip(named, faster, strict=True)))
    assert printed(conditions(rows, STUDY).hosts) == [
        ["f4e3", "b, c", "5.00 to 9.00"],
        ["not recorded", "a", DASH],
    ]
    assert conditions(rows[1:], STUDY).hosts.empty


def test_conditions_are_printed_only_where_they_disturb() -> None:
    templates = ROOT / "report_templates"
    host = {"host_operation_us_least": 6.0, "host_operation_us_most": 9.0, "median_ms": 1.0}
    rows = table(host | {"profiler_stayed": True})
    chapter = section.section(STUDY, "f.svg")
    said = chapter.texts((rows, pd.DataFrame()), templates).markdown
    assert "Eager operation, over all hosts: 6.00 to 9.00 us." in said
    assert "slows launches: p." in said
    calm = chapter.texts((table({}), pd.DataFrame()), templates).markdown
    assert "Eager operation" not in calm and "slows launches" not in calm
