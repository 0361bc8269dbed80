"""How far rounding may carry each element of a result, for any order in which a kernel computes it.

Start with `bounds`; `expressions`, `sums` and `operations` bound expressions, reductions and single operations. Nothing
here knows how a kernel was made.
"""
