"""Worker processes that compile and run candidates: messages, batches, and what happens when a process dies."""
