"""Check a model of one's own in seconds: one step of each phase, of each case of its axes.

It takes no lock and keeps nothing; what a run would refuse, it refuses with the same sentence.
"""

import shlex
import sys

from workflow_src.cli.of_snakemake import configured, setting
from workflow_src.common.arguments import Parser
from workflow_src.common.case import PHASES, AnyCase
from workflow_src.common.errors import StageError, one_sentence
from workflow_src.measure.benchmark import measure_phase
from workflow_src.measure.machine import use_threads
from workflow_src.measure.processes import ended_without_threads
from workflow_src.measure.rows import Row
from workflow_src.measure.workload import Workload, run_phases
from workflow_src.plan.suites import make_plan

NOWHERE = {"tag": "check-model"}
"""A tag without results, so that those of other models don't matter."""


def check(case: AnyCase) -> dict[str, Row]:
    """The row of each phase of a case; prints a line for each. Raises StageError for what the
    function makes wrong, and for a loss that isn't finite."""

    untrained: list[str] = []

    def step(workload: Workload, phase: str) -> Row:
        # With ranges of modules around both steps, as a capture has them.
        with workload.observed():
            row = measure_phase(workload, phase, warmup_steps=1, steps=1)
        untrained[:] = doubts(workload) if phase != PHASES[0] else []
        return row

    rows = dict(run_phases(case, step))
    told = next((row for row in reversed([*rows.values()]) if "parameters" in row), {})
    if told.get("finite") is False:
        raise StageError(f"{case.brought_code}: the loss of {case.case} isn't finite")
    sizes = [f"{told[n]:,} {n}" for n in ("parameters", "tokens", "samples") if n in told]
    print(f"{case.case}: {', '.join(sizes)}", *untrained, sep="\n", flush=True)
    return rows


def doubts(workload: Workload) -> list[str]:
    """A line for each reason why a step doesn't train some of the model's parameters."""
    named = [(name, each) for name, each in workload.model.named_parameters() if each.requires_grad]
    groups = workload.optimizer.param_groups
    held = {id(parameter) for group in groups for parameter in group["params"]}
    found = {
        "get no gradient": [name for name, each in named if each.grad is None],
        "aren't the optimizer's": [name for name, each in named if id(each) not in held],
    }
    return [
        f"  {len(names)} of {len(named)} parameters {why}, such as {names[0]}"
        for why, names in found.items()
        if names
    ]


@one_sentence()
def main() -> None:
    """Run each case of a brought model once; exit with status 1 if a phase didn't run."""
    parser = Parser(description=__doc__)
    parser.add_argument(
        "--config", nargs="+", type=setting, required=True, help="workload=FILE ..."
    )
    given = parser.parse_args().config
    plan = make_plan(configured(given) | NOWHERE)
    if not plan.settings["workload"]:
        parser.error("argument --config: names no workload, as in workload=my_model.py:make")
    use_threads(plan.benchmark_row(plan.case_ids[0]))
    with ended_without_threads("check-model"):
        rows = [row for case in plan.cases for row in check(case).values()]
        ran = sum(row["status"] == "ok" for row in rows)
        cases = f"{len(plan.cases)} case{'s' * (len(plan.cases) != 1)}"
        command = shlex.join(["snakemake", "--cores", "1", "report.md", "--config", *given])
        print(f"{ran} of {len(rows)} phases of {cases} ran on {plan.device}. To measure: {command}")
        if any(row["status"] == "oom" for row in rows):
            sys.exit(1)


if __name__ == "__main__":
    main()
