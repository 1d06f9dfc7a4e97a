"""Runs stages in forks of a process that has imported their libraries: most of a stage's time.

python -P tests/stage_server.py SOCKET: serves the clients of SOCKET until its input ends. A client,
tests/stage_client.py, is called as Python is and ends as the stage does; if it is killed, so is the
stage.
"""

import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import traceback
from contextlib import suppress
from typing import Any, NoReturn

LIBRARIES = (
    *("torch", "torch._dynamo", "torch.utils.flop_counter", "pandas", "matplotlib.figure"),
    *("matplotlib.backends.backend_svg", "markdown", "jinja2", "jsonschema", "yaml", "tabulate"),
    *("pynvml", "filelock", "psutil", "itables", "nvtx", "sqlite3", "statistics"),
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


def serve(client: socket.socket) -> None:
    """Run a client's stage, and send its exit status; kill it if the client ends before."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    text, files, _, _ = socket.recv_fds(client, 1 << 16, 3)
    while not text.endswith(b"\n"):
        text += client.recv(1 << 16)
    stage = os.fork()
    if not stage:
        client.close()
        become(json.loads(text), files)
    ready, _, _ = select.select([os.pidfd_open(stage), client], [], [])
    if client in ready:
        os.kill(stage, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(stage, 0)[1])
    with suppress(OSError):
        client.sendall(str(status if status >= 0 else 128 - status).encode())


def main() -> None:
    """Serve each client in a process of its own."""
    for name in LIBRARIES:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(sys.argv[1])
        listener.listen(64)
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([sys.stdin, listener], [], [])
            if sys.stdin in ready:
                return
            client, _ = listener.accept()
            if not os.fork():
                listener.close()
                serve(client)
                os._exit(0)
            client.close()


if __name__ == "__main__":
    main()
