"""Exercises on memory: tensors that share an arena, and lifetimes that end too early."""

from __future__ import annotations

from functools import cache
from string import ascii_lowercase, ascii_uppercase
from typing import Any, TypeAlias

import numpy as np

from workbench.graph.memory.arena import Item, most_at_once
from workbench.labs.catalog.networks.fewer_kernels import VARIANTS
from workbench.labs.catalog.networks.residual import Kernel, kernels_of, optimised, sizes_of, tensor_kib, views_of
from workbench.labs.exercise import Exercise, Function, Goal, Misconception, Prediction, Setting

_LETTERS = ascii_uppercase + ascii_lowercase
#: Bytes, first kernel, last kernel.
Needed: TypeAlias = "tuple[int, int, int]"
SETS = 20
#: Times the bytes that are needed at once that an arena may take on average.
NEAR = 1.06


def _lifetimes(kernels: Any, views: Any, outputs: Any) -> Any:
    found: Any = {}
    for k, (reads, writes) in enumerate(kernels):
        for tensor in (*writes, *reads):
            while tensor in views:
                tensor = views[tensor]
            found[tensor] = (found[tensor][0] if tensor in found else k, k)
    for tensor in outputs:
        while tensor in views:
            tensor = views[tensor]
        found[tensor] = (found[tensor][0], len(kernels) - 1)
    return found


@cache
def items_of(n: int, channels: int, *without: str) -> tuple[Needed, ...]:
    """Return what the results inside the network need of an arena, without some of the passes."""
    graph = optimised(n, channels, *without)
    spans, sizes = _lifetimes(kernels_of(graph), views_of(graph), ()), sizes_of(graph)
    given = {*graph.inputs, *graph.constants, *graph.outputs}
    return tuple((sizes[t], *span) for t, span in spans.items() if t not in given)


@cache
def drawn_items(seed: int) -> tuple[Needed, ...]:
    """Return what 24 tensors of a made-up network need: bytes, and the kernels from which to which."""
    rng = np.random.default_rng(seed)
    first, more = rng.integers(0, 20, 24), rng.integers(0, 6, 24)
    sizes = 2 ** rng.integers(0, 6, 24) + rng.integers(0, 9, 24)
    return tuple((64 * int(s), int(a), int(a + d)) for s, a, d in zip(sizes, first, more, strict=True))


def needed_at_once(items: Any) -> int:
    """Return the most bytes that are needed at one kernel: no arena is smaller."""
    return most_at_once([Item(*item) for item in items])


def overlaps(items: Any, offsets: Any) -> list[tuple[int, int]]:
    """Return pairs of positions that are needed at one kernel and share bytes."""
    every = list(zip(items, offsets, strict=True))
    return [
        (i, j)
        for i, ((size, first, last), at) in enumerate(every)
        for j, ((other, begin, end), there) in enumerate(every[:i])
        if first <= end and begin <= last and at < there + other and there < at + size
    ]


