"""Imported first where a GPU's machine lacks packages that are imported, but not called there."""

import sys
from importlib import import_module
from unittest.mock import MagicMock

for _name in ("nvtx", "jsonschema", "jsonschema.validators"):
    try:
        import_module(_name)
    except ImportError:
        sys.modules[_name] = MagicMock()
