"""Loop nests as values: expressions, blocks, loops, functions, and what can be asked of them."""
