"""Commands by hand that no rule runs."""
