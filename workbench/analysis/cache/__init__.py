"""A nest on simulated caches: which accesses miss which level, counted without running the kernel.

`accesses` lists what a nest touches, in order, as a tree of loops; `lru` is the simulated hierarchy, `machine_code`
makes both one function; `simulation` runs it whole or in part, `view` is what comes out; `film` takes pictures of the
caches on the way.
"""
