"""Operators of arithmetic: elementwise, matrix products, reductions, comparisons, sorting."""
