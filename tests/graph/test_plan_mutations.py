"""Deliberate bugs in joining, planning and handing over memory: each has to be noticed (see `graph.mutation`).

A bug may show as a wrong number, as a plan that `check_plan` refuses, or as any other error.
"""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from graph.checks import kept
from graph.mutation import Mutation, assert_noticed
from graph.nets import random_feeds, reuses
from graph.plan_nets import (
    NETS,
    growing,
    handed_on,
    heads,
    listed,
    rows_of_rows,
    shifted_rows,
    steps_in_python,
    wanted_part,
)

import workbench as wb
from workbench.graph import Graph
from workbench.graph.memory.arena import Item, pack_items
from workbench.graph.memory.plan import plan_memory
from workbench.graph.reference import run_reference
from workbench.graph.tasks import partition

GRAPH, IR = "workbench.graph", "workbench.ir"


def computed(graph: Graph) -> str:
    """What is wrong with the compiled network, which starts from poisoned memory; "" when nothing is."""
    feeds = random_feeds(graph)
    executable = wb.compile(graph, threads=2)
    executable.poison()
    got, want = executable.run(feeds), run_reference(graph, feeds)
    wrong = [o for o in graph.outputs if not np.allclose(got[o], want[o], rtol=1e-3, atol=1e-4)]
    return f"outputs {wrong} differ" if wrong else ""


def apart(graph: Graph) -> str:
    """Whether no two memories of the plan overlap while both are needed, looked up tensor by tensor."""
    optimised = graph.optimize()
    groups = partition(optimised)
    plan = plan_memory(optimised, groups, reuses(groups))
    alive: dict[str, list[int]] = {}
    for k, g in enumerate(groups):
        for t in () if g.view else (*g.inputs, *g.outputs):
            if plan.places[t].kind == "arena":
                alive.setdefault(plan.places[t].name, []).append(k)
    handed = {(k, plan.places[old].name, plan.places[new].name) for k, old, new in plan.reused}
    for a, b in itertools.permutations(alive, 2):
        (x, y), (first, last) = (plan.places[a], plan.places[b]), (min(alive[b]), max(alive[a]))
        lies_over = x.offset < y.offset + y.nbytes and y.offset < x.offset + x.nbytes
        if min(alive[a]) <= first <= last and lies_over and not (first == last and (first, a, b) in handed):
            return f"{a} and {b} overlap"
    return ""


def everything(graph: Graph) -> str:
    return apart(graph) or kept(graph) or computed(graph)


def separately(graph: Graph) -> str:
    """The same with a kernel for every node."""
    optimised = graph.optimize(without="fuse")
    return everything(optimised)


def packed(_: Graph) -> str:
    """Whether random items are packed without meeting each other."""
    rng = random.Random(0)
    for _ in range(100):
        items = [Item(64 * rng.randrange(1, 5), first := rng.randrange(6), first + rng.randrange(4)) for _ in range(12)]
        offsets, _top = pack_items(items)
        for (a, x), (b, y) in itertools.combinations(zip(items, offsets, strict=True), 2):
            if a.first <= b.last and b.first <= a.last and x < y + b.size and y < x + a.size:
                return f"{a} at {x} and {b} at {y}"
    return ""


def bug(piece: str, where: str, what: str, old: str, new: str, *on, check=everything) -> Mutation:
    return Mutation(piece, f"{GRAPH}.{where}" if where[0] != "=" else where[1:], what, old, new, on or NETS, check)


