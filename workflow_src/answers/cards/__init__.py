"""The card of each case."""
