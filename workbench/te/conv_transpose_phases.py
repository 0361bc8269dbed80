"""Transposed convolutions without the zeros in between: each result gathers the taps that reach it.

Along one dimension, input ``i`` and tap ``k`` meet in the result ``i * stride + k``. So the results with one remainder
by the stride (a phase) are a dense convolution of the input with every ``stride``-th tap, and what changes from phase
to phase is only where the taps start.
"""

from __future__ import annotations

from dataclasses import dataclass

from workbench.te.index import Axis


@dataclass(frozen=True, slots=True)
class Phases:
    """Geometry of a transposed convolution along one dimension.

    Attributes
    ----------
    size, kernel, stride : int
    begin : int
        Results that are cut off at the beginning.
    out : int
        Results that are kept.
    dilation : int
        Distance of the taps; beyond 1 only where the stride is 1.
    """

    size: int
    kernel: int
    stride: int
    begin: int
    out: int
    dilation: int = 1

    @property
    def taps(self) -> int:
        """Most taps that reach one result."""
        return -(-self.kernel // self.stride)

    @property
    def ragged(self) -> bool:
        """Whether some phases have a tap less than others."""
        return bool(self.kernel % self.stride)

    @property
    def turned(self) -> bool:
        """Whether the two phases of stride 2 change places, because an odd number of results is cut off."""
        return self.stride == 2 and self.begin % 2 == 1

    @property
    def crop(self) -> int:
        """Results to compute and cut off: of strides beyond 2, shifted remainders are no affine function."""
        return 0 if self.turned else self.begin % self.stride

    @property
    def frame(self) -> int:
        """Results to compute: whole strides, so that the remainders of an axis can be told apart."""
        return -(-(self.out + self.crop) // self.stride) * self.stride

    @property
    def _reach(self) -> int:
        """How far before the last input of a result its first one lies."""
        return (self.taps - 1) * self.dilation

    @property
    def before(self) -> int:
        """Zeros that the first results read before the input."""
        return max(0, self._reach - self.begin // self.stride)

    @property
    def behind(self) -> int:
        """Zeros that the last results read behind the input."""
        last = self.frame // self.stride - 1 + self.begin // self.stride + self.turned
        return max(0, last + 1 - self.size)

    def row(self, x: Axis, r: Axis) -> Axis:
        """Input, counted from the first zero before it, that result `x` of the frame reads with its tap `r`."""
        at = x // self.stride + max(0, self.begin // self.stride - self._reach) + r * self.dilation
        return at + x % self.stride if self.turned else at

    def tap(self, x: Axis, r: Axis) -> Axis:
        """Element of the kernel by which result `x` of the frame multiplies with its tap `r`."""
        phase = 1 - x % self.stride if self.turned else x % self.stride
        return phase + (self.stride * (self.taps - 1) - r * self.stride)
