"""The tables of one case, and of all cases joined."""
