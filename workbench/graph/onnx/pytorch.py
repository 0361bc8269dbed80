"""Import of PyTorch modules, through the ONNX exporters that PyTorch has."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from workbench.arguments import ArgumentTypeError, is_a, whole
from workbench.errors import ModelError, UsageError
from workbench.graph.graph import Graph
from workbench.graph.onnx.model_proto_file import save_onnx
from workbench.graph.onnx.reader import load_onnx
from workbench.graph.open_sizes import LENGTHS

if TYPE_CHECKING:
    import onnx

#: A dimension's name may be a ``torch.export.Dim``, which brings its lengths along.
Dynamic: TypeAlias = "Mapping[str, Mapping[int, Any] | Sequence[int]]"
Exporter: TypeAlias = Literal["dynamo", "torchscript"]

#: Opset that is asked for where the caller does not choose one: the newest that each exporter writes by itself.
_OPSET = {"dynamo": 18, "torchscript": 17}


def load_torch(
    module: Any,
    example_inputs: Any,
    dynamic: Dynamic | None = None,
    *,
    lengths: Mapping[str, Iterable[int]] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    exporter: Exporter | None = None,
    opset: int | None = None,
    save: str | os.PathLike[str] | None = None,
) -> Graph:
    """Read a PyTorch module as a network.

    Parameters
    ----------
    module : torch.nn.Module
        Exported in evaluation mode, with the weights that it has now; its mode is put back afterwards.
    example_inputs : tensor, sequence or mapping
        What `forward` takes: one tensor, positional arguments, or arguments by name. Inputs of the network have the
        names of `forward`'s parameters.
    dynamic : mapping, optional
        Dimensions that stay open: ``{"x": {0: "batch"}}``, or ``{"x": [0, 2]}``. A name stands for the same size
        everywhere; ``torch.export.Dim("n", max=512)`` is a name with its lengths. Other sizes can be chosen with
        `lengths` or `shapes`, with ``compile(graph, dynamic=...)``, or when the file that `save` wrote is loaded.
    lengths : mapping, optional
        Lengths that open dimensions can have, by name, as `dynamic` of `load_onnx`: ``{"batch": range(1, 9)}``. Those
        that are not named have the examples' size.
    shapes : mapping, optional
        Shapes of inputs with open dimensions; those of the examples by default, or what `lengths` say.
    exporter : {"dynamo", "torchscript"}, optional
        By default "dynamo" where the package onnxscript is installed, and "torchscript" elsewhere.
    opset : int, optional
        Version of ONNX's operators to export to: 18 with "dynamo", 17 with "torchscript" by default.
    save : path, optional
        Keep the ONNX model in this file, for instance for ``workbench tune``.

    Returns
    -------
    Graph
        Typed, not optimised, as from `load_onnx`.

    Raises
    ------
    UsageError
        "usage.torch" (torch or onnxscript is missing), "usage.type", "usage.dynamic".
    ModelError
        "model.torch_export" where the exporter gives up, "model.unwritable", and everything that `load_onnx` raises.

    Examples
    --------
    >>> graph = wb.load_torch(net, torch.randn(2, 3, 224, 224), {"x": {0: "batch"}})  # doctest: +SKIP
    >>> words = torch.export.Dim("n", max=512)  # doctest: +SKIP
    >>> net = wb.compile(wb.load_torch(bert, torch.ones(1, 9, dtype=int), {"ids": {1: words}}))  # doctest: +SKIP
    """
    torch = _torch()
    is_a("module", module, torch.nn.Module, "give an instance of torch.nn.Module")
    arguments = _bound(module, example_inputs)
    tensors = {name: a for name, a in arguments.items() if isinstance(a, torch.Tensor)}
    if not tensors:
        raise ArgumentTypeError("usage.type", "None of the example inputs is a tensor", (), "give torch.randn(...)")
    axes, bounds = _axes(dynamic, tensors)
    lengths = bounds | dict(is_a("lengths", lengths or {}, Mapping, 'give lengths by name: {"n": range(1, 513)}'))
    proto = _exported(module, arguments, axes, _exporter(exporter), opset)
    if save is not None:
        save_onnx(proto, save)
    declared = {v.name for v in proto.graph.input}
    own = {name: tuple(t.shape) for name, t in tensors.items() if name in axes and name in declared}
    if not lengths:
        return load_onnx(proto, {**own, **(shapes or {})})
    said = {label for name in shapes or {} for label in axes.get(name, {}).values()}
    sizes = {
        label: (int(tensors[name].shape[d]),) for name in own for d, label in axes[name].items() if label not in said
    }
    return load_onnx(proto, shapes, {**sizes, **lengths})


def _exported(
    module: Any, arguments: Mapping[str, Any], axes: Mapping[str, Mapping[int, str]], exporter: str, opset: int | None
) -> onnx.ModelProto:
    """Run an exporter of PyTorch on a module in evaluation mode."""
    if exporter == "dynamo":
        _refuse_units(axes, arguments)
    opset = _OPSET[exporter] if opset is None else whole("opset", opset, least=7, code="usage.opset")
    export = _by_dynamo if exporter == "dynamo" else _by_torchscript
    with _evaluating(module), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the exporters' notes to themselves
        warnings.simplefilter("ignore", FutureWarning)
        try:
            return export(module, arguments, axes, opset)
        except Exception as e:
            raise _failed(exporter, e) from e


def _torch() -> Any:
    if find_spec("torch") is None:
        raise UsageError("usage.torch", "The package torch is not installed", (), "pip install torch onnxscript")
    return importlib.import_module("torch")


def _exporter(wanted: str | None) -> str:
    there = find_spec("onnxscript") is not None
    if wanted is None:
        return "dynamo" if there else "torchscript"
    if wanted not in _OPSET:
        text = f"There is no exporter {wanted!r}"
        raise UsageError("usage.torch", text, (str(wanted),), "choose 'dynamo' or 'torchscript'")
    if wanted == "dynamo" and not there:
        text = "The exporter 'dynamo' needs the package onnxscript, which is not installed"
        raise UsageError("usage.torch", text, (wanted,), "pip install onnxscript")
    return wanted


def _bound(module: Any, given: Any) -> dict[str, Any]:
    """Example inputs by the names of the parameters that take them."""
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    if isinstance(given, Mapping):
        kwargs = dict(given)
    else:
        args = tuple(given) if isinstance(given, list | tuple) else (given,)
    try:
        bound = inspect.signature(module.forward).bind(*args, **kwargs)
    except (TypeError, ValueError) as e:
        text = f"The example inputs do not fit forward(): {e}"
        raise ArgumentTypeError("usage.type", text, (), "give what you would call the module with") from None
    found: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            found |= {f"{name}_{k}": v for k, v in enumerate(value)}
        elif kind is inspect.Parameter.VAR_KEYWORD:
            found |= value
        else:
            found[name] = value
    return found


def _axes(dynamic: Any, tensors: Mapping[str, Any]) -> tuple[dict[str, dict[int, str]], dict[str, range]]:
    """Open dimensions: input -> axis from the front -> name; and the lengths that names bring along."""
    hint = f"write {{{next(iter(tensors))!r}: {{0: 'batch'}}}}"
    found: dict[str, dict[int, str]] = {}
    lengths: dict[str, range] = {}
    for name, dims in is_a("dynamic", dynamic or {}, Mapping, hint).items():
        if name not in tensors:
            known = f"they are: {', '.join(tensors)}"
            raise UsageError("usage.dynamic", f"There is no input {name!r} among the examples", (str(name),), known)
        rank = tensors[name].dim()
        named = (
            dims
            if isinstance(dims, Mapping)
            else {d: f"{name}_{d}" for d in is_a(f"dynamic[{name!r}]", dims, Sequence, hint)}
        )
        found[name] = {}
        for d, label in named.items():
            label, bounds = _label(label)
            if bounds:
                lengths[label] = bounds
            if not isinstance(d, int) or not -rank <= d < rank or not isinstance(label, str):
                text = f"Dimension {d!r} of {name!r} cannot be called {label!r}: the example has {rank} dimensions"
                raise UsageError("usage.dynamic", text, (name,), hint)
            found[name][d % rank] = label
    return found, lengths


def _label(given: Any) -> tuple[Any, range | None]:
    """Name of an open dimension, and the lengths of a ``torch.export.Dim`` that has an end."""
    name, least, most = (getattr(given, x, None) for x in ("__name__", "min", "max"))
    if not isinstance(name, str) or not isinstance(least, int) or hasattr(given, "root"):  # no Dim, or a multiple
        return given, None
    return name, range(max(1, least), most + 1) if isinstance(most, int) and most < LENGTHS else None


def _refuse_units(axes: Mapping[str, Mapping[int, str]], tensors: Mapping[str, Any]) -> None:
    """The exporter takes an example of size 1 for a size that is always 1."""
    for name, dims in axes.items():
        for d in dims:
            if tensors[name].shape[d] < 2:
                text = (
                    f"Dimension {d} of {name!r} is to stay open, but has size {tensors[name].shape[d]} in the example"
                )
                raise UsageError("usage.dynamic", text, (name, str(d)), "give an example of size 2 or more")


@contextlib.contextmanager
def _evaluating(module: Any) -> Iterator[None]:
    modes = {m: m.training for m in module.modules()}
    module.eval()
    try:
        yield
    finally:
        for m, training in modes.items():
            m.training = training


def _by_dynamo(
    module: Any, arguments: Mapping[str, Any], axes: Mapping[str, Mapping[int, str]], opset: int
) -> onnx.ModelProto:
    torch = _torch()
    free = torch.export.Dim.DYNAMIC
    dims = {n: dict.fromkeys(axes[n], free) if n in axes else None for n in arguments} if axes else None
    args, kwargs = _as_called(module, arguments)
    program = torch.onnx.export(
        module, args, kwargs=kwargs, dynamo=True, opset_version=opset, dynamic_shapes=dims, verbose=False
    )
    proto: onnx.ModelProto = program.model_proto
    for v in proto.graph.input:
        for d, label in axes.get(v.name, {}).items():
            v.type.tensor_type.shape.dim[d].dim_param = label
    return proto


def _by_torchscript(
    module: Any, arguments: Mapping[str, Any], axes: Mapping[str, Mapping[int, str]], opset: int
) -> onnx.ModelProto:
    import onnx

    torch = _torch()
    names = [n for n, a in arguments.items() if isinstance(a, torch.Tensor)]

    class OnlyTensors(torch.nn.Module):  # type: ignore[misc, name-defined]
        """The module as a function of its tensors: this exporter makes inputs of other arguments too."""

        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, *tensors: Any) -> Any:
            args, kwargs = _as_called(module, {**arguments, **dict(zip(names, tensors, strict=True))})
            return self.module(*args, **kwargs)

    file = io.BytesIO()
    torch.onnx.export(
        OnlyTensors().eval(),
        tuple(arguments[n] for n in names),
        file,
        dynamo=False,
        opset_version=opset,
        input_names=names,
        dynamic_axes={n: dict(a) for n, a in axes.items()},
    )
    proto: onnx.ModelProto = onnx.ModelProto.FromString(file.getvalue())
    return proto


def _as_called(module: Any, arguments: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional arguments, and those that can only be given by name."""
    parameters = inspect.signature(module.forward).parameters
    by_name = {n for n in arguments if n in parameters and parameters[n].kind is inspect.Parameter.KEYWORD_ONLY}
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        by_name |= {n for n in arguments if n not in parameters}
    args = tuple(a for n, a in arguments.items() if n not in by_name)
    return args, {n: arguments[n] for n in arguments if n in by_name}


def _failed(exporter: str, e: Exception) -> ModelError:
    lines = [line.strip() for line in str(e).splitlines() if line.strip()]
    other = "torchscript" if exporter == "dynamo" else "dynamo"
    text = f"PyTorch's exporter {exporter!r} cannot export the module: {type(e).__name__}: {(lines or [''])[0][:300]}."
    return ModelError("model.torch_export", text, (exporter,), f"try exporter={other!r}, or another opset")
