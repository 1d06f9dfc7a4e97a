"""What studies measure, by device and scale: from the points.yaml of each."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from workflow_src.common.case import short_name
from workflow_src.common.errors import StageError
from workflow_src.studies.levers.variants import PLAIN, variants
from workflow_src.studies.study import Row, Settings

CHOICES = ({"cpu", "cuda"}, {"small", "full"}, {"nsys", "torch"})
"""Keys of mappings of which the machine, the scale or its profiler chooses a value."""


def points(study: str, device: str, scale: str, settings: Settings) -> list[Row]:
    """The points of a study. `sizes: [small]` becomes these sizes as configured, and
    `sizes: all` all of them.

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
    keys = {device, scale, str(settings.get("profiler"))}
    tried = [made for each in _chosen(written, keys) for made in _tried(each, settings, device)]
    chosen = [made for each in tried for made in _brought(each, settings)]
    found = [_sized(each, settings) for each in chosen]
    return [point for point in found if point.get("sizes", True)]


def _chosen(value: Any, keys: set[str]) -> Any:
    if isinstance(value, list):
        return [made for each in value if (made := _chosen(each, keys)) is not None]
    if not isinstance(value, dict):
        return value
    if any(value.keys() <= choice for choice in CHOICES):
        return _chosen(next((value[key] for key in value if key in keys), None), keys)
    return {key: _chosen(each, keys) for key, each in value.items()}


def _brought(point: Row, settings: Settings) -> list[Row]:
    if "brought" not in point:
        return [point]
    common = {key: value for key, value in point.items() if key != "brought"}
    return [
        common | {"point": point["point"].format(short_name(where)), "implementations": [where]}
        | {"code": code}
        for where, code in settings.get(point["brought"], {}).items()
    ]  # fmt: skip


def _tried(point: Row, settings: Settings, device: str) -> list[Row]:
    """A point with cases, as of the study levers, as one for each variant of each case."""
    if "cases" not in point:
        return [point]
    common = {key: value for key, value in point.items() if key not in ("cases", "processes")}
    of_plain, of_others = point["processes"]
    found = []
    for case in settings["levers_cases"] or point["cases"]:
        size, context, precision = case.rsplit("-", 2)
        about = common | {"case": case, "sizes": [size], "size": size, "precision": precision}
        about |= {"context": int(context.removeprefix("ctx"))}
        for variant in variants(precision, device):
            name = point["point"].format(case=case, variant=variant.name)
            processes = of_plain if variant.name == PLAIN else of_others
            made = asdict(variant) | {"remedies": list(variant.remedies)}
            found.append(about | {"point": name, "processes": processes, "variant": made})
    return found


def _sized(point: Row, settings: Settings) -> Row:
    names, known = point.get("sizes"), settings.get("sizes", {})
    names = list(known) if names == "all" else names
    if not isinstance(names, list):
        return point
    sizes = {name: dict(known[name]) for name in names if name in known}
    return point | {"sizes": sizes, "vocabulary": settings["vocabulary"]}
