"""Every kind of finding, a function that gives its places, by what they are about."""

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

KINDS: tuple[Callable[[Subject], Iterator[Finding]], ...] = (
    *(fusion.elementwise_chains, fusion.attention),
    *(transfers.sent_data, transfers.fetched_data, transfers.synchronizations, transfers.memory),
    *(numbers.fetched, numbers.sent_numbers),
    *(host.held_up, host.computes, host.launch_bound),
    products.convolution_layout,
    *(passes.forward_in_vain, passes.recomputation, passes.metrics),
    *(optimizer.parameter_by_parameter, optimizer.dense_gradients),
    optimizer.index_gradients,
    *(products.float32_products, products.unaligned_products, products.float64),
    *(ranks.reduced_in_each_micro_batch, ranks.small_collectives),
    *(ranks.exposed_communication, ranks.late_rank),
)
