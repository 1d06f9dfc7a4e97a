"""How nsys recorded: by its messages (DIAGNOSTIC_EVENT) and what it says of the export."""

import re
from collections.abc import Sequence

from workflow_src.captures.launches import Launched
from workflow_src.captures.recording import HARDWARE, PROPERTY, SOFTWARE, Recording, one_card
from workflow_src.captures.store import ABOUT, Store
from workflow_src.common.printable import printable

MESSAGES, GPUS = "DIAGNOSTIC_EVENT", "TARGET_INFO_GPU"
PRODUCT, SCHEMA = "EXPORT_PRODUCT_VERSION", "EXPORT_SCHEMA_VERSION"

LOSS = re.compile(
    r"\b(?:dropped|lost)\b.*\b(?:events?|records?)\b|"
    r"\b(?:events?|records?)\b.*\b(?:dropped|lost|missing|not collected)\b",
    re.IGNORECASE,
)
OTHER_LOSS = re.compile(r"\bsamples?\b|\bCPU\b|\bftrace\b", re.IGNORECASE)
"""What nsys 2023.4 says of lost events, and of what isn't read here."""

BY_HARDWARE = re.compile(r"\bhardware\b.*\btrac", re.IGNORECASE)
INSTEAD = re.compile(r"\bsoftware\b|\bnot supported\b", re.IGNORECASE)
"""What nsys says since 2025.6, where hardware tracing is the default, if it fell back."""

HARDWARE_SINCE = (2025, 6)


def recording(store: Store, found: Launched) -> Recording:
    """How the export's capture was recorded, with its launches and those without an activity."""
    said = store.values(MESSAGES, "text")
    messages = [printable(text) for text in said if text is not None]
    pairs = zip(store.values(ABOUT, "name"), store.values(ABOUT, "value"), strict=False)
    about = {printable(name): printable(value) for name, value in pairs if value is not None}
    numbers = (column.tolist() for column in store.integers(GPUS, PROPERTY[1:]).values())
    return Recording(
        "nsys",
        about.get(PRODUCT, "unknown"),
        about.get(SCHEMA, ""),
        tracing(messages, about.get(PRODUCT, "")),
        dropped(messages) if messages else None,
        found.launches,
        found.unanswered,
        one_card(zip(store.values(GPUS, PROPERTY[0]), *numbers, strict=False)),
    )


def dropped(texts: Sequence[str]) -> int:
    """How many events nsys says that it lost; one for a message without a number."""
    losses = [text for text in texts if LOSS.search(text) and not OTHER_LOSS.search(text)]
    numbers = [re.search(r"\d[\d,]*", text) for text in losses]
    return sum(int(number[0].replace(",", "")) if number else 1 for number in numbers)


def tracing(texts: Sequence[str], version: str) -> str:
    """How kernels were traced; "" if nsys of this version may have done either and doesn't say."""
    said = [text for text in texts if BY_HARDWARE.search(text)]
    if said:
        return SOFTWARE if any(INSTEAD.search(text) for text in said) else HARDWARE
    number = re.match(r"(\d+)\.(\d+)", version)
    older = number is not None and tuple(map(int, number.groups())) < HARDWARE_SINCE
    return SOFTWARE if older else ""
