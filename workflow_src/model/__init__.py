"""The decoder-only Transformer language model that every case runs."""
