import re
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from tests.questions import answer_question
from tests.synthetic_tables import Sample, write_tables
from tests.workflow import ROOT
from workflow_src.answers import figures
from workflow_src.answers.evidence import read_table
from workflow_src.answers.questions import FIGURES, QUESTIONS
from workflow_src.common.atomic_write import write_json, write_text
from workflow_src.common.case import CASE_COLUMNS, PHASES
from workflow_src.report import explore, machines, report
from workflow_src.report.machines import values
from workflow_src.report.overview import precision_rows
from workflow_src.report.sources import Source
from workflow_src.report.support import Support
from workflow_src.report.values import Value
from workflow_src.report.warnings import grouped
from workflow_src.studies.study import STUDIES

TEMPLATES = Path(__file__).parent.parent / "report_templates"
OOM = {"train_step": ("oom", "CUDA out of memory")}
SAMPLE = Sample()
SETTINGS = ("suite=small", "memory_limit_gib=32", "studies=[mlp, levers]", "tag=mine")
MEASURING = "--config suite=small memory_limit_gib=32 tag=mine"


class Page(HTMLParser):
    """Tags of a page, and what leads out of it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [v for k, v in attrs if k in ("src", "href", "xlink:href") and v]


def write_report(
    folder: Path, *samples: Sample, sections: tuple[Path, ...] = ()
) -> tuple[str, str]:
    """Write report.md and report.html of `samples`; their texts, the first with the appendix."""
    results = folder / "results"
    tables = write_tables(results / "tables", *samples)
    for question in QUESTIONS:
        answered, text = answer_question(question, tables, TEMPLATES)
        write_json(results / "answers" / f"{question}.json", answered.as_dict())
        answer, appendix = text.split("\n## Tables of")
        write_text(results / "answers" / f"{question}.md", answer)
        write_text(results / "answers" / f"{question}.appendix.md", f"## Tables of{appendix}")
    for name, needed in FIGURES.items():
        frames = {table: read_table(tables, table) for table in needed}
        svg = figures.svg(lambda name=name, frames=frames: figures.DRAW[name](**frames), name)
        write_text(results / "figures" / f"{name}.svg", svg)
    arguments = [f"--{part}={results / part}" for part in ("tables", "answers", "figures")]
    arguments += [f"--templates={TEMPLATES}", f"--markdown={folder / 'report.md'}"]
    arguments += [f"--html={folder / 'report.html'}", "--suite=small", "--tag=mine"]
    arguments += ["--changed-settings", *SETTINGS]
    arguments += [f"--plan={write_plan(results / 'plan.csv')}"]
    arguments += ["--sections", *map(str, sections)] if sections else []
    arguments += [f"--appendix={results / 'appendix.md'}"]
    report.main(arguments)
    whole = (folder / "report.md").read_text() + (results / "appendix.md").read_text()
    return whole, (folder / "report.html").read_text()


@pytest.fixture
def reported(tmp_path):
    return partial(write_report, tmp_path)


def write_plan(path: Path) -> Path:
    """A plan of the samples' cases; the last is captured for fewer steps."""
    plan = read_table(path.parent / "tables", "timings")[list(CASE_COLUMNS)]
    if plan.empty:
        plan = pd.DataFrame([Sample().front])
    plan = plan.drop_duplicates().assign(warmup_steps=5, steps=10, capture_steps=3)
    plan.loc[plan.index[1:], "capture_steps"] = 1
    plan.to_csv(path, index=False)
    return path


def test_the_command_for_other_studies_keeps_the_settings_of_the_run(reported):
    text, _ = reported(SAMPLE)
    every = ", ".join(STUDIES)
    assert f"`snakemake --cores 1 report.md {MEASURING} 'studies=[{every}]'`" in text


def test_the_report_says_what_it_is_of(reported):
    text, _ = reported(SAMPLE, Sample(size="medium"))
    assert "suite `small`, tag `mine`: its results are in `results/mine/`" in text
    assert "5 of warm-up, 10 timed without the profiler, 1 to 3 in the capture." in text


def test_on_a_cpu_the_first_line_says_that_operators_take_the_place_of_kernels(reported):
    text, page = reported(Sample(device="cpu"))
    assert "operators take the place of kernels" in text.splitlines()[0]
    assert "under the torch profiler" in text
    assert "operators take the place of kernels</h1>" in page.replace(")", "")


