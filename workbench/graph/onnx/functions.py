"""Functions of a model and operators that the ONNX standard defines by others: replaced by their bodies on import.

An operator that is declared here (``ops/``) stays as it is, whatever body the standard gives it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.errors import ModelError
from workbench.graph.opdef import known, registry

if TYPE_CHECKING:
    import onnx

#: Bodies may call functions again; no operator of the standard nests deeper.
MAX_DEPTH = 8
#: A call of a function of the model may make so many nodes.
MAX_NODES = 1_000_000
#: Bytes above which a weight is left out of the copy that the expansion works on. Chosen: shapes and axes, which the
#: expansion reads, have fewer.
_HEAVY = 4096


def expand_functions(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without calls of functions, local or the standard's; the same object where there is none."""
    _check_functions(model)
    for _ in range(MAX_DEPTH):
        wanted = [(f.domain, f.name) for f in model.functions]
        wanted += sorted(_defined_by_others(model.graph, {o.domain: o.version for o in model.opset_import}))
        if not wanted:
            break
        light, kept = _without_weights(model)
        _write_defaults(light)
        expanded = _replaced(_with_types(light), wanted)
        if expanded is None:
            break
        for t in expanded.graph.initializer:
            if t.name in kept:
                t.CopyFrom(kept[t.name])
        expanded.graph.ClearField("sparse_initializer")
        expanded.graph.sparse_initializer.extend(model.graph.sparse_initializer)
        model = expanded
    return model


def _check_functions(model: onnx.ModelProto) -> None:
    """Refuse functions that call themselves, and those that grow beyond all reason when they are replaced.

    Raises
    ------
    ModelError
        "model.cycle", "model.too_large".
    """
    sizes: dict[tuple[str, str], int] = {}
    bodies = {(f.domain, f.name): f.node for f in model.functions}

    def size(key: tuple[str, str], above: tuple[tuple[str, str], ...]) -> int:
        if key in above:
            loop = [name for _, name in above[above.index(key) :]]
            text = f"Functions of the model call each other in a circle: {' -> '.join([*loop[:8], key[1]])}."
            raise ModelError("model.cycle", text, tuple(loop[:8]))
        if key not in sizes:
            sizes[key] = sum(count(n, (*above, key)) for n in bodies[key])
        return sizes[key]

    def count(node: onnx.NodeProto, above: tuple[tuple[str, str], ...]) -> int:
        key = (node.domain, node.op_type)
        inner = sum(count(n, above) for a in node.attribute if a.HasField("g") for n in a.g.node)
        return inner + (size(key, above) if key in bodies else 1)

    for node in model.graph.node:
        if count(node, ()) > MAX_NODES:
            text = f"Node {node.name!r} ({node.op_type}) calls functions that make more than {MAX_NODES:,} nodes."
            raise ModelError("model.too_large", text, (node.name,))


def _replaced(model: onnx.ModelProto, wanted: list[tuple[str, str]]) -> onnx.ModelProto | None:
    """Model with the calls of as many functions replaced as have a body for their types; None where none has.

    An operator whose body depends on types that nothing tells stays, if it can be run as it is.

    Raises
    ------
    ModelError
        "model.unsupported_op" for one that cannot.
    """
    from onnx import inliner

    found, why = model, ""
    for some in (wanted, *([one] for one in wanted)):
        try:
            found = inliner.inline_selected_functions(found, some, inline_schema_functions=True)
        except Exception as e:  # the package has no class of its own for what its inliner cannot do
            why = str(e).rpartition(": ")[2]
        else:
            if some is wanted:
                return found
    if found is not model:
        return found
    opsets = {o.domain: o.version for o in model.opset_import}
    for domain, name in wanted:
        if not known(domain, name, opsets.get(domain, 0)):
            text = f"Operator {name!r} cannot be replaced by those that define it: {why}."
            hint = "run `onnx.shape_inference.infer_shapes` on the model first"
            raise ModelError("model.unsupported_op", text, (name, domain or "ai.onnx"), hint)
    return None


