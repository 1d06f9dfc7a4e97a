"""How nsys recorded: by its messages (DIAGNOSTIC_EVENT) and what it says of the export."""

import re
from collections.abc import Sequence

from workflow_src.captures.capture import printable
from workflow_src.captures.cards import PROPERTY, Card, one_card
from workflow_src.captures.exported import Exported
from workflow_src.captures.launches import Launches, counted
from workflow_src.captures.nsys_calls import NamedCalls
from workflow_src.captures.recording import HARDWARE, SOFTWARE, Recording

MESSAGES, ABOUT, GPUS = "DIAGNOSTIC_EVENT", "META_DATA_EXPORT", "TARGET_INFO_GPU"
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


def recording(found: Exported, api: NamedCalls, launched: Launches) -> Recording:
    """How the export's capture was recorded, with its launches and those without an activity."""
    texts, about = messages(found), facts(found)
    return Recording(
        "nsys",
        about.get(PRODUCT, "unknown"),
        about.get(SCHEMA, ""),
        tracing(texts, about.get(PRODUCT, "")),
        dropped(texts) if texts else None,
        *counted(api.names, api.calls, launched),
        card_of_export(found),
    )


def card_of_export(found: Exported) -> Card | None:
    """The card that the export names."""
    if not found.has_columns(GPUS, *PROPERTY):
        return None
    name, *numbers = PROPERTY
    columns = (column.tolist() for column in found.integers(GPUS, (*numbers,)).values())
    return one_card(zip(found.values(GPUS, name), *columns, strict=True))


def messages(found: Exported) -> list[str]:
    """What nsys said while it recorded; empty where the export has none."""
    if not found.has_columns(MESSAGES, "text"):
        return []
    texts = found.values(MESSAGES, "text")
    return [printable(text) for text in texts if text is not None]


def facts(found: Exported) -> dict[str, str]:
    """What the export says of itself, by name."""
    if not found.has_columns(ABOUT, "name", "value"):
        return {}
    names, values = (found.values(ABOUT, name) for name in ("name", "value"))
    pairs = zip(names, values, strict=True)
    return {printable(name): printable(value) for name, value in pairs if value is not None}


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
