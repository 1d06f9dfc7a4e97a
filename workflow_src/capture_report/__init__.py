"""The report of captures of other programs."""
