"""Nests as text: the printer, the parser that is its inverse, and differences between two nests."""
