"""The typed algebra, structures, text, rewrites; queries in words, formulas and pictures."""
