"""A tuning run: the session, its loop and rounds, the task scheduler, and what is measured."""
