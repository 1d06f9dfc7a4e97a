"""The report of captures: a verdict each, and tables that say what the CSVs say."""

import json
import os
import random
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from tests.answers.test_any_subset import check
from tests.captures.building import Export, event, tables_in, trace_file
from tests.captures.test_joined import rank_file
from tests.diagnosis.programs import training_loop
from tests.test_nsys import requires_nsys
from tests.workflow import ROOT, SUITE, Project, make_project
from workflow_src.capture_report import report
from workflow_src.capture_report.capture import Capture, in_steps
from workflow_src.capture_report.chapter import SHOWN, facts, shortened
from workflow_src.capture_report.summary import summary
from workflow_src.cli import read_capture
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.capture_names import name_of, names_of
from workflow_src.common.errors import ConfigError
from workflow_src.dag.captures import captures_of
from workflow_src.measure import capture as nsys
from workflow_src.paper.form import Form
from workflow_src.paper.number import Number
from workflow_src.paper.run import Run
from workflow_src.paper.written import Facts, render
from workflow_src.placing.paths import MANY

DATA = ROOT / "tests" / "data" / "captures"
TEMPLATES = ROOT / "report_templates"


def written(folder: Path, capture: Path, step: str = "") -> Path:
    folder = folder / capture.name.partition(".")[0]
    for name, table in tables_in(capture, step=step, diagnosed=True).items():
        write_csv(folder / f"{name}.csv", table)
    return folder


def read(folder: Path) -> Facts:
    return facts(Capture(Run.of_capture(folder), folder.name))


def found(tmp_path: Path, capture: Path, step: str = "") -> Facts:
    """What is said of a capture, by way of its CSVs."""
    return read(written(tmp_path, capture, step))


def printed(of: Facts) -> dict[str, str]:
    return render(TEMPLATES, ["capture.j2"], shortened(of), Form(False))


