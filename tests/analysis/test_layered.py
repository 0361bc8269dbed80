import itertools
import random
import time

import pytest

from workbench.analysis import Box, layout
from workbench.errors import WorkbenchError
from workbench.graph_layout.crossing_reduction import crossings, order_layers


def tangle(n, seed=0, reach=40):
    rng = random.Random(seed)
    boxes = [Box(str(k), rng.choice([30.0, 80.0, 150.0]), rng.choice([20.0, 40.0])) for k in range(n)]
    edges = [(str(rng.randrange(max(0, k - reach), k)), str(k)) for k in range(1, n)]
    edges += [(str(rng.randrange(max(0, k - reach), k)), str(k)) for k in range(1, n, 2)]
    return boxes, edges


def check(boxes, edges, found):
    size = {b.id: (b.w, b.h) for b in boxes}
    rows = {}
    for b in boxes:
        x, y = found.positions[b.id]
        assert x >= -0.01
        assert x + b.w <= found.width + 0.01
        assert y + b.h <= found.height + 0.01
        rows.setdefault(y + b.h / 2, []).append((x, x + b.w, b.id))
    for row in rows.values():
        row.sort()
        for (_, end, a), (start, _, b) in itertools.pairwise(row):
            assert end <= start, (a, b)
    for (a, b), line in zip(edges, found.edges, strict=True):
        (ax, ay), (bx, by) = found.positions[a], found.positions[b]
        assert line[0] == pytest.approx((ax + size[a][0] / 2, ay + size[a][1]), abs=0.02)
        assert line[-1] == pytest.approx((bx + size[b][0] / 2, by), abs=0.02)
        assert all(p[1] <= q[1] for p, q in itertools.pairwise(line))
        assert line[0][1] < line[-1][1]


def passes_through(boxes, edges, found):
    """Pairs of an edge and a box that it goes through without ending there."""
    out = []
    for edge, line in zip(edges, found.edges, strict=True):
        for b in boxes:
            if b.id in edge:
                continue
            x, y = found.positions[b.id]
            for (px, py), (qx, qy) in itertools.pairwise(line):
                top, bottom = max(py, y), min(qy, y + b.h)
                if top < bottom and x + 0.1 < px < x + b.w - 0.1 and px == qx:
                    out.append((edge, b.id))
    return out


@pytest.mark.parametrize("seed", range(6))
def test_nothing_overlaps_and_every_edge_goes_down(seed):
    boxes, edges = tangle(60, seed, reach=12)
    found = layout(boxes, edges)
    check(boxes, edges, found)
    assert not passes_through(boxes, edges, found)
    assert layout(boxes, edges) == found


def test_a_chain_is_straight_however_long():
    boxes = [Box(f"n{k}", 40.0 + k % 7, 20.0) for k in range(3000)]
    edges = [(f"n{k}", f"n{k + 1}") for k in range(2999)]
    found = layout(boxes, edges)
    centres = {round(found.positions[b.id][0] + b.w / 2, 1) for b in boxes}
    assert len(centres) == 1
    assert all(len(line) == 2 for line in found.edges)


def test_a_residual_block_has_a_straight_bypass_beside_it():
    boxes = [Box(n, 100.0, 40.0) for n in "abcd"]
    edges = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]
    found = layout(boxes, edges)
    check(boxes, edges, found)
    assert found.positions["b"][0] == found.positions["c"][0]
    line = found.edges[3]
    assert len(line) == 4
    assert line[1][0] == line[2][0]
    assert not found.positions["b"][0] <= line[1][0] <= found.positions["b"][0] + 100


def test_crossings_that_can_be_avoided_are():
    down, up = [[5], [4], [3], [], [], []], [[], [], [], [2], [1], [0]]
    assert crossings([[0, 1, 2], [3, 4, 5]], down) == 3
    assert crossings(order_layers([[0, 1, 2], [3, 4, 5]], down, up), down) == 0
    edges = [("r", "a"), ("r", "b"), ("r", "c"), ("a", "z"), ("b", "y"), ("c", "x"), ("z", "t"), ("y", "t"), ("x", "t")]
    found = layout([Box(n, 30.0, 20.0) for n in "rabcxyzt"], edges)
    order = sorted("xyz", key=lambda n: found.positions[n][0])
    assert sorted("abc", key=lambda n: found.positions[n][0]) == [{"z": "a", "y": "b", "x": "c"}[n] for n in order]


def test_sweeps_improve_on_the_first_order(monkeypatch):
    rng = random.Random(1)
    layers = [list(range(r * 8, r * 8 + 8)) for r in range(4)]
    down = [sorted(rng.sample(layers[k // 8 + 1], 2)) if k < 24 else [] for k in range(32)]
    up = [[j for j in range(32) if k in down[j]] for k in range(32)]
    swept = crossings(order_layers(layers, down, up), down)
    monkeypatch.setattr("workbench.graph_layout.crossing_reduction.SWEEPS", 0)
    assert swept < crossings(order_layers(layers, down, up), down)


def test_a_source_stands_right_above_its_reader():
    boxes = [Box(n, 30.0, 20.0) for n in ("x", "a", "b", "w")]
    found = layout(boxes, [("x", "a"), ("a", "b"), ("w", "b")])
    assert found.positions["w"][1] == found.positions["a"][1]


def test_nothing_single_and_apart():
    assert layout([], []).width == 0
    assert layout([Box("a", 30.0, 20.0)], []).positions == {"a": (0.0, 0.0)}
    found = layout([Box("a", 30.0, 20.0), Box("b", 30.0, 20.0)], [])
    assert found.positions["b"][0] >= 30.0


@pytest.mark.parametrize(
    ("ids", "edges", "code"),
    [
        ("ab", [("a", "b"), ("b", "a")], "layout.cycle"),
        ("a", [("a", "a")], "layout.cycle"),
        ("a", [("a", "nowhere")], "layout.unknown"),
        ("aa", [], "layout.duplicate"),
    ],
)
def test_what_cannot_be_drawn_is_told(ids, edges, code):
    with pytest.raises(WorkbenchError) as error:
        layout([Box(n, 10.0, 10.0) for n in ids], edges)
    assert error.value.code == code


def test_a_node_that_everything_reads_stays_affordable():
    boxes = [Box(str(k), 40.0, 20.0) for k in range(400)]
    edges = [(str(k), str(k + 1)) for k in range(399)] + [("0", str(k)) for k in range(2, 400)]
    found = layout(boxes, edges)
    check(boxes, edges, found)


def test_many_long_edges_are_drawn_without_bends_rather_than_never():
    boxes = [Box(str(k), 40.0, 20.0) for k in range(120)]
    edges = [(str(a), str(b)) for a in range(120) for b in range(a + 1, 120)]
    check(boxes, edges, layout(boxes, edges))


@pytest.mark.bench
def test_it_is_fast_enough():
    for n, limit in ((200, 0.1), (2000, 1.5)):
        boxes, edges = tangle(n)
        times = []
        for _ in range(2):
            started = time.perf_counter()
            layout(boxes, edges)
            times.append(time.perf_counter() - started)
        assert min(times) < limit
