"""Marks behind cells that several answers have; the template of each says what they mean."""

CAPPED = "\N{SECTION SIGN}"
"""Stands behind what rests on plain steps while which the driver lowered the clock for power."""

ALONE = "\N{SUPERSCRIPT ONE}"
"""Stands behind what is known of one process only."""
