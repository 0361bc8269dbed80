"""The variants of a task as a table, as a file, and carried over to another computation.

Imports `state` and `core`. Start at `transfer`.
"""
