"""The study `flash`: its points, how they are measured, and what the numbers say."""