def test_on_a_busy_cpu_overheads_and_ceilings_name_the_load(reported, tmp_path):
    ceilings = (ROOT / "examples" / "h200" / "tables" / "ceilings.csv").read_text()
    write_text(tmp_path / "results" / "tables" / "ceilings.csv", ceilings)
    busy = {"load_average_before": 9.0, "cpu_cores": 2}
    warned = Sample(device="cpu", environment=busy)
    text, _ = reported(warned, Sample(device="cpu", context=256))
    assert "Overhead: +2.0 % to +5.0 % over 3 phases of the cases." in text
    assert (
        "Not compared: 3 phases of small-ctx128-fp32, where other work kept the machine busy "
        "(load 9.0 on 2 cores)."
    ) in text
    # The report knows the tag and the settings, the answers don't.
    case = "results/mine/{}/small-ctx128-fp32.{}"
    files = f"{case.format('benchmark', 'json')} {case.format('capture', 'kineto.json.gz')}"
    given = "--config suite=small memory_limit_gib=32 'studies=[mlp, levers]' tag=mine"
    assert f"`snakemake --cores 1 report.md -R {files} {given}`" in text
    assert "{tag}" not in text
    busy = "Other work kept the machine busy while cases were measured (load 9.0 on 2 cores)."
    assert f"- {busy} Where it did so while these were, they are too low" in text
    calm, _ = reported(Sample(device="cpu"), Sample(device="cpu", context=256))
    assert "Overhead: +2.0 % to +5.0 % over 6 phases of all cases." in calm
    assert "Not compared" not in calm and busy not in calm


def test_on_a_gpu_it_does_not(reported):
    text, _ = reported(SAMPLE)
    assert "operator" not in text
    assert (
        "1 case of 1 decoder-only Transformer on Some GPU, profiled with nsys (torch 2.13.0, "
        "profiler 2025.1, Python 3.12.1): " in text
    )


def test_all_five_answers_and_the_figures_are_there(reported):
    text, page = reported(SAMPLE)
    for question in QUESTIONS:
        assert f"### ({question}) " in text
    for name in FIGURES:
        assert f"](results/figures/{name}.svg)" in text
    charts = page.count('<svg class="zoom"')
    assert charts == len(PHASES)
    assert Page(page).tags.count("figure") == len(FIGURES) + 1
    assert Page(page).tags.count("svg") == len(FIGURES) + 1 + charts
    assert "img" not in Page(page).tags


def test_the_page_is_self_contained(reported):
    _, page = reported(SAMPLE)
    assert all(link.startswith("#") for link in Page(page).links)
    assert "@import" not in page
    assert page.count("<script") == 1
    assert "default-src 'none'" in page


def test_the_evidence_names_the_tables_of_the_run_and_cases_beyond_its_plan(tmp_path):
    names = ("c", "f")
    before = {name: explore.read_by(QUESTIONS[name], tmp_path) for name in names}
    assert before == {name: list(QUESTIONS[name].tables) for name in names}
    (tmp_path / "studies").mkdir()
    for table in ("operators", "ceilings", "studies/levers"):
        (tmp_path / f"{table}.csv").touch()
    assert explore.read_by(QUESTIONS["c"], tmp_path)[-2:] == ["operators", "ceilings"]
    assert explore.read_by(QUESTIONS["f"], tmp_path)[-1] == "studies/levers"
    value = Value("summary.levers[0].plain_ms", 4.0, "elsewhere")
    source = Source("number-f-1", "4.0", "f", value, Support(), 1)
    run = explore.Run(tmp_path, "mine", "", {}, [])
    page = explore.parts([source], run, TEMPLATES)[explore.NUMBERS]
    assert "<td>elsewhere</td>" in page and "(1 other value fits too)" in page
    assert "<code>studies/levers.csv</code></td>" in page


def test_the_page_says_how_a_timeline_is_made_though_it_shows_none(reported):
    _, page = reported(SAMPLE)
    assert "Shown here: small-ctx128-fp32. No timeline is among them." in page
    assert "snakemake --cores 1 results/mine/timelines/{case}.svg" in page
    assert "A timeline shows the step of each phase" not in page


def test_the_published_page_is_small_enough_to_be_mailed():
    assert (ROOT / "examples" / "h200" / "report.html").stat().st_size < 5e6


def test_fewer_than_100_lines_of_script_are_our_own():
    lines = (TEMPLATES / "report.js").read_text().splitlines()
    assert len(lines) < 100 and max(map(len, lines)) <= 130


