"""Temporal knowledge graphs: vocabularies, facts, indexes, split views, readers and writers, worlds."""