def _with_types(model: onnx.ModelProto) -> onnx.ModelProto:
    """Model that declares the types of its weights, and what is known of tensors in bodies, as types of its own.

    The inliner, which has to know the types that a body is for, looks for them there only.
    """
    from onnx import helper, shape_inference

    if any(a.HasField("g") for n in model.graph.node for a in n.attribute):
        model = shape_inference.infer_shapes(model)
    known_types = {v.name: v for v in (*model.graph.input, *model.graph.value_info)}
    if "" not in known_types:  # an input that is not given has a type for the inliner, or it gives up
        model.graph.value_info.append(helper.make_tensor_value_info("", 1, None))
    graphs = [model.graph]
    for graph in graphs:  # grows
        graphs += [a.g for n in graph.node for a in n.attribute if a.HasField("g")]
        weights = [helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in graph.initializer]
        weights += [
            helper.make_tensor_value_info(t.values.name, t.values.data_type, t.dims) for t in graph.sparse_initializer
        ]
        for v in (*weights, *graph.value_info):
            if v.name not in known_types:
                known_types[v.name] = v
                model.graph.value_info.append(v)
    return model


def _write_defaults(model: onnx.ModelProto) -> None:
    """Give every node the attributes that the standard assumes: bodies refer to them."""
    opsets = {o.domain: o.version for o in model.opset_import}
    for n in model.graph.node:
        schema = _schema(n.op_type, n.domain, opsets)
        given = {a.name for a in n.attribute}
        for name, declared in () if schema is None else schema.attributes.items():
            if name not in given and declared.default_value.name:
                n.attribute.append(declared.default_value)


def _schema(op: str, domain: str, opsets: dict[str, int]) -> onnx.defs.OpSchema | None:
    """What the standard says of an operator at the model's version; None where it does not know it."""
    import onnx

    try:
        return onnx.defs.get_schema(op, opsets[domain], domain)
    except (KeyError, onnx.defs.SchemaError):
        return None


def _defined_by_others(graph: onnx.GraphProto, opsets: dict[str, int]) -> set[tuple[str, str]]:
    """Domain and name of the operators of a graph that are not declared here, but have a body in the standard."""
    own = registry()
    found: set[tuple[str, str]] = set()
    for n in graph.node:
        domain = "" if n.domain == "ai.onnx" else n.domain
        schema = None if n.op_type in own else _schema(n.op_type, domain, opsets)
        if schema is not None and any(v <= opsets[domain] for v in _bodies(schema)):
            found.add((domain, n.op_type))
        for a in n.attribute:
            if a.HasField("g"):
                found |= _defined_by_others(a.g, opsets)
    return found


def _bodies(schema: onnx.defs.OpSchema) -> list[int]:
    """Opsets from which on the standard defines an operator by others."""
    return [*schema.function_opset_versions, *schema.context_dependent_function_opset_versions]  # type: ignore[attr-defined]


def _without_weights(model: onnx.ModelProto) -> tuple[onnx.ModelProto, dict[str, onnx.TensorProto]]:
    """Copy with heavy weights reduced to their types (a model may be larger than a message can be), and these."""
    import onnx

    kept = {t.name: t for t in model.graph.initializer if t.ByteSize() > _HEAVY}
    light = onnx.ModelProto()
    light.ir_version = model.ir_version
    light.opset_import.extend(model.opset_import)
    light.functions.extend(model.functions)
    graph = light.graph
    graph.name = model.graph.name
    for field in ("node", "input", "output", "value_info"):
        getattr(graph, field).extend(getattr(model.graph, field))
    for t in model.graph.initializer:
        if t.name in kept:
            graph.initializer.add(name=t.name, data_type=t.data_type, dims=t.dims)
        else:
            graph.initializer.add().CopyFrom(t)
    graph.sparse_initializer.extend(model.graph.sparse_initializer)
    return light, kept
