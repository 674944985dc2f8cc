"""The typed algebra, structures, text, rewrites, and what a query looks like in words and pictures."""
