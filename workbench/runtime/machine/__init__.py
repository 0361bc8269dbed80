"""What this machine can do and how busy it is: peaks, roofs, processor speed, other programs."""
