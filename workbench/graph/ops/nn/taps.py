"""What the windows of a convolution see, side by side: its sum over taps becomes one over longer rows."""

from __future__ import annotations

import numpy as np

from workbench import te
from workbench.graph.evaluation import STORED
from workbench.graph.graph import Array
from workbench.graph.node_steps import OWN
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.ops.lowering import Widened, Window, compute, np_windows, where_all, window


@operator("Taps", "opaque", domain=OWN)
class Taps(OpDef):
    """Windows of an image ``[N, H, W * channels]`` as ``[N, rows, columns, kernel rows, width]``: each row of a window
    with all its channels, and up to `width` the number `fill`, as around the image (0 by default).
    """

    def channels(self, c: Call) -> int:
        """Channels of the image."""
        return c.get_int("channels", 1)

    def win(self, c: Call) -> Window:
        """Geometry of the windows."""
        _, h, row = c.shape(0)
        kernel = c.get_ints("kernel_shape") or (1, 1)
        return window(c, (h, row // self.channels(c)), kernel)

    def shape(self, c: Call) -> tuple[int, ...]:
        win = self.win(c)
        return (c.shape(0)[0], *win.out, win.kernel[0], c.get_int("width", win.kernel[1] * self.channels(c)))

    def reference(self, c: Call, x: Array) -> Array:
        win, ch, shape = self.win(c), self.channels(c), self.shape(c)
        image = np.moveaxis(x.reshape(*x.shape[:2], -1, ch), -1, 1)
        taps = np.moveaxis(np_windows(image, win, float(c.get_int("fill", 0))), 1, -1)  # [N, rows, columns, *kernel, C]
        out = np.full(shape, c.get_int("fill", 0), x.dtype)
        out[..., : win.kernel[1] * ch] = taps.reshape(*shape[:-1], -1)
        return out

    def lower(self, c: Call, x: te.Tensor) -> te.Tensor:
        win, ch, shape = self.win(c), self.channels(c), self.shape(c)
        (_, h, row), used = c.shape(0), win.kernel[1] * ch
        source = x.source if isinstance(x, Widened) and x.source is not None else x
        fill = te.const(c.get_int("fill", 0), source.dtype)
        stored = c.get_str(STORED, source.dtype)  # rounded as it is written: a stage for it would be one more copy

        def body(n: te.Axis, i: te.Axis, j: te.Axis, k: te.Axis, q: te.Axis) -> te.Value:
            y, at = win.position(0, i, k) - win.begin[0], win.position(1, j, 0) * ch + q - win.begin[1] * ch
            inside = [y >= 0, y < h] if win.begin[0] or win.reach(0) > h else []
            inside += [at >= 0, at < row] if win.begin[1] or win.reach(1) * ch > row else []
            inside += [q < used] if used < shape[-1] else []
            return te.cast(where_all(inside, source[n, y, at], fill), stored)

        return compute(shape, body, c.name("taps"), ("n", "h", "w", "k", "c"))
