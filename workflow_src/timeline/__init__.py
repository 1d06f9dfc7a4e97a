"""Steps as pictures, from a capture."""
