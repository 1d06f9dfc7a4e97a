"""Answer (d): a command, see answers/stage.py."""

from workflow_src.answers import stage
from workflow_src.answers.gemm_share.headline import headline
from workflow_src.answers.gemm_share.result import result

if __name__ == "__main__":
    stage.main("d", result, headline)
