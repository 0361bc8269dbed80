"""The analytic model of a machine: what a nest makes it compute and move, and how long that takes.

Imports `log` and below. In order: `nest_summary` (once per nest), `population` (rows of numbers), `footprint`,
`cache_traffic` and `quantities`, `roofline` (estimated time), `features` (columns for cost models). `parameters` are a
target's numbers.
"""
