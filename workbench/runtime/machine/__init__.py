"""What this machine can do, and how busy it is.

`arithmetic_peak` and `measured_roofline` are measured limits, `above_roofline` says why a kernel exceeds them;
`interference`, `system_load`, `processor_speed` and `blas_threads` say whether a time counts.
"""
