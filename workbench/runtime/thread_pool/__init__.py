"""Parallel regions: a thread pool in machine code, and which cores its threads run on. Start with `pool`;
`native_pool` is its machine code.
"""
