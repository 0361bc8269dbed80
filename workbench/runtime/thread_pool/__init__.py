"""Parallel regions: the threads, the machine code of their inner loop, and which cores they run on."""
