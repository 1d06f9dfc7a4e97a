"""Runs a stage through tests/stage_server.py, as `python -m MODULE ARGUMENT...` would.

It imports nothing that Python hasn't: json and socket take as long as all else here.
"""

import os
import sys
from _socket import AF_UNIX, SCM_RIGHTS, SOL_SOCKET, socket

words = {"words": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}
text = f"{words!r}\n".encode()
server = socket(AF_UNIX)
server.connect(os.environ["WATCH_SERVER"])
files = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
sent = server.sendmsg([text], [(SOL_SOCKET, SCM_RIGHTS, files)])
server.sendall(text[sent:])
status = server.recv(16)
sys.exit(int(status or 137))
