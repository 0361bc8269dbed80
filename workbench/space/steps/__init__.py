"""Steps of a schedule that sketch rules, templates and offered steps have in common.

`queries` asks what a block is and which loops drive it. `tiling` has sizes of register tiles, limits on them and longer
axes; `placing` brings operands and stages to the loops of a tile; `winograd` computes a convolution between transforms.
A sketch rule (`workbench.space.sketch`) says when a step applies and why it pays; a template
(`workbench.space.template`) declares knobs and says which steps take them; `workbench.advice` offers steps by the
estimate. A step changes the schedule in place and raises `ScheduleError` where it is not legal.
"""
