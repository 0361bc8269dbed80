"""How to measure and what came out: plain values that cross process borders, and what is said of them.

`options` says how, `measurement` and `contest` are what came out, `reproduction` sets a time beside a recorded one,
`comparison_words` has the words for all comparisons. Nothing here runs a kernel.
"""
