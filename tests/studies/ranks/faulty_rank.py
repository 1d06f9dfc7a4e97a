"""A rank that dies, or hangs, as its job's `fault` says; the others wait."""

import json
import os
import sys
import time
from pathlib import Path

job, number = Path(sys.argv[2]), int(sys.argv[4])
(job.parent / f"pid{number}").write_text(str(os.getpid()))
fault = json.loads(job.read_text())["fault"]
if number == 1 and fault == "dies":
    sys.exit(7)
if number == 1 and fault == "is killed":
    os.kill(os.getpid(), 9)
time.sleep(600)