def sentences(of: Facts) -> list[str]:
    """What is said first, without tables, what to change and how long steps take."""
    texts = printed(of)
    parts = [texts["headline"], *texts["section"].split("\n\n")]
    others = ("|", "1", "What to change, ", "*As recorded*, a step ")
    return [part for part in parts if part and not part.startswith(others) and part[-1] != ":"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:

    @cache
    def folder(name: str, step: str) -> Path:
        return written(tmp_path_factory.mktemp("recorded"), DATA / name, step)

    return folder


GPT2, DDP, VIT = "gpt2_modules.sqlite.gz", "ddp.sqlite.gz", "vit.sqlite.gz"
ASYNCIO = "../strangers/asyncio.json"
DOUBTS = "means of few steps (3)"


@pytest.mark.parametrize(
    ("capture", "step", "verdict", "said"),
    [
        (
            GPT2, "", "finding",
            [
                "idle 25 of 44 ms a step (58 %), as launching takes longer than the work: 1,160 "
                "launches a step, each 16 µs of the device, and 37 µs of the host to the next. ",
                "elementwise kernels one after another", DOUBTS,
            ],
        ),
        (
            DDP, "", "finding",
            [
                "In process 3998 the host sets the pace", "",
                "in 12 of 19 ms a step that the device works, process 3997 waits for others",
            ],
        ),
        (DDP, "train", "not named", ["name train,"]),
        (ASYNCIO, "", "no steps", ["repeats 2 times"]),
        (VIT, "", "no ranges", ["by which work and kernels its 25.0 ms of device time pass"]),
        ("profiler_step_cpu.json.gz", "", "on a CPU", ["all but 45 % of a step"]),
    ],
)  # fmt: skip
def test_a_recorded_capture_says_what_is_wrong_or_why_it_cannot(
    recorded: Callable[[str, str], Path], capture: str, step: str, verdict: str, said: list[str]
) -> None:
    of = read(recorded(capture, step))
    assert of["verdict"] == verdict
    for sentence, words in zip(sentences(of), said, strict=True):
        assert words in sentence
    listed = of["candidates"]
    assert all(listed["instances"] > 1) and (len(listed) or verdict != "no steps")
    for name in ("step_work", "step_calls"):
        shares = [cell.value for cell in of[name]["share"]]
        assert sum(shares) == pytest.approx(len(of["diagnoses"])) and len(shares) % 5 == 0


def loop(folder: Path, sleeps_us: int, name: str = "step") -> Path:
    """Steps of 920 us and a sleep: nine kernels of 100 us, launched at once, and a wait for them.

    The host sleeps before it launches.
    """
    folder.mkdir()
    export, us = Export(folder), 1000
    length = (920 + sleeps_us) * us
    for n in range(4):
        export.range(name, n * length, (n + 1) * length)
        first = n * length + (sleeps_us + 5) * us
        for place in range(9):
            at = first + (5 + 100 * place) * us
            export.work(first + 2 * us * place, 100 * us, start=at)
        export.wait(first + 50 * us, first + 908 * us)
    return export.write()


def test_what_is_wrong_is_said_first_with_the_step_without_it(tmp_path: Path) -> None:
    """Without the wait, the host sleeps while the device works: 0.9 ms of kernels are left."""
    of = found(tmp_path, loop(tmp_path / "slow", sleeps_us=580))
    pace, finding, _ = sentences(of)
    assert of["pace"]["verdict"] == "wait" and "0.60 ms once a step, comes after" in pace
    assert finding.startswith(
        "The host waits for the device once a step in `step`, 0.86 ms in all, and fetches "
        "nothing; fixing it saves about 0.60 of a step's 1.5 ms. Leave out"
    )
    card = of["ranked"].iloc[0]
    assert float(card["saves_ms"]) == pytest.approx(0.6, abs=0.001)
    assert "".join(map(str, card["seen"])) == "1 × a step, 4 of 4 steps, 0.86 ms of the host"
    idle = of["idle_causes"].iloc[0]
    assert idle["before"] == "the host waited in this call"
    assert (float(idle["times"]), float(idle["idle_ms"])) == pytest.approx((1, 0.6))


def test_the_pace_is_said_where_nothing_was_found_beside_a_device_that_idles(
    tmp_path: Path,
) -> None:
    """27 launches a step, 60 us apart, of kernels of 35 us, which aren't short."""
    of = found(tmp_path, training_loop(tmp_path, takes=35).write())
    said, doubts = sentences(of)
    assert of["pace"]["verdict"] == "between launches" and "py-spy record" in doubts
    (launches,), others = of["ranked"].to_dict("records"), of["unfound"].to_dict("records")
    assert float(launches["saves_ms"]) == pytest.approx(27 * 0.024, abs=0.02)
    seen = "27 a step, each 60 µs of the host and 35 of the device"
    assert "".join(map(str, launches["seen"])) == seen
    assert [(each["what"], each["path"]) for each in others] == [
        ("elementwise", "step/backward"), ("gemm", "step/backward"),
    ]  # fmt: skip
    assert said.startswith("The host sets the pace: the device is idle 0.68 of 1.6 ms a step (42 %")
    assert "between launches in step/backward, 16 times a step" in said
    idle = tables_in(tmp_path / "c.sqlite", diagnosed=True)["idle_causes"]["idle_ms"].sum()
    assert float(of["diagnoses"]["device_idle_ms"].iloc[0]) == pytest.approx(idle)


def test_what_a_finding_has_is_not_large_without_one(
    recorded: Callable[[str, str], Path],
) -> None:
    """All of the step is products in float32, of which that is told."""
    of = read(recorded("../strangers/compare_before.json.gz", ""))
    assert of["ranked"]["name"].tolist() == ["Products in float32"] and of["unfound"].empty


@pytest.mark.parametrize("name", ["step", "Warm-up step"])
def test_of_a_step_not_understood_the_tolerance_and_facts_are_told_and_no_replayed_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("workflow_src.diagnosis.replay.REPLAYED_WITHIN", -1.0)
    of = found(tmp_path, loop(tmp_path / "slow", sleeps_us=580, name=name))
    pace, second, doubts = sentences(of)
    assert pace.startswith("As recorded: the device is idle 0.60 of 1.5 ms")
    assert of["verdict"] == "not understood" and second.startswith("Savings aren't told: replayed")
    assert ("named as a warm-up" in doubts) == (name != "step")
    assert of["ranked"]["saves_ms"].isna().all()
    assert of["ranked"]["name"].iloc[0] == "The host waits for the device"
    assert "saves" not in printed(of)["section"].partition("1. ")[2]


def test_what_occurs_less_than_once_a_step_is_in_some_of_them() -> None:
    said = {3.0: "3", 0.75: "in 3 of 4 steps", 1.25: "1.25", 0.0: "0"}
    for times, text in said.items():
        assert Form(False).cell(in_steps(Number(times, ""))) == text


def test_markdown_has_the_paths_of_most_time_alone() -> None:
    paths = pd.DataFrame({"busy_ms": [*range(SHOWN + 2)]})
    assert shortened({"paths": paths})["paths"].index[[0, -1]].tolist() == [2, SHOWN + 1]


def test_savings_are_of_the_plain_step_where_its_time_is_given(tmp_path: Path) -> None:
    """Unless it is longer than recorded ones."""
    slow, usual = loop(tmp_path / "slow", sleeps_us=2580), training_loop(tmp_path, 200).write()
    for path, step_ms, plain, doubt in (
        (slow, "1.3", True, "plain 1.3 ms"),
        (slow, "0.1", False, "not all could be"),
        (usual, "6.0", False, "6.00 ms by --step-ms, but recorded ones take 5.43 ms"),
    ):
        given = ["--capture", str(path), "--step-ms", step_ms, "--output", str(tmp_path / "t")]
        read_capture.main(given)
        of = read(tmp_path / "t")
        last = sentences(of)[-1]
        assert of["plain"] == plain
        assert doubt in last if doubt else "How sure" not in last


def test_a_trace_cut_off_of_operators_alone_isnt_taken_for_a_cpus(tmp_path: Path) -> None:
    events = [event("user_annotation", "step", 0, 9), event("cpu_op", "aten::mm", 1, 5)]
    path = trace_file(tmp_path, json.dumps(events)[:-1] + ', {"ph": "X", "cat": "ker')
    of = found(tmp_path, path)
    assert of["verdict"] == "no work" and "ends in the middle" in sentences(of)[1]


def test_the_report_has_each_capture_and_no_empty_table(
    tmp_path: Path, recorded: Callable[[str, str], Path]
) -> None:
    folders = [str(recorded(name, "")) for name in (GPT2, "graph.sqlite.gz", VIT)]
    texts = tmp_path / "report.md", tmp_path / "report.html"
    given = ["--tables", *folders, "--templates", str(TEMPLATES)]
    report.main([*given, "--markdown", str(texts[0]), "--html", str(texts[1])])
    text = texts[0].read_text()
    check(text)
    assert text.count("\n## ") == len(folders)
    assert "--cuda-graph-trace=node" in text, "what the capture lost is told"
    page = texts[1].read_text()
    assert "<title>What is wrong with a step, and where device time goes</title>" in page
    assert page.count('<table class="tree">') == 3, "a tree of ranges each"
    assert '<tr data-level="2"><td>transformer<td>' in page
    assert "step.svg" not in text + page, "none was drawn"
    first = text.partition("\n## ")[0]
    assert all(f"| {name} " in first for name in ("gpt2_modules", "graph", "vit")), "the overview"


def test_one_that_cannot_be_read_has_a_sentence_and_the_others_their_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.sqlite").write_text("hello")
    (tmp_path / "none.nsys-rep").write_text("hello")
    monkeypatch.setenv("PATH", "")
    good = Export(tmp_path)
    good.work(0)
    good.write()
    for file in ("bad.sqlite", "none.nsys-rep", "c.sqlite"):
        name = file.partition(".")[0]
        files = ["--capture", f"{tmp_path}/{file}", "--output", f"{tmp_path}/{name}"]
        read_capture.main([*files, "--note-problem"])
    texts = ["--markdown", f"{tmp_path}/report.md", "--html", f"{tmp_path}/report.html"]
    common = ["--templates", str(TEMPLATES), *texts, "--tables"]
    report.main([*common, f"{tmp_path}/c", f"{tmp_path}/none", f"{tmp_path}/bad"])
    parts = (tmp_path / "report.md").read_text().split("\n## ")[1:]
    assert [part.partition("\n")[0] for part in parts] == ["none", "bad", "c"]
    assert "could not be read: " in parts[1] and "neither an export of nsys" in parts[1]
    assert "none.nsys-rep: nsys is not on the PATH; use the nsys that made it" in parts[0]
    with pytest.raises(SystemExit, match=r"neither an export(.|\n)*not on the PATH"):
        report.main([*common, f"{tmp_path}/bad", f"{tmp_path}/none"])


@pytest.mark.parametrize("seed", range(4))
def test_whatever_tables_and_rows_are_missing_there_is_a_section(
    tmp_path: Path, recorded: Callable[[str, str], Path], seed: int
) -> None:
    chance = random.Random(seed)
    for path in recorded((GPT2, DDP)[seed % 2], "").glob("*.csv"):
        head, *rows = path.read_text().splitlines(keepends=True)
        part = chance.choice((0, 0.5, 1, 1))
        if chance.random() < 0.8:
            kept = [row for row in rows if chance.random() < part]
            (tmp_path / path.name).write_text("".join([head, *kept]))
    of = read(tmp_path)
    assert sentences(of) and render(TEMPLATES, ["capture.j2"], of, Form(True))["headline"]
    assert json.dumps(summary(Capture(Run.of_capture(tmp_path), "c"), TEMPLATES), allow_nan=False)


def test_files_have_names_and_bad_ones_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.sqlite.gz", "b.json", "c d.nsys-rep", "a.pt.trace.json.gz"):
        (tmp_path / name).touch()
    (tmp_path / "theirs").mkdir()
    assert "theirs" not in captures_of(["*"], {}).files
    assert name_of("c d.nsys-rep") == "c-d" and name_of("run.pt.trace.json.gz") == "run"
    files = captures_of([f"{tmp_path}/[bc]*"], {}).files
    assert list(files) == ["b", "c-d"]
    options = captures_of([], {"capture_domains": ["a b", "c"]}).options
    assert options == "--fold= --step= '--domains=a b,c'"
    for name in ("odd\udcff.json", "o{d}.json"):
        (tmp_path / name).touch()
    for patterns, sentence in (
        (["od*.json"], r"captures: odd\\udcff.json: a name with .* or that isn't UTF-8; rename it"),
        (["o{*.json"], r"captures: o\{d\}.json: a name with \{, \}, < or >"),
        (["theirs/"], r"isn't a file, .* none; of a folder, give the files: FOLDER/\*"),
        (["b.json", "./b.json"], "captures: b.json and ./b.json have one name, b.json,"),
        (["x/" * 3000], "isn't a file, and as a pattern fits none"),
    ):
        with pytest.raises(ConfigError, match=sentence):
            captures_of(patterns, {})


def test_no_command_takes_a_name_for_an_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("-o.json", "--p.nsys-rep"):
        (tmp_path / name).touch()
    captures = captures_of(["*"], {})
    trace, report = SimpleNamespace(capture="o"), SimpleNamespace(capture="p")
    assert captures.arguments(trace) == ["./-o.json"] and captures.inputs(trace) == ["-o.json"]
    assert captures.arguments(report) == ["./--p.nsys-rep"]


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (("graph.json.gz", "graph.sqlite.gz", "b.json"), ("graph.json", "graph.sqlite", "b")),
        (("r1/trace.sqlite.gz", "r2/trace.sqlite.gz"), ("r1-trace", "r2-trace")),
        (("r1/x/t.json", "r2/x/t.json", "t.json"), ("r1-x-t", "r2-x-t", "t")),
        (("r/a.json", "r/a.sqlite", "s/a.json"), ("r-a.json", "r-a.sqlite", "s-a")),
        (("a.json", "a.json.gz"), ("a.json", "a.json.gz")),
    ],
)
def test_files_of_one_name_get_longer_ones(files: tuple[str, ...], names: tuple[str, ...]) -> None:
    assert names_of(files) == dict(zip(files, names, strict=True))


