"""What TVM keeps beside its core."""
