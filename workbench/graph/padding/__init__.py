"""Networks for a range of sizes: typed for the largest one, with padding that no result depends on.

`rules` says what each operator needs of the padding of its inputs, `padded_graph` writes the network with what fills
it. Which sizes there are says `workbench.graph.open_sizes`. Imports operators and what stands below them.
"""
