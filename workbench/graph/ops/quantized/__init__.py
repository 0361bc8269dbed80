"""Operators on small integers: quantising, products and convolutions of quantised numbers."""
