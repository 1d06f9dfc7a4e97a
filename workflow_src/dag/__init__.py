"""What the rules ask for: inputs, params and resources. Each part is named after what it is about.

Imports neither torch nor pandas, because it runs whenever snakemake does.
"""
