"""How numbers, tables and figures look; knows nothing of what they mean."""
