"""A graph and what a log knows of its tasks become an executable.

Imports `search`, `space` and below. Start with `compile`; `build` compiles many kernels, `code_cache` keeps them on
disk, `dynamic` handles open dimensions, `filled` gives weights to models that come without.
"""