def test_profiled_times_stand_beside_unprofiled_ones(reported):
    text, _ = reported(SAMPLE)
    row = next(line for line in text.splitlines() if "| training step" in line and "51.0" in line)
    cells = [cell.strip() for cell in row.split("|")]
    assert cells[4] == "50.0"
    assert cells[8:13] == ["51.0", "+2.0 %", "40.0 %", "39.2 %", "yes"]
    assert "Overhead: +2.0 % to +5.0 % over 3 phases" in text


def test_oom_is_shown_with_its_reason(reported):
    text, _ = reported(Sample(status=OOM))
    assert re.search(r"\| small .*\| ok .*\| ok .*\| OOM .*\| CUDA out of memory", text)


def test_conservation_in_whole_nanoseconds(reported):
    text, _ = reported(Sample(outside_ns=200_000))
    sum_of = "100,000,000 ns attributed + 200,000 ns outside all ranges = 100,200,000 ns"
    assert sum_of in text
    assert "0.200 % lies outside" in text
    assert "outside_copy" in text
    assert "answers resting on them are partial: small-ctx128-fp32" in text
    assert "counts the same kernel time in all of 1" in text


def test_a_sum_that_does_not_come_out_is_said(reported, tmp_path):
    reported(SAMPLE)
    path = tmp_path / "results" / "tables" / "captures.csv"
    captures = pd.read_csv(path)
    captures["total_ns"] += 1
    captures["stats_total_ns"] += 1
    captures.to_csv(path, index=False)
    parts = ("tables", "answers", "figures")
    folders = {part: tmp_path / "results" / part for part in parts}
    plan = tmp_path / "results" / "plan.csv"
    sources = report.Sources(**folders, templates=TEMPLATES, plan=plan)
    text = report.make_report(sources, tmp_path, "small", "mine").text
    assert "is NOT 100,000,001 ns" in text
    assert "counts a different kernel time in: small-ctx128-fp32" in text


def test_the_precision_that_ran_is_shown_where_it_is_another(reported):
    text, _ = reported(Sample(precision_ran="tf32"), Sample(size="medium"))
    assert "in 1 they contradict it" in text
    assert re.search(r"\| small .*\| fp32 .*\| tf32 100.0 %", text)


@pytest.mark.parametrize(("ran", "matches"), [("fp32", True), ("tf32", False), ("", None)])
def test_whether_the_precision_that_ran_is_the_one_asked_for(ran, matches):
    sample = Sample(precision_ran=ran)
    (row,) = precision_rows([sample.front], pd.DataFrame(sample.kernel_rows()))
    assert row["matches"] is matches
    assert row["shares"] == {ran: 1.0}


def test_names_that_tell_no_precision_are_no_evidence(reported):
    text, _ = reported(Sample(precision_ran=""))
    assert "Names of kernels don't tell the precision that ran." in text
    on_cpu, _ = reported(Sample(device="cpu", precision_ran=""))
    assert "precision that ran" not in on_cpu and "Which precision ran" not in on_cpu


def test_warnings_and_mixed_machines_are_named(reported):
    hot = Sample(size="medium", environment={"warning": "throttled (power cap)", "gpu": "Other"})
    text, _ = reported(SAMPLE, hot)
    assert "**Warning:** throttled (power cap) (in medium-ctx128-fp32)" in text
    assert "cases that differ in gpu stand side by side" in text


CHANGED = "the host's speed changed (a launch took {} us before, {} us after)"


def test_warnings_of_one_kind_are_one_line_with_the_worst_case():
    given = [
        ("a", CHANGED.format("4.00", "5.00") + "; busy (load 9.0 on 8 cores)"),
        ("b", CHANGED.format("8.00", "4.00")),
        ("c", "busy (load 8.0 on 2 cores)"),
        ("d", "device shared with 1 other process"),
        ("e", "throttled (power cap)"),
        ("f", "throttled (power cap)"),
    ]
    changed, busy, shared, throttled = grouped(given)
    assert changed["text"].startswith(
        "the host's speed changed during 2 cases, most in b "
        "(a launch took 8.00 us before, 4.00 us after): times that depend on the host"
    )
    (changed, *_) = grouped(given, " (of 3 in which it was measured)")
    assert "during 2 cases (of 3 in which it was measured), most in b" in changed["text"]
    assert "busy while 2 cases were measured, most in c (load 8.0 on 2 cores)" in busy["text"]
    assert shared == {"text": "device shared with 1 other process", "cases": ["d"], "told": False}
    assert throttled == {"text": "throttled (power cap)", "cases": ["e", "f"], "told": False}


