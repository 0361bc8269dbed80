"""Passes of quantised networks: integer products, and what stands between two quantisations."""
