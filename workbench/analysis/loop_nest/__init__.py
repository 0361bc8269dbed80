"""What is asked about a loop nest: its rows, working sets, accesses, estimate, code, and what differs between two.

Imports `ir`, `schedule`, `codegen` and the machine model; knows no session. Start at `nest_rows`.
"""
