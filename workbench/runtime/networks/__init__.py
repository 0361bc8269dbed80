"""What every compiled network has, whether it was compiled here or loaded from a library.

Start with `execution_plan` (which kernels run on which memory; `plan_check` checks it) and `network` (`run` and
`benchmark`). `outputs` is the memory that results are written to.
"""
