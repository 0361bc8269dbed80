"""The tuning log: its lines, the writer, the reader, frames, and the ledger that says who is the best."""
