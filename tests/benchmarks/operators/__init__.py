"""Operators as they stand in real networks, alone in a model: the cases, and the libraries that run them."""

from operators import elementwise, movement, products, rows, windows

CASES = (*windows.CASES, *products.CASES, *rows.CASES, *elementwise.CASES, *movement.CASES)
