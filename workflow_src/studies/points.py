"""What studies measure, by device and scale: from the points.yaml of each."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from workflow_src.common.case import short_name
from workflow_src.common.errors import StageError
from workflow_src.studies.levers.variants import PLAIN, variants
from workflow_src.studies.study import Row, Settings

CHOICES = ({"cpu", "cuda"}, {"small", "full"})
"""Keys of mappings of which the machine or the scale chooses a value."""


def points(study: str, device: str, scale: str, settings: Settings) -> list[Row]:
    """The points of a study. `sizes: [small]` becomes these sizes as configured, and `sizes: all`
    all of them.

    Sizes of the file's own are a mapping, with a `vocabulary` beside it. Points of which no size is
    configured are left out, and so is what machine or scale don't choose. A point with
    `brought: attention_codes` becomes one for each code of that setting, with the hash of what it
    does, so that an edit measures it again. Raises StageError for a file that isn't YAML.
    """
    path = Path(__file__).with_name(study) / "points.yaml"
    try:
        written = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise StageError(f"{path} can't be read: {' '.join(str(error).split())}") from None
    chosen = _chosen(written, {device, scale})
    several = [made for each in chosen for made in _several(each, settings, device)]
    found = [_sized(each, settings) for each in several]
    return [point for point in found if point.get("sizes", True)]


def _chosen(value: Any, keys: set[str]) -> Any:
    if isinstance(value, list):
        return [made for each in value if (made := _chosen(each, keys)) is not None]
    if not isinstance(value, dict):
        return value
    if any(value.keys() <= choice for choice in CHOICES):
        return _chosen(next((value[key] for key in value if key in keys), None), keys)
    return {key: _chosen(each, keys) for key, each in value.items()}


def _several(point: Row, settings: Settings, device: str) -> Iterator[Row]:
    """A point for each brought code, or for each variant of each case, as of the study levers."""
    common, name = dict(point), point["point"]
    brought, cases = common.pop("brought", None), common.pop("cases", ())
    if not brought and not cases:
        yield point
    for where, code in settings.get(brought, {}).items():
        about = {"point": name.format(short_name(where)), "implementations": [where]}
        yield common | about | {"code": code}
    for case in cases and (settings["levers_cases"] or cases):
        size, context, precision = case.rsplit("-", 2)
        about = {"case": case, "sizes": [size], "size": size, "precision": precision}
        about |= {"context": int(context.removeprefix("ctx"))}
        for variant in variants(precision, device):
            about |= {"point": name.format(case=case, variant=variant.name)}
            about |= {"processes": point["processes"][variant.name != PLAIN]}
            made = asdict(variant) | {"remedies": list(variant.remedies)}
            yield common | about | {"variant": made}


def _sized(point: Row, settings: Settings) -> Row:
    names, known = point.get("sizes"), settings.get("sizes", {})
    names = list(known) if names == "all" else names
    if not isinstance(names, list):
        return point
    sizes = {name: dict(known[name]) for name in names if name in known}
    return point | {"sizes": sizes, "vocabulary": settings["vocabulary"]}
