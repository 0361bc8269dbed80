"""The tuning log: what a run writes, and everything that reads it.

Imports `runtime` and below. `lines` and `record` are the format (declared with `columns`), `writer` the one writer,
`reader` the reader, `log_frame` the table, `ledger` decides who is the best, `database` looks records up, `replay`
makes schedules of them. Nothing here knows how a record came about. Logs of other tuners are opened by `logs`.

Other rooms import lines, records, reader, writer and ledger from here.
"""

from workbench.log.database import Database
from workbench.log.ledger import Best, Ledger, Measured, TaskLedger
from workbench.log.lines import Command, Comparison, NetworkTime, Round
from workbench.log.reader import Header, Log, load_log
from workbench.log.record import Record
from workbench.log.writer import LogWriter

__all__ = [
    "Best",
    "Command",
    "Comparison",
    "Database",
    "Header",
    "Ledger",
    "Log",
    "LogWriter",
    "Measured",
    "NetworkTime",
    "Record",
    "Round",
    "TaskLedger",
    "load_log",
]
