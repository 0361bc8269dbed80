"""What a run knows: everything that follows from the lines of its log.

`run_state` takes lines in, `task_state` says what has happened to a task, `task_scheduler` which task is next,
`log_recorder` writes lines and tells events. Imports `log` and below, and the options; knows nothing of spaces,
searches or threads.
"""
