"""Trials of a tuning log as data: the curve of the best so far, rounds of the task scheduler, and where both come from.

`trial_reader` reads a table, a log, a session or lines. Imports `tune`; `analysis.figures` draws what is found here.
"""
