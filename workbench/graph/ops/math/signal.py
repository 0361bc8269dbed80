"""Operators on signals."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.graph.graph import Array
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call


@operator("STFT", "opaque")
class STFT(OpDef):
    """Fourier transforms of the frames of a signal; of one without imaginary part only half of each, unless asked."""

    parameters = (1, 3)

    def _frames(self, c: Call) -> tuple[int, int, int]:
        """Step, length and number of frames."""
        step = int(c.constant(1, "frame_step").reshape(-1)[0])
        size = int(c.constant(3, "frame_length").reshape(-1)[0]) if c.has(3) else c.shape(2)[0] if c.has(2) else 0
        if step < 1 or not 1 <= size <= c.shape(0)[1] or (c.has(2) and c.shape(2) != (size,)):
            text = f"cuts a signal of shape {list(c.shape(0))} into frames of {size}, {step} apart"
            raise c.error("shape_mismatch", text)
        return step, size, (c.shape(0)[1] - size) // step + 1

    def _half(self, c: Call) -> bool:
        return bool(c.get_int("onesided", 1)) and c.shape(0)[2:] in ((), (1,))

    def shape(self, c: Call) -> tuple[int, ...]:
        if len(c.shape(0)) not in (2, 3):
            raise c.error("shape_mismatch", f"needs a batch of signals, but has {list(c.shape(0))}")
        _, size, count = self._frames(c)
        return (c.shape(0)[0], count, size // 2 + 1 if self._half(c) else size, 2)

    def reference(self, c: Call, x: Array, _step: Any, window: Array | None = None, *_: Any) -> Array:
        step, size, count = self._frames(c)
        signal = x.reshape(*x.shape[:2], -1)
        whole = signal[..., 0] + 1j * signal[..., 1] if signal.shape[2] == 2 else signal[..., 0]
        frames = whole[:, np.arange(count)[:, None] * step + np.arange(size)]
        frames = frames if window is None else frames * window
        found = np.fft.rfft(frames) if self._half(c) else np.fft.fft(frames)
        return np.stack([found.real, found.imag], axis=-1).astype(x.dtype)
