"""Training loops with one fault each, recorded beside the same loop without it."""
