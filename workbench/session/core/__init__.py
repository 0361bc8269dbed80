"""Messages and threads of a session, free of what the messages are about.

`protocol` has snapshots, patches and errors as data; `encoding` shorter forms for the wire; `publisher` sends patches,
`questions` answers; `threads` has the session's thread and the lanes for what takes long; `cache` keeps what costs
something. Imports no other room of the session. Start at `publisher`.
"""
