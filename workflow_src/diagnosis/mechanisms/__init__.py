"""The kinds of findings, by what they are about; importing this package registers all of them."""

from workflow_src.diagnosis.mechanisms import (  # noqa: F401
    fusion,
    host,
    layout,
    numbers,
    optimizer,
    passes,
    products,
    ranks,
    transfers,
)
