"""Operators of neural networks: convolutions, pooling, normalisation, activations, recurrences, resizing."""
