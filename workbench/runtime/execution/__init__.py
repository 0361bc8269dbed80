"""Compiled networks: the plan of all calls, the memory of a run, inputs, outputs, benchmark, profile, trace.

Start with `plan` and `executable`. `context` is what one run needs for itself.
"""
