"""What a session shows of itself in a terminal and in a notebook."""
