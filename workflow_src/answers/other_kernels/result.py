"""What case cards take from (c)."""

from workflow_src.answers.other_kernels.chapter import REMEDIES as TRIED
from workflow_src.answers.other_kernels.passes import components_of_case

__all__ = ["TRIED", "components_of_case"]
