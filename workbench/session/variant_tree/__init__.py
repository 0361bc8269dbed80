"""The variants of a task: the tree of states, their history, where each came from, and the file that keeps them.

`tree` follows the shared cursor of a schedule; `transfer` takes steps on another computation. Start at `tree`.
"""
