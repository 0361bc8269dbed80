"""Steps of a schedule that sketch rules, templates and offered steps have in common.

`block_queries` asks what a block is and which loops drive it. `register_tiles` has sizes of tiles, limits on them and
longer axes; `placement` brings operands and stages to the loops of a tile; `winograd_steps` computes a convolution
between transforms.
A sketch rule (`workbench.space.sketch`) says when a step applies and why it pays; a template
(`workbench.space.template`) declares knobs and says which steps take them; `workbench.advice` offers steps by the
estimate. A step changes the schedule in place and raises `ScheduleError` where it is not legal.
"""
