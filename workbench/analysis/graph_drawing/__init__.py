"""Drawings of graphs: networks, stages and variants, with coordinates that are computed here.

`network_drawing` makes drawings of models and tensor programs (`workbench.graph_layout` says where nodes stand),
`network_svg` writes them as SVG (`svg_canvas`), `tree_layout` places the nodes of a tree. Start at `network_drawing`.
"""
