"""Training: batches, plans that batch by operator, the loop, and checkpoints."""
