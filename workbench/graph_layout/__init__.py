"""Where the nodes of a graph stand in its drawing, whatever they are.

`repeated_blocks` finds equal blocks, `block_folding` says which nodes stand in which frame, `drawing` lays out each
frame with `layered_layout` (`crossing_reduction`, `horizontal_coordinates`). Start at `drawing`.
"""
