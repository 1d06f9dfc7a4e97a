"""The card of each case: what is wrong with it, what to change first, and all that was measured."""
