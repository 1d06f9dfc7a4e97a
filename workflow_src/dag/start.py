"""What the Snakefile does first: checks that end with one sentence, and then the DAG."""

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from workflow_src.common.errors import ConfigError
from workflow_src.dag.dag import Dag, dag_of
from workflow_src.dag.paths import known
from workflow_src.plan.strict_yaml import read_config
from workflow_src.plan.suites import make_plan
from workflow_src.studies.study import STUDIES


def require_place(workflow: Any) -> None:
    """Exit with a sentence unless Snakemake's `workflow` runs in the project's own folder.

    It has to be able to write there, else Snakemake ends in a traceback.
    """
    if not Path(workflow.basedir).samefile(Path.cwd()):
        raise SystemExit(
            f"snakemake runs in {Path.cwd()}, but all paths are relative to the project's folder: "
            f"cd {workflow.basedir}, without -d and -s; results of separate runs have separate "
            "tags there"
        )
    if not os.access(Path.cwd(), os.W_OK):
        raise SystemExit(
            f"{Path.cwd()} can't be written to, and Snakemake keeps its records there: run in a "
            "copy of the project"
        )


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
    """The DAG of a configuration; invalid input ends the program with one sentence.

    Tells of results that are kept although they were measured elsewhere.
    """
    try:
        for file in files:
            read_config(Path(file))
        dag = dag_of(make_plan(config))
        for name in dag.plan.settings["studies"]:
            known("studies", name, STUDIES)
    except ConfigError as error:
        raise SystemExit(f"config: {error}") from None
    if found := dag.measured.drift():
        print(f"note: {dag.results}/ is kept as it is. {found}.", file=sys.stderr)
    return dag
