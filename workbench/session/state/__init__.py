"""What a session knows: variants, results, estimates, trials, the tuning run; `session_state` holds all of it.

Only the session's thread changes it. Imports `session.core`. Start at `session_state`.
"""