def picture(items: Any, offsets: Any, unit: int = 1) -> str:
    """Draw an arena, a line for each kernel and a character for each `unit` of bytes; ``#`` is an overlap."""
    end = max(offset + item[0] for offset, item in zip(offsets, items, strict=True))
    lines = []
    for kernel in range(max(last for _, _, last in items) + 1):
        cells = ["."] * -(-end // unit)
        for name, (size, first, last), offset in zip(_LETTERS, items, offsets, strict=False):
            for c in range(offset // unit, -(-(offset + size) // unit)) if first <= kernel <= last else ():
                cells[c] = name if cells[c] == "." else "#"
        lines.append(f"kernel {kernel:2}  {''.join(cells)}")
    return "\n".join(lines)


# ------------------------------------------------------------------------------------------------ place


def _place(items: Any) -> Any:
    placed: Any = {}
    for k in sorted(range(len(items)), key=lambda k: -items[k][0]):
        size, first, last = items[k]
        at = 0
        for j in sorted(placed, key=lambda j: placed[j]):
            other, begin, end = items[j]
            if first <= end and begin <= last and at < placed[j] + other and placed[j] < at + size:
                at = placed[j] + other
        placed[k] = at
    return [placed[k] for k in range(len(items))]


def _arena(place: Any, items: Any) -> tuple[int, str]:
    """Bytes of the arena, and what is wrong with it."""
    offsets = list(place(list(items)))
    if len(offsets) != len(items) or not all(isinstance(o, int | np.integer) and o >= 0 for o in offsets):
        return 0, f"There has to be one offset, 0 or more, for each of {len(items)} tensors."
    if found := overlaps(items, offsets):
        i, j = found[0]
        return 0, f"Tensors {j} {items[j]} and {i} {items[i]} overlap at offsets {offsets[j]} and {offsets[i]}."
    return max(offset + item[0] for offset, item in zip(offsets, items, strict=True)), ""


def _places_network(place: Any, at: Setting) -> tuple[bool, str]:
    for without in ((), ("fuse",), ("fuse", "fold_batch_norm")):
        items = items_of(at["n"], at["c"], *without)
        (arena, fault), needed = _arena(place, items), needed_at_once(items)
        if fault or arena > needed:
            return False, fault or f"{len(items)} tensors of the network take {arena:,} bytes; {needed:,} are enough."
    return True, "The network's tensors lie in no more bytes than are needed at once, fused or not."


def _places_drawn(place: Any, at: Setting) -> tuple[bool, str]:
    times = []
    for seed in range(SETS):
        arena, fault = _arena(place, drawn_items(seed))
        if fault:
            return False, f"drawn_items({seed}): {fault}"
        times.append(arena / needed_at_once(drawn_items(seed)))
    mean = sum(times) / SETS
    return (
        mean <= NEAR,
        f"On average {mean:.3f} times the bytes that are needed at once; the worst of {SETS} has {max(times):.3f}.",
    )


PLACE = Exercise(
    name="place",
    title="Tensors that share memory",
    task=lambda at: (
        "A result is needed from the kernel that writes it to the last kernel that reads it, both included. Tensors "
        "that are not needed at the same time may lie in the same bytes of one arena.\n\n"
        f"The network, fused: each tensor of the first stage has {tensor_kib(at):g} KiB. How many KiB of them are "
        "needed while the second kernel of block one runs (convolution, Add and ReLU in one)?\n\n"
        "Four tensors: A takes 2 KiB (kernels 0 to 1), B 3 KiB (0 to 2), C 4 KiB (2 to 3), D 2 KiB (3 to 4). Put "
        "each in turn, A, B, C, D, at the lowest offset that is free while it is needed. How large is the arena? How "
        "large is the smallest one, in any order?\n\n"
        "Write place(items): items is a list of (bytes, first kernel, last kernel), and it returns a list of "
        f"offsets. It is tried on the network and on {SETS} drawn sets, drawn_items(0) to drawn_items({SETS - 1})."
    ),
    predictions=(
        Prediction(
            "block",
            "How many KiB are needed while the second kernel of block one runs?",
            lambda at: 3 * tensor_kib(at),
            "KiB",
            (
                Misconception(lambda at: 2 * tensor_kib(at), "What the Add reads has to be there, too: the shortcut."),
                Misconception(tensor_kib, "Its operands are needed as well as its result."),
                Misconception(
                    lambda at: 4 * tensor_kib(at), "In one kernel, what the convolution makes is never in memory."
                ),
            ),
        ),
        Prediction(
            "turn",
            "How large is the arena when A, B, C, D are placed in turn?",
            9,
            "KiB",
            (
                Misconception(11, "That is without any sharing. When is A no longer needed?"),
                Misconception(7, "When C comes, B lies above a gap of 2 KiB, and is still needed."),
                Misconception(6, "C does not fit into the gap below B."),
            ),
        ),
        Prediction(
            "least",
            "How large is the smallest arena?",
            7,
            "KiB",
            (
                Misconception(5, "That is what kernel 0 needs. Which kernel needs more?"),
                Misconception(6, "That is what kernel 3 needs. Which kernel needs more?"),
                Misconception(9, "Begin with B at offset 0."),
            ),
        ),
    ),
    work=Function("place", _place),
    goals=(
        Goal("The network's tensors lie in as many bytes as are needed at once.", _places_network),
        Goal(
            f"Over {SETS} drawn sets an arena has on average at most {NEAR} times what is needed at once.",
            _places_drawn,
        ),
    ),
    hints=(
        "First one that is right: for each tensor, go up from offset 0 past all placed ones that are needed with it.",
        "Go through those that are placed by rising offset: where it would overlap one, its offset is that one's end.",
        "The order decides. What is large is hard to place later.",
    ),
    why="To find the smallest arena is hard in general. Large ones first is a good order: small ones fit into the "
    "gaps that are left. No arena can be smaller than what is needed at one kernel, so one that reaches it needs no "
    "further search.",
    variants=VARIANTS,
)


# ------------------------------------------------------------------------------------------------ repair


_VIEWS: list[Kernel] = [(("x",), ("p",)), (("x",), ("q",)), (("q",), ("r",)), (("r", "g"), ("y",))]
_OUTPUT: list[Kernel] = [(("x",), ("a",)), (("a",), ("b",)), (("b",), ("c",)), (("c",), ("d",)), (("d",), ("y",))]


def _spans(lifetimes: Any, cases: Any) -> tuple[bool, str]:
    told = ""
    for kernels, views, outputs in cases:
        told = f"there are {len(kernels)} kernels, views {views}, outputs {list(outputs)}"
        found, right = dict(lifetimes(list(kernels), dict(views), list(outputs))), _lifetimes(kernels, views, outputs)
        for tensor, span in right.items():
            if tuple(found.get(tensor, ())) != span:
                return False, f"Where {told}, your function says {found.get(tensor)!r} for {tensor!r}."
        if extra := set(found) - set(right):
            return False, f"{sorted(extra)[0]!r} is a view, and has no memory of its own."
    return True, f"Right, where {told}."


def _of_network(lifetimes: Any, at: Setting) -> tuple[bool, str]:
    graph = optimised(at["n"], at["c"])
    middle = next(t for t in graph.types if t.startswith("two_relu"))
    return _spans(lifetimes, [(kernels_of(graph), views_of(graph), (*graph.outputs, middle))])


REPAIR = Exercise(
    name="repair",
    title="Repair: freed too early",
    task="Somebody's lifetimes make a network return wrong numbers. The notebook has the function: it gives each "
    "tensor the first and the last kernel that touches it, by name. But a view has another name for the same memory; "
    "and an output of the network has to be there when the last kernel has run, whoever read it before.\n\n"
    "Kernel 0 writes p. g is a view of f, and f is a view of p. Kernel 3 reads g, and nothing else reads p. What is "
    "the last kernel that needs the memory of p? In a network of five kernels, 0 to 4, kernel 0 writes a, kernel 1 "
    "reads it, and a is an output. What is the last kernel during which nobody else may use its memory?\n\n"
    "Write lifetimes(kernels, views, outputs): a dict from each tensor with memory of its own to (first, last), the "
    "kernels between which, both included, nobody else may use that memory. views says of which tensor each view is "
    "one; a view of a view is possible.",
    predictions=(
        Prediction(
            "view",
            "Which is the last kernel that needs the memory of p?",
            3,
            misconceptions=(
                Misconception(0, "Nobody reads p by that name. Does anybody read its memory?"),
                Misconception(2, "While a kernel runs, what it reads has to be there."),
                Misconception(4, "Kernel 3 reads it. Who needs it after that?"),
            ),
            within=0,
        ),
        Prediction(
            "output",
            "What is the last kernel during which nobody else may use the memory of the output a?",
            4,
            misconceptions=(
                Misconception(1, "The caller reads it after the last kernel."),
                Misconception(0, "Kernel 1 reads it, and so does the caller."),
                Misconception(
                    5, "There are five kernels, counted from 0: what is needed after the last one is needed during it."
                ),
            ),
            within=0,
        ),
    ),
    work=Function("lifetimes", _lifetimes),
    goals=(
        Goal("A view keeps what it is a view of.", lambda f, at: _spans(f, [(_VIEWS, {"f": "p", "g": "f"}, ())])),
        Goal(
            "An output is kept, also where it is a view.",
            lambda f, at: _spans(f, [(_OUTPUT, {}, ("a", "y")), (_OUTPUT, {"v": "b"}, ("v", "y"))]),
        ),
        Goal("The network is right, with a tensor in its middle as a second output.", _of_network),
    ),
    hints=(
        "Replace a name by what it is a view of, as long as it is one: while tensor in views.",
        "After all kernels: each output (or what it is a view of) lasts until len(kernels) - 1.",
    ),
    why="Memory belongs to what lies in it, not to a name. A plan with a lifetime that is too short gives no error, "
    "only wrong numbers, and only where the freed bytes happen to be used again.",
    variants=VARIANTS,
)
