"""One module for each kind of mechanism; importing this package registers all of them."""

from workflow_src.diagnosis.mechanisms import (
    compilation,
    copies,
    fusion,
    host,
    layout,
    memory,
    optimizer,
    products,
    ranks,
    repeats,
    waits,
)

KINDS = (
    compilation,
    copies,
    fusion,
    host,
    layout,
    memory,
    optimizer,
    products,
    ranks,
    repeats,
    waits,
)
"""The modules that register mechanisms."""
