"""Measures rounding in mixed precision, the dtypes that it uses, and the times of models."""

from workflow_src.studies.models import with_known_sizes
from workflow_src.studies.precision.layer_norm import layer_norms
from workflow_src.studies.precision.numerics import accumulation, dtypes
from workflow_src.studies.precision.points import POINT
from workflow_src.studies.precision.speed import speed
from workflow_src.studies.run_point import main
from workflow_src.studies.study import Point, Row


def measure(point: Point) -> list[Row]:
    """Rows of up to four parts: accumulation, dtypes, layer_norm, speed."""
    if not point["numerics"]:
        return list(speed(point))
    rounding = [*accumulation(point), *dtypes(point["device"]), *layer_norms(point)]
    return [*rounding, *speed(point)]


if __name__ == "__main__":
    main(measure, POINT, with_known_sizes)
