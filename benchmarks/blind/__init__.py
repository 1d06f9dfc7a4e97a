"""Captures whose fault their reader doesn't know: recorded, shown and scored by three commands."""
