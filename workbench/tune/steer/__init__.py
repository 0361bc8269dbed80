"""Steering a run: declared commands, and the ways by which they arrive. Start with `commands`."""
