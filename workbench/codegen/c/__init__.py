"""C99 for a concrete nest.

Start with `module` (the whole text) and `loops` (loops and blocks); `expressions`, `identifiers` and
`support_functions` are what they are made of, `compiler` asks the system's compiler.
"""
