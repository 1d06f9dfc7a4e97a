"""The opening: its verdicts, its lessons, the table of medians, and how long it is."""

import json
import re

import pytest

from tests.answers.chapters import TEMPLATES, chapter, read_run, sampled
from tests.published import published
from tests.synthetic_tables import FORWARD, TRAIN, Sample
from workflow_src.paper.form import Form
from workflow_src.paper.run import Run
from workflow_src.paper.written import render
from workflow_src.report.lessons import precision
from workflow_src.report.opening import facts

WAITS = {"forward": 30.0, "forward_backward": 60.0, "train_step": 70.0}
WORKS = {"forward": 10.2, "forward_backward": 20.4, "train_step": 20.4}
"""A forward pass has 10 ms of work, a training step 20."""

FASTER = [
    (path, name, family, calls, ns // 4 if family == "gemm" else ns)
    for path, name, family, calls, ns in FORWARD
]
MOST_WORDS = 150


def printed(run: Run) -> tuple[str, dict[str, str]]:
    """The verdict, and the blocks in Markdown."""
    found = facts(run)
    return found["verdict"], render(TEMPLATES, ["report/opening.j2"], found, Form(False))


def bf16(**about: object) -> Sample:
    """Products of a quarter of the time, all else as in fp32: 1.5 of 5.5 ms are products."""
    kernels = {"forward": FASTER, "forward_backward": FASTER, "train_step": TRAIN}
    return Sample(precision="bf16", kernels=kernels, **about)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("samples", "verdict", "said"),
    [
        ([Sample(median_ms=WAITS)], "always", "In every forward pass the GPU waits for Python"),
        ([Sample(median_ms=WORKS)], "never", "works all the time, most of it on matrix products."),
        (
            [Sample(median_ms=WAITS), Sample(context=256, median_ms=WORKS)],
            "short",
            "With short kernels the GPU waits for Python; with long ones it works all the time",
        ),
        (
            [Sample(median_ms=WORKS), Sample(context=256, median_ms=WAITS)],
            "some",
            "In some forward passes the GPU waits for Python; in the others it works all the time",
        ),
        (
            [Sample(median_ms=WORKS), bf16(median_ms=WORKS | {"forward": 5.6})],
            "never",
            "all the time, in fp32 on matrix products, in bf16 on everything else.",
        ),
        (
            [Sample(device="cpu")],
            "cpu",
            "On this CPU, matrix products take most of a forward pass.",
        ),
        ([Sample(captured=False)], "can't tell", "can't be told"),
        ([], "can't tell", "can't be told"),
    ],
)
def test_one_sentence_says_who_sets_the_pace_and_what_takes_the_time(
    tmp_path, samples, verdict, said
):
    found, blocks = printed(sampled(tmp_path, *samples))
    assert found == verdict and said in blocks["headline"]


def test_a_lower_precision_is_told_by_pairs_that_differ_in_it_alone(tmp_path):
    """6 of 10 ms are products, and take a quarter in bf16; nothing else changes."""
    found = precision(sampled(tmp_path, Sample(), bf16(), bf16(context=256)))
    assert (found["high"], found["low"], found["casts"]) == ("fp32", "bf16", True)
    assert (str(found["products"]), str(found["rest"])) == ("4.0 ×", "1.0 ×")
    assert (found["pair"]["label"], str(found["pair"]["plain"])) == ("small at 128", "12.0")
    other = precision(sampled(tmp_path / "other", Sample(), bf16(context=256)))
    assert other["products"] != other["products"]


def test_rows_of_answers_stand_in_the_table_of_medians_and_lead_to_them(tmp_path):
    """Of a chapter that failed, the name of its log stands there."""
    cells = {"fp32": {"text": "12 of 20", "page": '<button class="n">12 of 20</button>'}}
    said = {"name": "a", "opening": [{"label": "(a) agree", "cells": cells}]}
    failed = {"name": "c", "verdict": "failed", "log": "logs/c.log", "opening": []}
    sampled(tmp_path, Sample(), bf16())
    for each in (said, failed):
        (tmp_path / f"{each['name']}.json").write_text(json.dumps(each))
    made = chapter("opening", read_run(tmp_path, tmp_path / "a.json", tmp_path / "c.json"))
    assert "| (a) agree | 12 of 20 |" in made.markdown["section"]
    assert '<a href="#a">(a) agree</a>' in made.html["section"]
    assert '<td class=l><button class="n">12 of 20</button></td>' in made.html["section"]
    assert "see `logs/c.log`" in made.markdown["section"]


PUBLISHED = ["h200", "h100", "own_model/gpt2", "own_model/llama", "own_model/compiled"]


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_first_screen_is_short(name, tmp_path):
    """With an answer to (f) of 25 words, as many as a headline may have."""
    headline = " ".join(["word"] * 25)
    said = {"verdict": "mostly", "headline": headline, "html": {"headline": headline}}
    cells = {"label": "(f)", "cells": {"fp32": {"text": "1", "page": "1"}}}
    (tmp_path / "f.json").write_text(json.dumps(said | {"opening": [cells]}))
    verdict, blocks = printed(read_run(published(name), tmp_path / "f.json"))
    below = f"{blocks['question']} {blocks['headline']} {blocks['section']}".partition("\n|")[0]
    assert verdict != "can't tell"
    assert len([word for word in below.split() if re.search(r"\w", word)]) <= MOST_WORDS
    assert 2 <= below.count("- **") <= 4
    numbers = re.sub(r"\b(fp|bf|tf)\d+", "", blocks["headline"])
    assert len(re.findall(r"\d+", numbers)) <= 1 and "(" not in numbers
