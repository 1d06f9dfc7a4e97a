"""Trains a tiny model in every way, and in a wrong one, by two ranks: their rows, in a folder.

python -m tests.studies.trained_ranks POINT FOLDER: of a point as JSON. Ranks are forked, as what is
served here has torch already.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch.distributed as dist
from torch.multiprocessing.spawn import start_processes

from workflow_src.model.transformer import TransformerLM
from workflow_src.studies.ranks import measure, ways


def summed(model: TransformerLM) -> ways.Trained:
    """Wrong: a sum over ranks is as many times the mean."""

    def average() -> None:
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)

    return ways.Trained(model, average)


def forked(*given: Any, start_method: str, **options: Any) -> Any:
    return start_processes(*given, start_method="fork", **options)


if __name__ == "__main__":
    ways.BUILD["summed"] = summed
    measure.start_processes = forked
    measure.run_ranks(measure.run, json.loads(sys.argv[1]), Path(sys.argv[2]))
