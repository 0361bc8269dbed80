"""Mutations of what reads at numbers that are known at run time only; see also `ir.test_picks`."""

from __future__ import annotations

from property.mutation import Mutation
from property.mutation import mutation as _m

_P = "workbench.schedule.primitives."
_G = "workbench.codegen."
_R = "workbench.ir."

PICKS: tuple[Mutation, ...] = (
    _m(
        "compute_at",
        _R + "affine",
        "one row is enough for a reader that may want any",
        "if digit.free or digit.var in extents:",
        "if digit.var in extents:",
    ),
    _m(
        "compute_inline",
        _P + "compute_inline",
        "a block that is read by number reads by its own numbers",
        "(*own, *at)))",
        "(*own, *at[1:], *at[:1])))",
    ),
    _m(
        "compute_inline",
        _P + "compute_inline",
        "what numbers are made of is not put in their place",
        "own = map_picks(e.at, lambda c: _picked(c, env, at))",
        "own = e.at",
    ),
    _m(
        "transform_layout",
        _P + "transform_layout",
        "the place inside the block that was picked counts too far",
        "rest += Affine() if size == 1 else Affine(((replace(digit, extent=size), 1),))",
        "rest += Affine() if size == 1 else Affine(((replace(digit, lower=count, extent=size), 1),))",
    ),
    _m(
        "pad",
        _P + "pad",
        "numbers behind the end are read",
        "near = map_children(e, lambda c: _inside(func, block, c, axis, (*known, *conds)))",
        "near = e",
    ),
    _m(
        "vectorize",
        _G + "llvm.memory_access",
        "all lanes read by the number of the first",
        "here = [v if v.lanes == 1 else self._lane(v, lane) for v in picks]",
        "here = [v if v.lanes == 1 else self._lane(v, 0) for v in picks]",
    ),
    _m(
        "parallel",
        _G + "llvm.expressions",
        "what lies outside is read",
        'return self.arith.binary("min", value, literal(last, "int64"))',
        "return value",
    ),
)