def test_the_appendix_keeps_each_case_s_own_warning(reported):
    first, second = CHANGED.format("4.00", "5.00"), CHANGED.format("4.00", "8.00")
    speeds = {"host_launch_us_before": "4.0", "host_launch_us_after": "8.0"}
    warned = [
        Sample(environment={"warning": first} | speeds),
        Sample(size="medium", environment={"warning": second} | speeds),
    ]
    text, _ = reported(*warned)
    opening, appendix = text.split("# Appendix")
    assert opening.count("**Warning:**") == 1
    assert "most in medium-ctx128-fp32 (a launch took 4.00 us before, 8.00 us after)" in opening
    assert "lists these cases, each with its own figures" in opening
    assert first in appendix and second in appendix


def test_names_of_machines_stay_at_home(reported):
    for made in reported(SAMPLE):
        assert "secret" not in made


def test_contents_lead_to_every_section(reported):
    whole, page = reported(SAMPLE)
    text = whole[: whole.index("\n# Appendix")]
    contents = text[: text.index("\n## ")]
    links = re.findall(r"^ *- \[(.+)\]\(#(.+)\)$", contents, flags=re.MULTILINE)
    assert [title for title, _ in links] == re.findall(r"^##+ (.+)$", text, flags=re.MULTILINE)
    assert all(f'id="{name}"' in page for _, name in links)
    assert links[0] == ("In one minute", "in-one-minute")


def test_every_short_answer_ends_with_its_sentence(reported):
    text, _ = reported(SAMPLE)
    answers = re.findall(r"^- \*\*\([a-f]\)\*\* (.+)$", text, flags=re.MULTILINE)
    published = (ROOT / "examples" / "h200" / "report.md").read_text()
    answers += re.findall(r"^- \*\*\([a-f]\)\*\* (.+)$", published, flags=re.MULTILINE)
    assert len(answers) == 2 * 6 and all(answer.endswith(".") for answer in answers)


def test_an_answer_is_repeated_in_two_sentences_at_most():
    answer = "## (x) What?\n\nOne takes 1 ms.\nTwo takes\t2 ms.\nThree takes 3 ms.\n\n- a list\n"
    assert report.short_answer(answer) == "One takes 1 ms. Two takes 2 ms."
    partial = "## (x) What?\n\n**Partial**: a case is missing.\n\nOne takes 1 ms.\n"
    assert report.short_answer(partial) == "Partial: One takes 1 ms."
    assert report.short_answer("## (x) What?\n") == ""


def test_studies_that_did_not_run_are_named_with_what_turns_them_on(reported, tmp_path):
    text, _ = reported(SAMPLE)
    assert "None was chosen; warmup, precision," in text
    section = tmp_path / "warmup.md"
    section.write_text("### Warm-up\n")
    section.with_suffix(".appendix.md").write_text("## Tables of the study of warm-up\n")
    text, _ = reported(SAMPLE, sections=(section,))
    assert "Of the studies precision, attention," in text
    assert "'studies=[warmup, precision, attention, fusion" in text, "those chosen are kept"


STUDY = (
    "point,precision,n,median_ms,tflops\nsizes,fp32,512,2.5,53.5479\nfine,bf16,512,1.25,777.592\n"
)
BEST = {"precision": "bf16", "tflops": 777.592, "of_datasheet": 0.786}


def with_study(folder: Path, numbers: bool = True) -> tuple[Path, ...]:
    """The section of a study in `folder`, its table, and its numbers as JSON where asked for."""
    section = folder / "results/sections/matmul.md"
    write_text(section, "### Products\n\nBest is 778 TFLOP/s in bf16, 78.6 % of the datasheet's.\n")
    write_text(section.with_suffix(".appendix.md"), "## Tables of the study of products\n")
    write_text(folder / "results/tables/studies/matmul.csv", STUDY)
    if numbers:
        write_json(section.with_suffix(".json"), {"summary": {"best": BEST}})
    return (section,)