@pytest.mark.nsys
@requires_nsys
def test_a_report_of_nsys_is_exported_once_and_left_as_it_is(tmp_path: Path) -> None:
    recorded, database = tmp_path / "c.nsys-rep", tmp_path / "c" / "export.sqlite"
    nsys.profile(recorded, ["true"], "cpu")
    before = recorded.read_bytes()
    given = ["--capture", str(recorded), "--output", str(tmp_path / "c")]
    made = []
    for _ in range(2):
        with pytest.raises(SystemExit, match="holds neither a range nor any work"):
            read_capture.main(given)
        made.append(database.stat().st_ino)
    assert made[0] == made[1] and recorded.read_bytes() == before
    os.utime(recorded)
    with pytest.raises(SystemExit, match="holds neither a range nor any work"):
        read_capture.main(given)
    assert database.stat().st_ino != made[0], "another report of that name"


def with_layers(folder: Path) -> Path:
    """Three steps of 1 ms, each with more layers than are shown one by one."""
    export, us = Export(folder, "layers.sqlite"), 1000
    for begin in range(0, 3000 * us, 1000 * us):
        export.range("step", begin, begin + 1000 * us)
        for number in range(MANY + 1):
            at = begin + 30 * us * number
            export.range(f"layer_{number}", at, at + 30 * us)
            export.work(at + us, 20 * us)
    return export.write()


