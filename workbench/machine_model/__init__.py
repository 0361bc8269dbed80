"""The analytic model of a machine: quantities of a nest, cache traffic, footprint, estimated time, features."""
