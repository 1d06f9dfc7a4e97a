"""Answer (c): a command, see answers/stage.py."""

from workflow_src.answers import stage
from workflow_src.answers.other_kernels.headline import headline
from workflow_src.answers.other_kernels.result import result

if __name__ == "__main__":
    stage.main("c", result, headline)
