"""Nests as text: the printer, the parser that is its inverse, and the differences between two nests.

Start with `printer`; `lexer`, `expr_parser` and `parser` read what it writes: ``parse(to_text(f)) == f``.
"""
