"""Speed of this project's own code: measured here, not tested."""
