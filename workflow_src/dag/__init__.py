"""What the rules ask for: inputs, params and resources.

Imports neither torch nor pandas, because it runs whenever snakemake does.
"""
