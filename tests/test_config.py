"""Checking config.yaml: defaults are filled in, and invalid input gives one-sentence errors."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.workflow import load
from workflow_src.common.errors import ConfigError
from workflow_src.plan.config import check
from workflow_src.plan.suites import make_plan

ROOT = Path(__file__).parent.parent
CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text())
PLAN = (ROOT / "examples" / "own_model" / "compiled" / "plan.csv").read_bytes()


def changed(**changes: Any) -> dict[str, Any]:
    return copy.deepcopy(CONFIG) | changes


def suite(**axes: Any) -> dict[str, Any]:
    axes = {"sizes": ["tiny"], "contexts": [16]} | axes
    return changed(suite="s", suites={"s": axes})


def of_size(size: dict[str, Any]) -> dict[str, Any]:
    return changed(sizes=CONFIG["sizes"] | {"tiny": size})


ODD = {"d_model": 6, "d_ff": 8, "layers": 1}


def sentence(config: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        check(config)
    return str(caught.value)


def test_the_projects_own_config_is_allowed_and_its_defaults_are_filled_in() -> None:
    config = check(CONFIG)
    assert config["tag"] == "quickstart"
    assert (config["warmup_steps"], config["steps"]) == (5, 10)
    assert config["suites"]["assignment"]["batches"] == [4]
    assert "batches" not in CONFIG["suites"]["assignment"], "the caller's value is unchanged"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (changed(stepz=3), "unknown key: 'stepz' is not one of suite, tag,"),
        (suite(d=8), "suites.s: unknown key: 'd' is not one of sizes, contexts,"),
        (changed() | {5: 3}, "5: 5: Keys should be strings"),
        (changed(suite="asignment"), "suite: 'asignment' is not one of quickstart, assignment,"),
        (changed(steps=-1), "steps: -1: Input should be greater than or equal to 1"),
        (changed(studies="warmup"), "on the command line: --config 'studies=[warmup]'"),
        (
            changed(device="cude"),
            "device: 'cude' is not one of auto, cpu, cuda; did you mean 'cuda'?",
        ),
        (changed(tag="a;rm -rf b"), "tag: 'a;rm -rf b' must be made of letters, digits, dots,"),
        (changed(tag="captures"), "a letter or digit first, and not be captures or compare"),
        (changed(sizes={"<b>": {}}), "sizes.<b>: '<b>' must be made of letters, digits and dots"),
        (changed(capture_fold="("), "capture_fold: '(' is no regular expression: missing ), unter"),
        (suite(contexts=[16, 16]), "suites.s.contexts: [16, 16] must not repeat a value"),
        (suite(precisions=["fp8"]), "suites.s.precisions: 'fp8' is not one of fp32, tf32,"),
        (changed(sizes={"a": {"d_model": 8}}), "sizes.a.d_ff: this key is missing"),
        (changed(sizes={"a": {"dmodel": 8}}), "sizes.a: unknown key: 'dmodel' is not"),
        (of_size(ODD | {"heads": 5}), "must divide d_model"),
        (changed(energy_seconds=0.5), "energy_seconds: 0.5 must be 0 or from 3"),
        (
            changed(levers_cases=["medium"]),
            "levers_cases: 'medium' must be made of a size, a context and fp32 or bf16",
        ),
        (changed(levers_cases=["huge-ctx64-fp32"]), "size of 'huge-ctx64-fp32': 'huge' is not one"),
    ],
)
def test_bad_input_gets_one_sentence_with_key_value_and_what_is_allowed(
    config: dict[str, Any], said: str
) -> None:
    found = sentence(config)
    assert said in found
    assert "\n" not in found


@pytest.mark.parametrize("text", ["", "a: [", "- a\n- b\n", "\x00", "3", "\xff", "a: 2026-99-99"])
def test_a_file_that_is_not_a_mapping_is_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(ConfigError, match=r"/config\.yaml: "):
        load(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\xff\x00", "device: ''"),
        (PLAN.replace(b",cuda,", b",gpu,"), "device: 'gpu'"),
        (PLAN[: PLAN.index(b",cuda,")] + b"\n", "device: ''"),
    ],
)
def test_an_earlier_plan_that_is_none_is_refused_in_one_sentence(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    path = tmp_path / "quickstart" / "plan.csv"
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        make_plan(CONFIG | {"device": "auto"}, tmp_path)
    said = str(caught.value)
    assert reason in said and "\n" not in said
    advice = f"delete it and run the same command again with -R {path}"
    assert said.startswith(f"{path} is not a plan (") and said.endswith(advice)


def test_numbers_inside_a_mapping_of_the_command_line_are_understood() -> None:
    """Snakemake hands them on as text."""
    size = {"d_model": "64", "d_ff": "64", "layers": "1", "heads": "2"}
    assert check(of_size(size))["sizes"]["tiny"]["d_ff"] == 64
    huge = size | {"d_model": 10**29}
    said = sentence(of_size(huge))
    assert said.startswith("sizes.tiny.d_model: 1") and said.endswith("equal to 1048576")


def test_a_key_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text((ROOT / "config.yaml").read_text() + "steps: 3\nsteps: 4\n")
    with pytest.raises(ConfigError, match="the key 'steps' is there twice"):
        load(path)
