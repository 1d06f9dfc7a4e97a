"""Companion studies: see study.py."""
