"""The study `precision`."""
