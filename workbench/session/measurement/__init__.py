"""Measuring for a session: the queue, contests of two variants, speeds above the peak, the machine's load.

Changes the session's state only in the session's thread. Imports `state` and `core`. Start at `measurements`.
"""
