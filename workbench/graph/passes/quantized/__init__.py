"""Passes for quantised networks: products of integers, and operators between two quantisations."""
