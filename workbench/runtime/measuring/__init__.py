"""Measuring kernels: inputs, check of results, repetitions, contests, and what came out."""
