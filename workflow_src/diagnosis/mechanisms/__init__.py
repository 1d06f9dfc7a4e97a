"""Every kind of finding: each function of these modules that yields findings of a Subject."""

from collections.abc import Callable, Iterator

from workflow_src.diagnosis.finding import Finding
from workflow_src.diagnosis.mechanisms import (
    fusion,
    host,
    numbers,
    optimizer,
    passes,
    products,
    ranks,
    transfers,
)
from workflow_src.diagnosis.subject import Subject

KINDS: tuple[Callable[[Subject], Iterator[Finding]], ...] = tuple(
    find
    for module in (fusion, transfers, numbers, host, passes, optimizer, products, ranks)
    for find in vars(module).values()
    if getattr(find, "__annotations__", {}).get("return") == Iterator[Finding]
)
