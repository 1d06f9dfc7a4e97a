"""How numbers, tables and figures look, regardless of what they mean."""
