"""Worker processes that build and run candidates.

Start with `local_runner`. `process` starts and watches one worker, `worker` is what runs in it, `messages` what they
exchange; `batch` and `dispatch` bring a batch of candidates through builders and runners, also when a process dies.
"""
