"""A tuning run.

Start with `start` (the function `tune`), `session` (its handle), `loop` and `rounds`. `task_scheduler` says which task
is next, `task_state` what has happened to one, `run_state` what follows from the lines of the log, `journal` writes
them.
"""
