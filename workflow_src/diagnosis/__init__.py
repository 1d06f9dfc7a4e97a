"""What a step would take without something: the step as a model, its replay, changes to it."""
