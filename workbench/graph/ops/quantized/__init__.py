"""Operators on small integers: quantisation, products and convolutions of quantised numbers."""
