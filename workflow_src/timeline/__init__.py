"""A case's steps as pictures and in the formats of trace viewers, from its exported capture."""
