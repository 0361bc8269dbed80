"""Nests as text: the printer, and the parser that is its inverse.

Start with `printer`; `lexer`, `expr_parser` and `parser` read what it writes: ``parse(to_text(f)) == f``.
`stages` leaves the loops out.
"""
