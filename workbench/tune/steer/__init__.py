"""Steering a run: declared commands, the queue that carries them out, and the control file of other processes."""
