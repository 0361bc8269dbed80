"""Running machine code: threads, kernels, whole networks, and measuring in worker processes."""
