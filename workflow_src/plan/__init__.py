"""From config.yaml to the cases of a run, their cluster resources, and hashes of code."""
