"""Runs stages in forks of a process that has imported their libraries: most of a stage's time.

python -P tests/stage_server.py SOCKET: serves the clients of SOCKET until its input ends. A client,
tests/stage_client.py, is called as Python is and ends as the stage does; if it is killed, so is the
stage.
"""

import ast
import gc
import importlib
import os
import runpy
import selectors
import signal
import socket
import sys
import traceback
from contextlib import suppress
from typing import Any, NoReturn

LIBRARIES = (
    *("torch", "torch._dynamo", "torch.utils.flop_counter", "pandas", "matplotlib.figure"),
    *("matplotlib.backends.backend_svg", "jinja2", "pydantic", "yaml", "tabulate"),
    *("pynvml", "filelock", "psutil", "nvtx", "sqlite3", "statistics"),
    "snakemake.cli",
    "snakemake.report.html_reporter",
    "smart_open",
)


def status_of(end: SystemExit) -> int:
    """The exit status of a program that ends so; prints what it ends with, as Python does."""
    if isinstance(end.code, str):
        print(end.code, file=sys.stderr)
    return end.code if isinstance(end.code, int) else int(end.code is not None)


def become(request: dict[str, Any], files: list[int]) -> NoReturn:
    """Run `python -m MODULE ARGUMENT...` here, with a client's files, folder and environment."""
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path.insert(0, request["folder"])
    program = f"{request['folder']}/bin/program"
    sys.executable = program if os.path.exists(program) else sys.executable
    _, module, *arguments = request["words"]
    sys.argv = [module, *arguments]
    status = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        status = status_of(end)
    except BaseException:
        traceback.print_exc()
        status = 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
        os._exit(status)


def start(client: socket.socket) -> int:
    text, files, _, _ = socket.recv_fds(client, 1 << 16, 3)
    while text and not text.endswith(b"\n"):
        text += client.recv(1 << 16)
    stage = os.fork()
    if not stage:
        become(ast.literal_eval(text.decode()), files)
    for file in files:
        os.close(file)
    return stage


def serve(client: socket.socket, events: selectors.BaseSelector) -> None:
    """Run a client's stage, and send its exit status; kill it if the client ends before."""
    stage = start(client)
    process = os.pidfd_open(stage)

    def ended() -> None:
        status = os.waitstatus_to_exitcode(os.waitpid(stage, 0)[1])
        with suppress(OSError):
            client.sendall(str(status if status >= 0 else 128 - status).encode())
        events.unregister(process)
        with suppress(KeyError):
            events.unregister(client)
        os.close(process)
        client.close()

    def left() -> None:
        os.kill(stage, signal.SIGKILL)
        events.unregister(client)

    events.register(process, selectors.EVENT_READ, ended)
    events.register(client, selectors.EVENT_READ, left)


def main() -> None:
    with socket.socket(socket.AF_UNIX) as listener, selectors.DefaultSelector() as events:
        listener.bind(sys.argv[1])
        listener.listen(64)
        print("ready", flush=True)
        # Clients wait meanwhile.
        for name in LIBRARIES:
            # An older Snakemake has no such modules, and is not served.
            with suppress(ImportError):
                importlib.import_module(name)
        if cli := sys.modules.get("snakemake.cli"):
            # Finds and imports all plugins.
            cli.get_argument_parser()
        gc.freeze()
        events.register(sys.stdin, selectors.EVENT_READ)
        events.register(listener, selectors.EVENT_READ, lambda: serve(listener.accept()[0], events))
        # One event at a time: it may remove another one.
        while (key := events.select()[0][0]).fileobj is not sys.stdin:
            key.data()


if __name__ == "__main__":
    main()
