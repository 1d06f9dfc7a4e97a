"""Answer (a): a command, see answers/stage.py."""

from workflow_src.answers import stage
from workflow_src.answers.forward_time.headline import headline
from workflow_src.answers.forward_time.result import result

if __name__ == "__main__":
    stage.main("a", result, headline)
