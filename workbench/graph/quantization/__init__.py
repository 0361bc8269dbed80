"""Quantising a network: which nodes compute with bytes, ranges of their tensors, and the network that says so.

Start with `plan` (decisions and reasons), then `ranges` (calibration), then `insertion` (QuantizeLinear and
DequantizeLinear around the nodes). `workbench.network.quantization` runs the samples.
"""
