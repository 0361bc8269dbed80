"""What layouts cost, in nanoseconds of one core of a declared, simple machine: bytes, operations and kernels.

The numbers only have to rank layouts: what a transposition moves against what an operator loses in the wrong layout.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from workbench.graph.graph import TensorType
from workbench.graph.opdef import opdef
from workbench.graph.operator_call import Call


@dataclass(frozen=True, slots=True)
class Prices:
    """Declared speeds.

    Attributes
    ----------
    bytes_per_ns, flops_per_ns : float
        What a kernel reads and writes, and computes.
    kernel_ns : float
        What one more kernel costs.
    fused : float
        Part of a transposition's traffic that stays where a neighbouring kernel can take it in.
    convolution_first, window_first, other_first : float
        How much slower convolutions, windows and other operators of images are in channels-first layout, where
        channels are no vectors. (Default schedules on one core: 3x3 64 to 64 @28x28 947 against 396 µs, 1x1 140
        against 65; depthwise convolutions are equally fast in both.)
    pixels_first : float
        The same for 1x1 convolutions whose pixels are one row (default schedules on two cores, 100 to 255 @20x20 and
        128 to 256 @14x14, batch 4: 50 and 170 µs; channels last 52 and 113, and 20 and 100 for the transpositions).
    first_ns : float
        What a convolution in channels-first layout costs besides: many schedules (Winograd's, tensor instructions) are
        only known for the other one, and it shares no task with those.
    inside : float
        What a transposition inside of what would be one kernel costs, relative to one beside it.
    """

    bytes_per_ns: float = 10.0
    flops_per_ns: float = 50.0
    kernel_ns: float = 500.0
    fused: float = 0.3
    convolution_first: float = 2.0
    pixels_first: float = 1.2
    window_first: float = 2.0
    other_first: float = 1.01
    first_ns: float = 3000.0
    inside: float = 1.01

    def move(self, t: TensorType, situation: str) -> float:
        """Transposing a tensor: "alone", "fused" (a kernel beside it can do it) or "inside" (of what else is one)."""
        ns = 2 * t.nbytes / self.bytes_per_ns
        if situation == "fused":
            return ns * self.fused
        return (ns + self.kernel_ns) * (self.inside if situation == "inside" else 1.0)

    def run(self, call: Call, out: TensorType, channels_first: bool = False) -> float:
        """A node, by what it reads, writes and computes."""
        nbytes = out.nbytes + sum(t.nbytes for t in call.types if t is not None)
        op = opdef(call.node)
        weights = op.weights
        if weights is None:
            first = self.window_first if op.window else self.other_first
            return nbytes / self.bytes_per_ns * (first if channels_first else 1.0)
        moved = call.get_str("layout", "NCHW") == "NHWC"
        pixels = call.type(0).size if weights.input_first else out.size
        flops = 2 * pixels * weights.per_output(call.shape(weights.at), moved)
        depthwise = call.get_int("group", 1) > 1 and weights.per_output(call.shape(weights.at), moved) == prod(
            call.shape(weights.at)[:-2] if moved else call.shape(weights.at)[2:]
        )
        ns = max(nbytes / self.bytes_per_ns, flops / self.flops_per_ns)
        if channels_first:
            by_pixel = self.pixels_first if op.by_pixel(call) else self.convolution_first
            ns = ns * (self.other_first if depthwise else by_pixel) + self.first_ns
        return ns


PRICES = Prices()
