"""The study `attention`."""
