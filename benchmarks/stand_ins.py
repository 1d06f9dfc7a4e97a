"""Imported first where a GPU's machine lacks packages that are imported, but not called there."""

import importlib.util
import sys
from unittest.mock import MagicMock

for _name in ("nvtx", "jsonschema", "jsonschema.validators"):
    if importlib.util.find_spec(_name.partition(".")[0]) is None:
        sys.modules[_name] = MagicMock()
