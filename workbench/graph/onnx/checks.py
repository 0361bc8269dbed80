"""What a model file says about its operators, held against what the onnx package knows of the standard."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from workbench.errors import ModelError

if TYPE_CHECKING:
    import onnx


def opsets_of(model: onnx.ModelProto) -> dict[str, int]:
    """Version of each domain's operators; the standard's own domain is "".

    A version above the newest that the onnx package knows is refused, whatever the operators: nothing here can tell
    which of them mean something else there.

    Raises
    ------
    ModelError
        "model.opset".
    """
    import onnx

    newest = {"": onnx.defs.onnx_opset_version(), "ai.onnx.ml": onnx.defs.onnx_ml_opset_version()}
    found: dict[str, int] = {}
    for o in model.opset_import:
        domain, version = "" if o.domain == "ai.onnx" else o.domain, int(o.version)
        name, limit = domain or "ai.onnx", newest.get(domain, version)
        where = (name, str(version))
        if version < 1 or found.setdefault(domain, version) != version:
            text = f"The model gives the operators of {name!r} the version {version}"
            text += ", which there is none of." if version < 1 else f" after {found[domain]}."
            raise ModelError("model.opset", text, where, "export it again")
        if version > limit:
            text = f"The model is written in opset {version} of {name!r}; the onnx package {onnx.__version__} here "
            hint = f"export it with opset {limit} or older, or install a newer onnx package"
            raise ModelError("model.opset", f"{text}knows them up to {limit}.", where, hint)
    return found


def check_texts(model: onnx.ModelProto, name: str) -> None:
    """Refuse names that are not UTF-8, which protobuf hands over as bytes: the file is damaged.

    Raises
    ------
    ModelError
        "model.truncated".
    """
    texts = chain((o.domain for o in model.opset_import), _texts_of(model.graph))
    functions = (chain((f.domain, f.name), f.input, f.output, _texts_in(f.node)) for f in model.functions)
    if not all(isinstance(t, str) for t in chain(texts, *functions)):
        text = f"The model {str(name)!r} is damaged: it has names that are no text."
        raise ModelError("model.truncated", text, (str(name),), "download or export it again")


def _texts_of(graph: onnx.GraphProto) -> Iterator[object]:
    yield graph.name
    yield from (t.name for t in chain(graph.input, graph.output))
    parts = ((t.values, t.indices) for t in graph.sparse_initializer)
    for t in chain(graph.initializer, *parts):
        yield t.name
        yield from (text for e in t.external_data for text in (e.key, e.value))
    for v in graph.input:
        yield from (d.dim_param for d in v.type.tensor_type.shape.dim)
    yield from _texts_in(graph.node)


def _texts_in(nodes: Iterable[onnx.NodeProto]) -> Iterator[object]:
    for n in nodes:
        yield from (n.name, n.op_type, n.domain, *n.input, *n.output)
        for a in n.attribute:
            yield a.name
            if a.HasField("g"):
                yield from _texts_of(a.g)


def opset_of(node: str, op: str, domain: str, opsets: dict[str, int]) -> int:
    """Version that a node is written in; `ModelError` "model.opset" where the model does not say it."""
    if domain not in opsets:
        text = f"Node {node!r} ({op}) is from the domain {domain or 'ai.onnx'!r}, whose version the model does not say."
        raise ModelError("model.opset", text, (node, domain or "ai.onnx"), "export the model again")
    return opsets[domain]


@functools.lru_cache(maxsize=1024)
def _declared(op: str, domain: str, version: int) -> dict[str, tuple[str, bool]]:
    """Attributes of an operator: the kind of each and whether it has to be there; none where the standard is silent."""
    import onnx

    try:
        schema = onnx.defs.get_schema(op, version, domain)
    except onnx.defs.SchemaError:
        return {}
    return {name: (str(a.type).rpartition(".")[2], bool(a.required)) for name, a in schema.attributes.items()}


def check_attributes(node: str, op: str, domain: str, version: int, attributes: Iterable[onnx.AttributeProto]) -> None:
    """Refuse attributes that are twice there, of another kind than the standard says, or missing.

    Raises
    ------
    ModelError
        "model.invalid_attr".
    """
    import onnx

    declared = _declared(op, domain, version)
    seen: set[str] = set()
    for a in attributes:
        try:
            kind = onnx.AttributeProto.AttributeType.Name(a.type)
        except ValueError:
            kind = f"type {a.type}"
        wanted = declared.get(a.name, (kind, False))[0]
        if a.name in seen or kind != wanted or a.ref_attr_name:
            what = (
                "is given twice"
                if a.name in seen
                else f"refers to {a.ref_attr_name!r}, which only a function has"
                if a.ref_attr_name
                else f"is of the kind {kind}, expected {wanted}"
            )
            text = f"Attribute {a.name!r} of node {node!r} ({op}) {what}."
            raise ModelError("model.invalid_attr", text, (node, a.name), "export the model again")
        seen.add(a.name)
    missing = [name for name, (_, required) in declared.items() if required and name not in seen]
    if missing:
        text = f"Node {node!r} ({op}) lacks the attribute {missing[0]!r}."
        raise ModelError("model.invalid_attr", text, (node, missing[0]), "export the model again")
