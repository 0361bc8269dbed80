"""A tuning run.

Start with `start` (the function `tune`), `tuning_session` (its handle), `loop` and `rounds`; `session_report` says
where a run stands. Imports all other rooms of `tune`.
"""
