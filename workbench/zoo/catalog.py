"""Which networks there are, under which names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from workbench.arguments import shown, whole
from workbench.errors import ModelError
from workbench.registry import Declarations
from workbench.zoo import classifiers, graphs, images, residual, sequences, small
from workbench.zoo.builder import BATCH, Builder
from workbench.zoo.sequences import Stack

Build: TypeAlias = Callable[[Builder, Sequence[int], int], None]


@dataclass(frozen=True, slots=True)
class Network:
    """A network of the zoo.

    Attributes
    ----------
    name : str
    build : callable
        ``build(builder, shape, classes)`` writes it.
    shape : tuple of int
        Of the input without the batch; of images, channels first.
    classes : int
        How many it tells apart unless somebody says otherwise: classes, words, channels of a result.
    aliases : tuple of str
        Other names. Case, hyphens, underscores and dots make no difference.
    sizes : mapping
        Open dimension -> its length unless somebody says otherwise.
    """

    name: str
    build: Build
    shape: tuple[int, ...] = (3, 224, 224)
    classes: int = 1000
    aliases: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=lambda: {BATCH: 1})

    def resized(self, size: int | Sequence[int], channels_last: bool) -> tuple[int, ...]:
        """Shape of the input, channels first, for a length of its sides, or for another shape."""
        if not isinstance(size, int):
            shape = tuple(whole("size", n) for n in size)
            shape = (shape[-1], *shape[:-1]) if channels_last and len(shape) > 2 else shape
            if len(shape) == len(self.shape):
                return shape
        elif len(self.shape) > 2 or self.sequence:
            side = whole("size", size)
            return (*self.shape[:-2], side, side) if len(self.shape) > 2 else (side,)
        text = f"The input of {self.name!r} has the shape {self.shape}, which {shown(size)} does not fit."
        raise ModelError("zoo.size", text, (self.name,), "leave size out, or give a shape of as many dimensions")

    @property
    def sequence(self) -> bool:
        """Whether the input is a sequence of words."""
        return len(self.shape) == 1 and self.name != "dcgan"

    @property
    def about(self) -> str:
        """What it is, in one sentence."""
        function = self.build.func if isinstance(self.build, partial) else self.build
        return (function.__doc__ or "").strip().splitlines()[0]


NETWORKS: Declarations[Network] = Declarations("network of the zoo", "networks", "zoo.name", ModelError)

_V3 = {True: ("large", ("mobilenet_v3",)), False: ("small", ())}
_BERT = {"tiny": (2, 128, 2), "mini": (4, 256, 4), "small": (4, 512, 8), "base": (12, 768, 12)}


def _networks() -> Iterator[Network]:
    for d in residual.UNITS:
        yield Network(f"resnet-{d}", partial(residual.resnet_v2, depth=d), aliases=(f"resnet{d}_v2",))
        yield Network(f"resnet-{d}-v1", partial(residual.resnet_v1, depth=d))
    for d in (18, 34):
        yield Network(f"resnet3d-{d}", partial(residual.resnet_v2, depth=d), (3, 16, 112, 112))
    yield Network("mobilenet", small.mobilenet_v1, aliases=("mobilenet_v1",))
    yield Network("mobilenet-v2", small.mobilenet_v2)
    for large, (name, aliases) in _V3.items():
        yield Network(f"mobilenet-v3-{name}", partial(small.mobilenet_v3, large=large), aliases=aliases)
    for v in small.FIRES:
        aliases = (f"squeezenet{v}", *(["squeezenet"] if v == "1.1" else []))
        yield Network(f"squeezenet_v{v}", partial(small.squeezenet, version=v), aliases=aliases)
    yield Network("inception_v3", classifiers.inception_v3, (3, 299, 299))
    for d in classifiers.VGG:
        yield Network(f"vgg-{d}", partial(classifiers.vgg, depth=d))
    for d in classifiers.DENSENET:
        yield Network(f"densenet-{d}", partial(classifiers.densenet, depth=d))
    yield Network("mlp", classifiers.mlp, (1, 28, 28), 10)
    yield Network("dcgan", images.dcgan, (100,), 3)
    yield Network("unet", images.unet, (3, 256, 256), 2)
    yield Network("yolov3-tiny", images.yolo_tiny, (3, 416, 416), 80)
    yield Network("lstm", sequences.lstm, (35,), 10000)
    for name, (layers, width, heads) in _BERT.items():
        stack = Stack(layers, width, heads, 30522, 512)
        yield Network(f"bert-{name}", partial(sequences.bert, sizes=stack), (128,), 0)
    nano = Stack(6, 384, 6, 65, 256, bias=False)
    yield Network("gpt-nano", partial(sequences.gpt, sizes=nano), (256,), 0)
    yield Network("gpt2", partial(sequences.gpt, sizes=Stack(12, 768, 12, 50257, 1024)), (128,), 0)
    for name, build in (("gcn", graphs.gcn), ("graphsage", graphs.graphsage)):
        yield Network(name, build, (2708, 1433), 7, sizes={graphs.EDGES: 10556})


for _network in _networks():
    NETWORKS.add(_network)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


_NAMES = {_plain(n): network for network in NETWORKS for n in (network.name, *network.aliases)}


def find(name: str) -> Network:
    """Return the network of a name.

    Raises
    ------
    ModelError
        "zoo.name", with the nearest names.
    """
    if known(name):
        return _NAMES[_plain(name)]
    try:
        return NETWORKS[name]
    except ModelError as error:
        there = f"there are {', '.join(NETWORKS.names)}"
        close = f"{error.hint} " if error.hint.startswith("did you") else ""
        raise ModelError(error.code, error.message, error.where, close + there) from None


def known(name: object) -> bool:
    """Whether the zoo has a network of that name."""
    return isinstance(name, str) and _plain(name) in _NAMES
