"""Steering a run: declared commands, and the ways by which they arrive.

Start with `commands`; `command_dispatcher` checks, writes down and carries out, `control_file` is how other processes
send them. Imports `tune.plan` and `tune.state`.
"""
