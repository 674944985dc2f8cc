"""Temporal knowledge graphs: names, facts, indexes, split views, readers, writers, worlds."""
