"""Measures with a device to itself, and records the environment."""

from collections.abc import Callable
from typing import Any

from workflow_src.common.devices import hold
from workflow_src.measure.machine import hardware, node, now, software, state


def measured_alone(device: str, key: str, measure: Callable[[], Any]) -> dict[str, Any]:
    """The result of `measure` under `key`, with environment, device states and times beside it.

    `device` is "cpu" or "cuda". Raises DeviceError if there is no such device.
    """
    with hold(device) as name:
        started_at, before = now(), state(name)
        found = measure()
        return {
            key: found,
            "environment": hardware(name) | software() | {"node": node(), "device_name": name},
            "before": before,
            "after": state(name),
            "started_at": started_at,
            "ended_at": now(),
        }
