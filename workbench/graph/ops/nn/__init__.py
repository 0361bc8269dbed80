"""Operators of neural networks: convolution, pooling, normalisation, activation, recurrence, resizing."""
