"""The analytic model of a machine: what a nest makes it compute and move, and how long that takes.

Imports `log` and below. In order: `nest_summary` (once per nest), `batched_values` (rows of numbers), `footprint`,
`cache_traffic` and `block_counts`, `cycle_estimate`, `features` (columns for cost models). `machine_parameters` are a
target's numbers.
"""
