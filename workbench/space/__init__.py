"""Search spaces: schedules with holes, from sketch rules, from templates, or left open by hand.

Imports `machine_model` and below. Start with `space`; `sampling` draws rows, `program_keys` tells equal programs,
`trace_alignment` finds the numbers of one trace in another, `default_schedule` chooses without measurements. Subrooms:
`sketch` (rules), `template` (functions with knobs) and `shared_steps` (what both do to a schedule).
"""
