"""Commands to run by hand; no rule runs them."""
