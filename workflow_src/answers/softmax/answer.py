"""Answer (e): a command, see answers/stage.py."""

from workflow_src.answers import stage
from workflow_src.answers.softmax.headline import headline
from workflow_src.answers.softmax.result import result

if __name__ == "__main__":
    stage.main("e", result, headline)
