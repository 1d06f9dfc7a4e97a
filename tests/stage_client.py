"""Runs a stage through tests/stage_server.py, as `python -m MODULE ARGUMENT...` would."""

import json
import os
import socket
import sys

words = {"words": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}
text = json.dumps(words).encode() + b"\n"
with socket.socket(socket.AF_UNIX) as server:
    server.connect(os.environ["WATCH_SERVER"])
    sent = socket.send_fds(server, [text], [0, 1, 2])
    server.sendall(text[sent:])
    status = server.recv(16)
sys.exit(int(status or 137))
