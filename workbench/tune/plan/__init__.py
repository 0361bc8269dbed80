"""What a run is carried out with, made before it starts.

`run_plan` is the run as one value, `tune_context` makes spaces, searches and schedules, `measurer` builds and times
candidates, `network_timer` times the whole network, `task_selection` says which tasks are meant. Imports `tune.state`.
"""
