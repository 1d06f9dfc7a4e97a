"""What the Snakefile does first: checks that end with one sentence, and then the DAG."""

import errno
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from workflow_src.common.errors import ConfigError
from workflow_src.dag.dag import Dag, dag_of
from workflow_src.dag.paths import known
from workflow_src.plan.case_ids import unknown_case
from workflow_src.plan.config import usable
from workflow_src.plan.kept import lost
from workflow_src.plan.strict_yaml import read_config
from workflow_src.plan.suites import make_plan
from workflow_src.studies.study import FORMER, STUDIES

MODEL_BYTES = 2**18
"""More than the scheduler's model of some hundred jobs takes."""


def require_place(workflow: Any) -> None:
    """Exit with a sentence unless Snakemake's `workflow` can run where it does.

    It has to be the project's own, in its folder, with room for temporary files: Snakemake ends in
    a traceback where it can't write its scheduler's model or its records.
    """
    # Each module adds a modifier of rules.
    if len(workflow.modifier_stack) > 1:
        folder = workflow.current_basedir
        raise SystemExit(
            "this workflow can't be a module of another Snakefile, as its paths and settings are "
            f"those of its own folder: run snakemake in {folder}, and take what it makes, "
            f"{folder}/results/..., as inputs"
        )
    if not Path(workflow.basedir).samefile(Path.cwd()):
        raise SystemExit(
            f"snakemake runs in {Path.cwd()}, but all paths are relative to the project's folder: "
            f"cd {workflow.basedir}, without -d and -s; results of separate runs have separate "
            "tags there"
        )
    temporary, records = os.environ.get("TMPDIR") or "/tmp", Path.cwd() / ".snakemake"
    try:
        with TemporaryFile(dir=temporary) as file:
            file.write(bytes(MODEL_BYTES))
            file.flush()
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise SystemExit(
                f"{temporary}: {error.strerror}; free some space, or set TMPDIR to a folder with "
                "more"
            ) from None
    try:
        records.mkdir(exist_ok=True)
        TemporaryFile(dir=records).close()
    except OSError as error:
        raise SystemExit(
            f"{records}: {error.strerror}; Snakemake keeps its records there: run in a copy of the "
            "project that you can write to; `make status` says what is in this one"
        ) from None


def readable(path: str) -> str:
    """`path`, if a mapping can be read from it; else the program ends with one sentence.

    Snakemake's own message for a file that isn't UTF-8 is a traceback.
    """
    try:
        read_config(Path(path))
    except ConfigError as error:
        raise SystemExit(f"config: {error}") from None
    return path


def make_dag(config: Mapping[str, Any], files: Iterable[str] = ()) -> Dag:
    """The DAG of a configuration; invalid input ends the program with one sentence."""
    try:
        for file in files:
            read_config(Path(file))
        dag = dag_of(make_plan(config))
        _check(dag)
        _note(dag)
    except ConfigError as error:
        raise SystemExit(f"config: {error}") from None
    return dag


def _check(dag: Dag) -> None:
    for name in dag.plan.settings["studies"]:
        if name in FORMER:
            raise ConfigError(
                f"studies: {name!r} is now part of {FORMER[name]!r}; name that instead"
            )
        known("studies", name, STUDIES)
    for name in dag.plan.case_ids:
        usable(f"case of {dag.plan.tag}", name)
    dag.measured.to_join()
    if wrong := unknown_case(sys.argv, dag.plan.tag, dag.plan.case_ids):
        raise ConfigError(wrong)


def _note(dag: Dag) -> None:
    """Tell of results that are kept although something about them is not as it should be."""
    if found := dag.measured.drift():
        print(f"note: {dag.results}/ is kept as it is. {found}.", file=sys.stderr)
    if found := lost(dag.results):
        print(f"note: {found}.", file=sys.stderr)
