"""The tuning log: what a run writes, and everything that reads it.

Imports `runtime` and below. `lines` and `record` are the format (declared with `columns`), `writer` the one writer,
`reader` the reader, `frame` the table, `ledger` decides who is the best, `database` looks records up, `replay` makes
schedules of them. Nothing here knows how a record came about.
"""
