"""Operators as they stand in real networks, alone in a model: the cases, and the libraries that run them."""

from operators import elementwise, integers, movement, products, rows, windows

CASES = (*windows.CASES, *products.CASES, *integers.CASES, *rows.CASES, *elementwise.CASES, *movement.CASES)
