"""Arithmetic: element by element, products of matrices, reductions, comparisons, order."""
