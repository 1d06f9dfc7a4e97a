"""One module for each kind of mechanism; importing this package registers all of them."""

from workflow_src.diagnosis.mechanisms import (  # noqa: F401
    compilation,
    copies,
    fusion,
    host,
    layout,
    memory,
    metrics,
    optimizer,
    products,
    ranks,
    repeats,
    waits,
)
