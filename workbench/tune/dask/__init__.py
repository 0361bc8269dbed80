"""Measuring on many machines, with a cluster of `dask.distributed`. Start with `runner`."""
