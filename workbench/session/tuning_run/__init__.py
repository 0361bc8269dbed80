"""A tuning run as the session sees it: news of the run, numbers per task, forms of its commands, data of its charts.

Imports `tune`; what a command means is declared there. Start at `watch`.
"""
