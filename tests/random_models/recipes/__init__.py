"""How each operator is added to a draft: operands that fit, in the form of the draft's opset, with odd attributes."""

from random_models.recipes import (
    attention,
    control,
    elementwise,
    indices,
    linear,
    normal,
    quantised,
    reduce,
    sequences,
    shapes,
    signal,
    windows,
)
from random_models.recipes.base import RECIPES, Recipe

__all__ = ["RECIPES", "Recipe"]

FAMILIES = (
    attention, control, elementwise, indices, linear, normal, quantised, reduce, sequences, shapes, signal, windows,
)  # fmt: skip
