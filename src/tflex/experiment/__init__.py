"""Runs: configuration, presets, run folders, validation, and evaluation of query sets."""
