"""The variants of a task as a table, as a file, and carried over to another computation. Start at `transfer`."""