MUTATIONS = (
    bug(
        "lifetimes",
        "memory.lifetimes:lifetimes",
        "the last reader is forgotten",
        "spans[r][0], k)",
        "spans[r][0], max(*spans[r], k - 1))",
    ),
    bug(
        "lifetimes",
        "memory.lifetimes:lifetimes",
        "results are needed from the next kernel on",
        "(*g.outputs, *g.inputs)",
        "g.inputs",
    ),
    bug("homes", "memory.lifetimes:homes", "a part begins with the whole", "at.skip + spot.offset *", "at.skip + 0 *"),
    bug(
        "homes",
        "memory.lifetimes:homes",
        "a part's offset counts bytes",
        "* np.dtype(graph.types[t].dtype).itemsize",
        "",
    ),
    bug(
        "homes",
        "memory.lifetimes:homes",
        "a reshape has memory of its own",
        "if g.view and len(g.inputs) == 1 and",
        "if False and",
        heads,
    ),
    bug("arena", "memory.lifetimes:in_arena", "outputs are shared, too", "*(home[t].root for t in graph.outputs)", ""),
    bug(
        "packing",
        "memory.arena:_Search._free",
        "an item may begin inside another one",
        "start = max(start, end)",
        "start = max(start, offset)",
    ),
    bug(
        "packing",
        "memory.arena:_Search._free",
        "a gap may be a little too small",
        "start + size <= offset",
        "start + size <= offset + 64",
        growing,
        check=packed,
    ),
    bug(
        "packing",
        "memory.arena:Item.meets",
        "what dies makes room at once",
        "self.first <= other.last and other.first <= self.last",
        "self.first < other.last and other.first < self.last",
    ),
    bug(
        "reuse",
        "memory.plan:_reused",
        "over a value that is still read",
        "spans[a][1] == k == spans[b][0]",
        "k == spans[b][0]",
    ),
    bug(
        "reuse",
        "memory.plan:_reused",
        "over a part of something",
        "and all(_whole(graph, home, spots, t) for t in (old, new))",
        "",
        shifted_rows,
        check=separately,
    ),
    bug(
        "reuse",
        "memory.plan:_chains",
        "a chain ends after its first result",
        "chain.append(following[chain[-1]])",
        "chain.append(following.pop(chain[-1])); break",
        handed_on,
    ),
    bug(
        "reuse",
        f"={IR}.in_place:_read_in_time",
        "elements may be read anywhere",
        "_flat(operand, a.index) != _flat(result, writer.index)",
        "False",
    ),
    bug(
        "joins",
        "memory.joins:_Spots.join",
        "parts begin one too early",
        "at += self.graph.types[t].shape[axis]",
        "at += self.graph.types[t].shape[axis] - 1",
    ),
    bug(
        "joins",
        "memory.joins:_Spots.join",
        "distances are counted in single elements",
        "home.offset + at * step",
        "home.offset + at",
    ),
    bug("joins", "memory.joins:_Spots._place", "parts may be outputs", "or t in self.graph.outputs", "", wanted_part),
    bug("joins", "memory.joins:_Spots._place", "a part lies in two tensors", "if known is not None or", "if", listed),
    bug(
        "joins",
        "memory.joins:_Spots._lies_already",
        "parts in another order lie already",
        "or (spot.whole, spot.offset, spot.strides) != (first.whole, at, first.strides)",
        "",
        listed,
    ),
    bug(
        "joins",
        "memory.joins:_Spots._reads",
        "steps in Python read gaps",
        "or dense:\n        return dense",
        "or dense:\n        return True",
        steps_in_python,
    ),
    bug(
        "slices",
        "memory.joins:_Spots.cut",
        "a slice begins with the whole",
        "home.offset + sum(",
        "home.offset + 0 * sum(",
    ),
    bug(
        "strides",
        "group:Spot.widened",
        "rows are one too long",
        "out[at] = strides[d] // rest",
        "out[at] = strides[d] // rest + 1",
    ),
    bug("strides", "group:Spot.widened", "parts lie without gaps", "if gapless(shape, strides):", "if True:"),
    bug(
        "strides",
        "group:gapless",
        "only the last dimension counts",
        "row_major(shape), strict=True)",
        "row_major(shape), strict=True) if s == 1",
    ),
    bug(
        "strides",
        "group:restrided",
        "rows may lie anywhere",
        "s != inner * n",
        "s == -1",
        rows_of_rows,
        check=separately,
    ),
    bug(
        "compile",
        "=workbench.network.compile:_Memory.slot",
        "parts in the arena begin with the whole",
        'Slot("arena", place.offset, place.skip)',
        'Slot("arena", place.offset)',
        check=computed,
    ),
    bug(
        "compile",
        "=workbench.network.compile:_Memory.slot",
        "parts of outputs begin with the whole",
        "names.index(place.name), place.skip)",
        "names.index(place.name))",
        check=computed,
    ),
    bug(
        "compile",
        "=workbench.network.kernels:variant_of",
        "kernels do not know that rows lie apart",
        "spot.widened(logical_shape(buffer))",
        "None",
        check=computed,
    ),
)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_the_text_to_change_is_there(mutation):
    mutation.code()


@pytest.mark.checks
@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_the_mutation_is_noticed(mutation):
    assert_noticed(mutation)


@pytest.mark.parametrize("net", NETS)
def test_sound(net):
    assert not everything(net())
