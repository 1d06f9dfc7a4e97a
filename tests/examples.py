"""How many examples of a property are tried."""

import os

from hypothesis import settings

costly = settings(max_examples=int(os.environ.get("EXAMPLES", 15)))
"""Of a property of which an example takes over 20 ms; EXAMPLES tries more, other ones each time."""
