"""The meaning of a nest: run one element at a time. The oracle that all transformations are checked with."""
