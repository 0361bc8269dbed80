"""Networks that were compiled here: linked code, the memory of a run, profile, timeline.

Start with `executable`. `run_context` is what one run needs for itself; `python_steps` are steps that are not compiled;
`alternating_runs` times several plans of a network.
"""
