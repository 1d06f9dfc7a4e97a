"""Answer (b): a command, see answers/stage.py."""

from workflow_src.answers import stage
from workflow_src.answers.top_kernel.headline import headline
from workflow_src.answers.top_kernel.result import result

if __name__ == "__main__":
    stage.main("b", result, headline)
