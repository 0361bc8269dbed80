"""A compiled network: the plan of its calls, the memory of a run, outputs, benchmark, profile, trace."""
