"""A tuning run as a front end shows it: its start, forms of its commands, data of its charts.

What a command means is declared in `tune`. Imports `measurement`, `state` and `core`. Start at `steering_forms`.
"""
