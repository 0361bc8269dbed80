"""AutoTVM's templates that are known: what their tasks compute, and what they do with the knobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.ir import Func
from workbench.logs.replays.autotvm import computations, cpu, cuda, images, winograd
from workbench.logs.replays.autotvm.threads import Knobs
from workbench.logs.replays.result import CannotReplay
from workbench.logs.replays.taking import Taking


@dataclass(frozen=True, slots=True)
class Template:
    """A template: what its tasks compute, and what it does with the knobs."""

    computation: Callable[[Sequence[Any], computations.Sizes], Func]
    schedule: Callable[[Taking, Knobs], None]


def known(name: str) -> Template:
    """Return a template.

    Raises
    ------
    CannotReplay
        Where its schedule is not known here.
    """
    if name not in TEMPLATES:
        raise CannotReplay(f"the schedule of TVM's template {name} is not known here")
    return TEMPLATES[name]


TEMPLATES: Mapping[str, Template] = {
    "dense_nopack.x86": Template(computations.dense, cpu.dense_nopack),
    "dense_pack.x86": Template(computations.dense, cpu.dense_pack),
    "batch_matmul.x86": Template(computations.batch_matmul, cpu.batch_matmul),
    "conv2d_NCHWc.x86": Template(computations.blocked_convolution, cpu.convolution),
    "depthwise_conv2d_NCHWc.x86": Template(computations.blocked_depthwise, cpu.depthwise),
    "conv2d_nchw.cuda": Template(images.convolution, cuda.convolution),
    "depthwise_conv2d_nchw.cuda": Template(images.depthwise, cuda.depthwise),
    "conv2d_transpose_nchw.cuda": Template(images.transposed_2d, cuda.transposed_2d),
    "conv1d_transpose_nchw.cuda": Template(images.transposed_1d, cuda.transposed_1d),
    "conv2d_nchw_winograd.cuda": Template(winograd.winograd, winograd.schedule),
    "dense_large_batch.cuda": Template(computations.dense, cuda.dense_large_batch),
    "dense_small_batch.cuda": Template(computations.dense, cuda.dense_small_batch),
    "dense_large_batch.gpu": Template(computations.dense, cuda.dense_large_batch),
    "dense_small_batch.gpu": Template(computations.dense, cuda.dense_small_batch),
    "batch_matmul.cuda": Template(computations.batch_matmul, cuda.batch_matmul),
}
"""Templates whose schedules are known."""
