"""The schedule on show: its nest as the front end reads it, the palette, previews, and numbers of earlier steps.

Imports `variants`, `state` and `core`. Start at `nest`.
"""
