"""Nests ranges, places work in them, finds steps and idle time; names and families of work."""
