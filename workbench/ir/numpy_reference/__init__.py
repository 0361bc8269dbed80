"""What an unscheduled function computes, with NumPy. Compiled code is checked with it before it is timed."""
