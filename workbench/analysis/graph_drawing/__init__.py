"""Drawings of graphs: networks, stages and variants, with coordinates that are computed here.

`repeats` finds equal blocks, `folding` says which nodes stand in which frame, `frames` lays out each frame with
`layered` (`layer_order`, `coordinates`); `networks` makes drawings of models and tensor programs, `tree` places the
nodes of a tree. `panel_svg` writes panels as SVG from the slices of a session. Start at `networks`.
"""
