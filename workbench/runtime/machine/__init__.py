"""What this machine can do, and how busy it is.

`peaks` and `roofs` are measured limits; `interference`, `load`, `processor_speed` and `quiet` say whether a time
counts.
"""
