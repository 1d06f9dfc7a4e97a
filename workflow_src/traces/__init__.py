"""From captures to a Trace common to all profilers, its attribution and its families."""
