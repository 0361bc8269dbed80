"""Parts of a network given to other runtimes where these were measured to be faster.

Start with `partition.partition`; `cuts` says where a network may be cut, `candidates` times its pieces and puts
together what is worth a measurement of the whole.
"""
