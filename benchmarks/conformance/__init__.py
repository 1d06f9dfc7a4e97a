"""Profilers on traces whose truth is known, each judged by the quantity that it reports."""
