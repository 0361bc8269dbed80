"""Checking and timing kernels in a runner process.

Start with `candidate_run`: a candidate is checked against `expected_results` on `random_inputs`, then timed by
`adaptive_repeats`. `contest_run` times several in alternating blocks, in the order of `contest_rounds`. `jobs` are what
a worker is asked to do and what it answers.
"""
