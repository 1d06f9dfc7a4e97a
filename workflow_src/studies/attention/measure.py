"""Measures the attention study: cores, the module with nsys's summary, the plain one, or loops."""

from workflow_src.studies.attention.cores import measure_cores
from workflow_src.studies.attention.loops import measure_loops
from workflow_src.studies.attention.module import measure_module
from workflow_src.studies.attention.nsys_summary import measure_summaries
from workflow_src.studies.attention.plain import measure_plain
from workflow_src.studies.attention.points import POINT
from workflow_src.studies.run_point import main
from workflow_src.studies.study import Point, Row


def measure(point: Point) -> list[Row]:
    """Rows of sweep "core" per implementation, shape and phase, or those of another point.

    Of "module": of sweep "module" per version and phase, and "kernel" and "nsys" per version; of
    "plain": of sweep "plain" per module and shape; of "loops": of sweep "loop" per shape and phase.
    """
    if point["point"] == "loops":
        return measure_loops(point)
    if point["point"] == "plain":
        return measure_plain(point)
    if point["point"] == "module":
        return measure_module(point) + measure_summaries(point)
    return measure_cores(point)


if __name__ == "__main__":
    main(measure, POINT)
