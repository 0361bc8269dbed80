"""The zoo: networks by name, with seeded weights, and the builder that they are written with.

>>> from workbench import zoo
>>> graph = zoo.get_network("resnet-50", batch_size=4)  # doctest: +SKIP

`catalog` says which there are; `residual`, `small`, `classifiers`, `images`, `sequences` and `graphs` write them.
`load_onnx` knows their names too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.arguments import shown, whole
from workbench.errors import ModelError
from workbench.graph import Graph, load_onnx
from workbench.model_files.model_path import SIZES
from workbench.zoo.builder import BATCH, Builder, Value
from workbench.zoo.catalog import NETWORKS, Network, find, known

if TYPE_CHECKING:
    import onnx

__all__ = ["Builder", "Network", "Value", "get_network", "known", "model", "names"]

#: Layout -> whether channels come last; of volumes, too.
LAYOUTS = {"NCHW": False, "NHWC": True, "NCDHW": False, "NDHWC": True}
DTYPES = ("float32", "float16", "float64")


def names() -> list[str]:
    """Names of all networks."""
    return list(NETWORKS.names)


def get_network(
    name: str, batch_size: int = 1, layout: str = "NCHW", dtype: str = "float32", num_classes: int | None = None,
    seed: int = 0, *, size: int | Sequence[int] | None = None,
) -> Graph:  # fmt: skip
    """Return a network by its name, with weights from a seed.

    Equal arguments give equal weights on every machine, for any batch size and layout.

    Parameters
    ----------
    name : str
        One of `names`, such as ``"resnet-50"`` (TVM's, with normalisation in front) or ``"resnet-50-v1"``.
    batch_size : int
    layout : {"NCHW", "NHWC"}
        Where images have their channels, as inputs and as outputs.
    dtype : {"float32", "float16", "float64"}
        Of numbers with fractions.
    num_classes : int, optional
        Classes (words, channels) that it tells apart; as published when left out.
    seed : int
        Of the weights.
    size : int or sequence of int, optional
        Height and width of images, or the length of sequences, or the shape of the input without the batch; as
        published when left out.

    Returns
    -------
    Graph
        Typed, not optimised.

    Raises
    ------
    ModelError
        "zoo.name", "zoo.layout", "zoo.dtype", "zoo.size", "zoo.batch"; "zoo.too_small" for images of which nothing is
        left.
    UsageError
        "usage.number".
    """
    made = model(name, layout, dtype, num_classes, seed, size=size)
    batch = whole("batch_size", batch_size)
    if batch > 1 and BATCH not in find(name).sizes:
        text = f"The input of {name!r} is one graph; there is no batch of {batch}."
        raise ModelError("zoo.batch", text, (name,), "leave batch_size out")
    dims = {v.name: [d.dim_value or d.dim_param for d in v.type.tensor_type.shape.dim] for v in made.graph.input}
    opened = {n: tuple(batch if d == BATCH else d for d in shape) for n, shape in dims.items() if BATCH in shape}
    return load_onnx(made, opened)


def model(
    name: str, layout: str = "NCHW", dtype: str = "float32", num_classes: int | None = None, seed: int = 0, *,
    size: int | Sequence[int] | None = None,
) -> onnx.ModelProto:  # fmt: skip
    """Return a network as an ONNX model whose batch is open; see `get_network`."""
    found = find(name)
    for code, what, given, there in (("layout", "layout", layout, LAYOUTS), ("dtype", "element type", dtype, DTYPES)):
        if given not in there:
            text = f"The zoo has no networks of the {what} {shown(given)}."
            raise ModelError(f"zoo.{code}", text, (shown(given),), f"one of {', '.join(there)}")
    shape, classes = found.shape, found.classes if num_classes is None else whole("num_classes", num_classes)
    if size is not None:
        shape = found.resized(size, LAYOUTS[layout])
    builder = Builder(found.name, whole("seed", seed, least=0), dtype, LAYOUTS[layout])
    found.build(builder, shape, classes)
    made = builder.model()
    made.metadata_props.add(key=SIZES, value=json.dumps(found.sizes))
    return made
