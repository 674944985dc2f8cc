"""tflex."""
