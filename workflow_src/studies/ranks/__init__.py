"""The study `ranks`."""
