"""Operators that move data: shapes, joining, slicing, gathering, scattering, repeating."""
