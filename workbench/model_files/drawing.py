"""An ONNX file as a drawing: one node per operator, as the file has them, repeated blocks once."""

from __future__ import annotations

import re
from collections.abc import Collection

from workbench.graph_layout.block_folding import Unit, folded_frames
from workbench.graph_layout.drawing import Drawing, Leaf, drawn
from workbench.markup import shortened
from workbench.model_files.contents import FileContents, FileNode

#: Characters of a label; the rest is cut. Chosen by eye.
LONGEST = 34
#: Operators that only say how their input is to be read.
_VIEWS = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout"})


def model_file(contents: FileContents, expanded: Collection[str] = ()) -> Drawing:
    """Draw what a file holds; weights are no nodes, a node's `bytes` are those of the weights that it reads.

    Parameters
    ----------
    contents : FileContents
    expanded : collection of str
        Ids of frames of which all instances are drawn.
    """
    units: list[Unit] = []
    reads: dict[tuple[str, str], None] = {}
    maker: dict[str, str] = {}
    taken = {n.name for n in contents.nodes}

    def end(tensor: str, kind: str) -> str:
        id = f"{kind.removesuffix('put')}:{tensor}"
        while id in taken:
            id += "'"
        taken.add(id)
        leaf = Leaf(id, shortened(tensor, LONGEST), shortened(contents.types.get(tensor, ""), LONGEST), kind)
        units.append(Unit(leaf, (leaf,), (kind, id)))
        return id

    for i in contents.inputs:
        maker[i] = end(i, "input")
    for node in contents.nodes:
        reads |= {(maker[i], node.name): None for i in node.inputs if i in maker}
        maker |= {o: node.name for o in node.outputs if o}
        leaf = _leaf(node, contents)
        attributes = tuple(node.attributes.items())
        units.append(Unit(leaf, (leaf,), (node.op, node.domain, leaf.label, leaf.sub, leaf.bytes, attributes)))
    for o in contents.outputs:
        tail = end(o, "output")
        if o in maker:
            reads[maker[o], tail] = None
    root, likes = folded_frames(units, reads, True, expanded)
    return drawn(root, likes, contents.name)


def _leaf(node: FileNode, contents: FileContents) -> Leaf:
    kernel, strides = (_sizes(node.attributes.get(name, "")) for name in ("kernel_shape", "strides"))
    step = f" /{strides.split('×')[0]}" if set(strides.split("×")) - {"1", ""} else ""
    op = f"depthwise {node.op}" if _is_depthwise(node, contents) else node.op
    label = shortened(f"{op} {kernel}".strip() + step, LONGEST)
    made = contents.types.get(next((o for o in node.outputs if o), ""), "").partition(" ")[2]
    read = sum(contents.weights.get(i, 0) for i in set(node.inputs))
    kind = "view" if node.op in _VIEWS else "op"
    return Leaf(node.name, label, shortened(made, LONGEST + 10), kind, bytes=read)


def _is_depthwise(node: FileNode, contents: FileContents) -> bool:
    """Whether each channel is convolved by itself: more than one group, and one channel of input for each filter."""
    if node.op != "Conv" or node.attributes.get("group", "1") == "1" or len(node.inputs) < 2:
        return False
    _, *per_group = re.findall(r"\w+", contents.types.get(node.inputs[1], "").partition(" ")[2]) or ("",)
    return per_group[:1] == ["1"]


def _sizes(text: str) -> str:
    return "×".join(re.findall(r"\d+", text))
