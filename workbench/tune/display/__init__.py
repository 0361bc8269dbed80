"""What a session shows of itself: the task table in a terminal and in a notebook, and progress."""
