"""How far rounding may carry each result, whatever the order in which a kernel computes it."""
