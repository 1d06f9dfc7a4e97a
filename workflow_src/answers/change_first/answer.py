"""Answer (f): a command, see answers/stage.py."""

from workflow_src.answers import stage
from workflow_src.answers.change_first.headline import headline
from workflow_src.answers.change_first.result import result

if __name__ == "__main__":
    stage.main("f", result, headline)
