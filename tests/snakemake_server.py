"""Runs snakemake in forks of a process that has imported it: its import is most of a dry run.

python tests/snakemake_server.py: reads requests from its standard input, a line of JSON each, and
answers each with a line that holds the exit status.
"""

import gc
import importlib
import json
import os
import sys
from typing import NoReturn

import snakemake.cli

LATER = ("snakemake.report.html_reporter", "smart_open", "pydantic", "pynvml", "filelock")
"""What a run imports beside that."""


def run(request: dict[str, object]) -> NoReturn:
    """Become snakemake with a request's arguments, folder and environment; print to its file."""
    output = os.open(str(request["output"]), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for old, new in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(old, new)
    os.chdir(str(request["folder"]))
    os.environ.clear()
    os.environ.update(request["environment"])  # type: ignore[call-overload]
    sys.argv = ["snakemake", *request["arguments"]]  # type: ignore[misc]
    status = 1
    try:
        snakemake.cli.main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def serve() -> None:
    """Answer requests until the input ends."""
    for name in LATER:
        importlib.import_module(name)
    # Finds and imports all plugins.
    snakemake.cli.get_argument_parser()
    # What is not looked at by garbage collections isn't copied by them either.
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            run(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    serve()
