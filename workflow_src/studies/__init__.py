"""Companion studies: each a module here, a rule file, a template and a figure of its own."""
