"""Query datasets: backward grounding, difficulty, keys, and their files."""
