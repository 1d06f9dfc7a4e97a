"""Commands to run by hand."""
