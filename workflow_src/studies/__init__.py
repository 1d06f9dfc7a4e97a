"""Companion studies: each has a subpackage here, and a template, table and figure of its own."""
