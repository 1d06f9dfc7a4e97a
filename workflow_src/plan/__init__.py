"""From config.yaml to the cases of a run, and hashes of code."""
