"""C99 for a concrete nest: names, expressions, loops, the whole text, and the system's compiler."""
