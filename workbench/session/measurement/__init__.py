"""Measuring for a session: the queue, results by trace, trials made by hand, estimates, and the machine's load.

Imports `runtime` and `tune`; changes the session's state only in the session's thread. Start at `measurements`.
"""