@pytest.mark.workflow
def test_captures_are_reported_in_place_of_a_suite_and_back(tmp_path: Path) -> None:
    project: Project = make_project(tmp_path)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "layers.sqlite").symlink_to(with_layers(tmp_path))
    for rank in (0, 1):
        rank_file(theirs, rank)
    (theirs / "bad.sqlite").write_text("hello")
    os.mkfifo(tmp_path / "pipe.json")
    bad = {
        "bad": "neither an export of nsys nor a trace of torch.profiler",
        "pipe": "it is no file, as a pipe isn't",
    }
    words = ("report.md", "--config", f"captures=[{theirs}/*, pipe.json]")
    said = project.run(*words)
    text = (project.folder / "report.md").read_text()
    for name, why in bad.items():
        assert f"\nCapture {name} could not be read: " in said
        assert why in text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    assert said.count("\nCapture ") == len(bad)
    again = "; run the same command again with -R results/captures/bad/notes.csv\n"
    assert said.count(again) == 1 and project.stale(*words) == {}
    mended = Export(tmp_path)
    mended.work(0)
    shutil.copy(mended.write(), theirs / "bad.sqlite")
    words = ("report.md", "--config", f"captures=[{theirs}/*]")
    project.run(*words)
    text = (project.folder / "report.md").read_text()
    assert "## bad\n" in text and "## job.rank0-and-1-more\n" in text
    assert "step/layer\\_\\*" in text, "layers are folded"
    assert "](results/captures/layers/step.svg)" in text
    assert ">step: step 1, 1.00 ms in the capture<" in (project.folder / "report.html").read_text()
    assert project.stale(*words) == {}
    compared = "/with/".join(["results/captures/layers"] * 2)
    project.run(f"results/compare/{compared}/compare.md")
    said = (project.folder / "results/compare" / compared / "compare.md").read_text()
    assert "**No difference shows" in said
    assert project.stale("report.md", "--config", *SUITE)["report"] == 1
    only = ("report.md", "--config", f"captures=[{theirs}/layers.sqlite]")
    assert project.stale(*only) == {"captures_report": 1}
