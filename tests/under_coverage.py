"""Runs a module where its libraries may be imported already, and records the lines that it runs.

python -m tests.under_coverage CONFIG MODULE ARGUMENT...; `coverage run` looks at all that is
imported first, and fails on a part of torch that only looks like a module.
"""

import runpy
import sys

from coverage import Coverage

if __name__ == "__main__":
    _, config, module, *arguments = sys.argv
    sys.argv = [module, *arguments]
    coverage = Coverage(config_file=config)
    coverage.start()
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        coverage.stop()
        coverage.save()
