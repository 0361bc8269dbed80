"""Measuring kernels: inputs, check of results, repetitions, contests, results.

Start with `measure`; a candidate is a `trial` (checked against `expected`, then timed by `repeats` in the machine code
of `harness`), two or more are a `contest`. `results` are plain values that cross process borders.
"""
