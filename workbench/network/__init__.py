"""A graph and what a log knows of its tasks become an executable.

Imports `search`, `space` and below. Start with `compile`; `kernel_builder` compiles many kernels, `code_cache` keeps
them on disk, `adapted_schedule` finds schedules for tasks without a record, `dynamic_shapes` handles open dimensions,
`seeded_model` gives weights to models that come without.
"""
