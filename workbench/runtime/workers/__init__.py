"""Worker processes that build and run candidates.

Start with `local_runner`. `process` starts and watches one worker, `worker_main` is what runs in it, `pipe` carries
messages between the two; `batch` and `dispatch` bring a batch of candidates through builders and runners, also when a
process dies. `network_worker` times whole networks.
"""
