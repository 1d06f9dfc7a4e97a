"""From config.yaml to the cases of a run, what they ask of a cluster, and fingerprints of code."""
