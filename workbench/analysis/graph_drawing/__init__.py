"""Drawings of graphs: networks, stages and variants, with coordinates that are computed here.

`repeated_blocks` finds equal blocks, `block_folding` says which nodes stand in which frame, `drawing` lays out each
frame with `layered_layout` (`crossing_reduction`, `horizontal_coordinates`). `network_drawing` makes drawings of models
and tensor programs, `network_svg` writes them as SVG (`svg_canvas`), `tree_layout` places the nodes of a tree. Start at
`network_drawing`.
"""