def test_a_studys_numbers_lead_to_the_rows_of_its_table_its_point_and_the_command(
    reported, tmp_path
):
    text, page = reported(SAMPLE, sections=with_study(tmp_path))
    assert "Best is 778 TFLOP/s in bf16" in text
    cell, computed = re.findall(r'<tr id="number-matmul-\d+".*?</tr>', page, re.DOTALL)
    rows = "<code>results/mine/tables/studies/matmul.csv</code> row 3"
    assert f'<td class="text">{rows}' in cell and f"computed from {rows}" in computed
    assert "777.592 TFLOP/s" in cell and "0.786<" in computed
    for row in (cell, computed):
        assert '<a href="#point-matmul-fine">fine</a>' in row
        assert f'<a href="#{row[8:23]}">' in page
    point = page.partition('<tr id="point-matmul-fine"')[2].partition("</tr>")[0]
    made = "results/mine/studies/matmul/fine.json"
    assert f"<code>snakemake --cores 1 {made} {MEASURING}</code>" in point
    assert '<tr id="point-matmul"' in page


def test_an_older_study_without_its_numbers_has_no_links(reported, tmp_path):
    _, page = reported(SAMPLE, sections=with_study(tmp_path, numbers=False))
    assert "Best is 778 TFLOP/s in bf16" in page
    assert "number-matmul" not in page


def test_the_reports_own_numbers_are_linked_and_those_of_answers_to_their_answers(reported):
    _, page = reported(SAMPLE)
    trusted = page.partition('id="can-these-numbers-be-trusted"')[2].partition("<h2")[0]
    assert "#number-report-" in trusted
    answers = page.partition('id="answers"')[2].partition("<h2")[0]
    assert "#number-a-" in answers and "#number-report-" not in answers


def test_hostile_values_stay_text(reported, tmp_path):
    bad = "<script>alert(1)</script>|`[x](javascript:y)"
    section = tmp_path / "study.md"
    section.write_text("## A study\n\n<script>alert(2)</script>\n")
    section.with_suffix(".appendix.md").write_text("<script>alert(3)</script>\n")
    sample = Sample(size=bad, environment={"warning": bad, "cpu": bad})
    _, page = reported(sample, sections=(section,))
    found = Page(page)
    assert found.tags.count("script") == 1
    assert all(link.startswith("#") for link in found.links)
    assert "&lt;script&gt;alert(1)" in page
    assert "A study</h2>" in page


def test_without_captures_the_report_says_so(reported):
    text, _ = reported(Sample(captured=False))
    assert "there is no capture" in text
    assert "There is no capture to account for." in text
    assert "No matrix multiplication was captured." in text
    assert "No phase was timed both without and with the profiler" in text


def test_nothing_measured_still_gives_a_report(reported):
    text, page = reported()
    assert "0 cases of 1 decoder-only Transformer on an unrecorded device" in text
    assert page.endswith("</html>\n")


def test_a_capture_without_device_activity_is_said_to_hold_none(reported):
    text, _ = reported(Sample(kernels={}))
    assert "The capture holds no device activity: small-ctx128-fp32." in text
    assert "| holds no device activity" in text


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (["a", "a", ""], "a"),
        (["a", "a", "b"], "a (cases: 2), b (cases: 1)"),
        (["40", "62.5"], "40.0 to 62.5"),
        (["", ""], ""),
    ],
)
def test_values_of_an_environment_column(column, text):
    assert values(pd.Series(column, dtype=object)) == text


def test_days_and_kinds_of_hosts_are_told_where_there_are_several():
    one = {"started_at": "2026-11-22T10:00:00+00:00", "cpu_cores": "16"}
    assert machines.occasions(pd.DataFrame([one, one])) == ""
    other = {"started_at": "2026-11-24T10:00:00+00:00", "cpu_cores": "32.0"}
    assert machines.occasions(pd.DataFrame([one, other])) == (
        "on 2 days (2026-11-22 to 2026-11-24), on hosts with 16 or 32 cores"
    )
    assert machines.occasions(pd.DataFrame()) == ""


def test_times_show_the_first_and_the_last():
    column = pd.Series(["2026-02-01", "2026-01-01", "2026-03-01"], name="started_at")
    assert values(column) == "2026-01-01 to 2026-03-01"


def test_what_another_host_would_change_is_counted_by_precision(reported):
    fast = {"forward": 12.5, "forward_backward": 20.5, "train_step": 20.5}
    slow = Sample(size="medium", precision="bf16")
    text, _ = reported(Sample(median_ms=fast), slow)
    assert (
        "in none of 2 forward passes and in 1 of 2 training steps (1 in bf16). "
        "There a faster or slower host changes" in text
    )


def test_on_a_cpu_nothing_is_said_of_another_host(reported):
    text, _ = reported(Sample(device="cpu"))
    assert "another host" not in text
