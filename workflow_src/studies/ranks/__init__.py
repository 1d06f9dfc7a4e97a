"""The study `ranks`: its points, how they are measured, and what the numbers say."""
