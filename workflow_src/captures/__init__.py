"""Captures of programs that aren't this project's: which range their device work belongs to."""
