"""The session itself: commands in, patches out, one thread that changes its state.

`registry` declares commands, slices, questions and panels; `state` is what the session's thread changes; `slices`
computes the snapshot from it, `publisher` sends the difference, `questions` answers; `threads` has the lanes for what
takes long. Imports the rooms of the session for what they keep; panels import this room. Start at `session`.
"""
