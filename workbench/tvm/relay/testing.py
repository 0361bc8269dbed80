"""``relay.testing.resnet.get_workload(...)`` and its kin: networks of `workbench.zoo` with the names that TVM has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench import zoo
from workbench.graph.graph import Array
from workbench.tvm.relay.module import Module


class Workload:
    """A family of networks.

    Parameters
    ----------
    name : callable
        The name in the zoo, of what `get_workload` is given.
    """

    def __init__(self, name: Callable[..., str]) -> None:
        self._name = name

    def get_workload(
        self, batch_size: int = 1, num_classes: int | None = None, image_shape: Sequence[int] | None = None,
        dtype: str = "float32", layout: str = "NCHW", seed: int = 0, **which: Any,
    ) -> tuple[Module, dict[str, Array]]:  # fmt: skip
        """Return the module and its weights; `image_shape` has its channels where `layout` says."""
        name = self._name(**which)
        mod = Module(zoo.get_network(name, batch_size, layout, dtype, num_classes, seed, size=image_shape))
        return mod, mod.params


def _resnet(num_layers: int = 18, **_: Any) -> str:
    return f"resnet-{num_layers}"


def _resnet_3d(num_layers: int = 18, **_: Any) -> str:
    return f"resnet3d-{num_layers}"


def _vgg(num_layers: int = 11, **_: Any) -> str:
    return f"vgg-{num_layers}"


def _densenet(densenet_size: int = 121, **_: Any) -> str:
    return f"densenet-{densenet_size}"


def _squeezenet(version: str = "1.0", **_: Any) -> str:
    return f"squeezenet_v{version}"


resnet, resnet_3d, vgg, densenet = map(Workload, (_resnet, _resnet_3d, _vgg, _densenet))
squeezenet = Workload(_squeezenet)
mobilenet, inception_v3 = Workload(lambda **_: "mobilenet"), Workload(lambda **_: "inception_v3")
mlp, dcgan, lstm = (Workload(lambda name=name, **_: name) for name in ("mlp", "dcgan", "lstm"))
