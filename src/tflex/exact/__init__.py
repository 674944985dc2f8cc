"""Exact answers: the compiled engine, and the slow reference that it is tested against."""
