"""The meaning of a nest: a function runs element by element. The oracle of all transformations.

Start with `interp`; `memory` holds the elements of buffers, `scalar` the arithmetic of one element.
"""
