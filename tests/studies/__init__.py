"""What a study's point has around its rows."""

from typing import Any

ON_GPU: dict[str, Any] = {
    "environment": {"gpu": "NVIDIA H200"},
    "before": {"host_operation_us": 6.0},
    "after": {"host_operation_us": 6.1},
    "profiler_detaches": True,
}
"""As measured on a GPU since profilers are detached."""
