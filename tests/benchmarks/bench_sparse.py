"""Sparse weights and graphs against our dense kernels, onnxruntime, SciPy and PyTorch.

Run it by hand (it is not part of the default tests)::

    pip install scipy && python tests/benchmarks/bench_sparse.py --threads 2

All of a row run in one process in turns, some runs in a row each, because threads of onnxruntime and PyTorch spin for a
while after theirs; the best of all runs counts. PyTorch takes part where it is installed. ``dense``: block-sparse
weights of 768 to 3,072 features for 128 rows, default schedules. ``spmm``: rows gathered, weighed and added up over
edges that are known when the network is compiled (SciPy has its CSR matrix ready), or that are inputs of each run
(SciPy makes it from the pairs); PyTorch gathers, multiplies and calls `index_add_`. ``networks``: the zoo's GCN and
GraphSAGE. Graphs have the numbers of nodes and edges of Cora and ogbn-arxiv; degrees follow a power law. Prints
milliseconds, and geometric means of the factors.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse

import workbench as wb
from workbench.graph import Graph, Node, TensorType
from workbench.graph.onnx.writer import to_onnx
from workbench.space.default_schedule import default_schedule
from workbench.zoo.builder import Builder
from workbench.zoo.graphs import gcn, graphsage

#: Milliseconds from which on threads that still spin after another way's run are no matter.
LONG = 5.0
GRAPHS = {"cora": (2_708, 10_556, 1_433, 7), "arxiv": (169_343, 1_166_243, 128, 40)}


def in_turns(runs: Mapping[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
    """Milliseconds of each, the least of many runs in turns."""
    best = dict.fromkeys(runs, math.inf)
    for run in runs.values():
        run()
    until = time.perf_counter() + seconds * len(runs)
    while time.perf_counter() < until:
        for name, run in runs.items():
            for _ in range(3 if best[name] > LONG else 30):
                start = time.perf_counter()
                run()
                best[name] = min(best[name], 1e3 * (time.perf_counter() - start))
    return best


def show(what: str, times: Mapping[str, float]) -> dict[str, float]:
    """Print a row; the factors by which the others take longer than "ours"."""
    factors = {name: t / times["ours"] for name, t in times.items() if name != "ours"}
    print(f"{what:42}" + "".join(f"  {n} {t:9.3f}" for n, t in times.items()), end="  | ")
    print("".join(f"  {n} x{f:.2f}" for n, f in factors.items()), flush=True)
    return factors


def edges_of(nodes: int, edges: int, seed: int = 0) -> np.ndarray:
    """Pairs of nodes, ``[2, edges]``: how often a node is an end follows a power law."""
    rng = np.random.default_rng(seed)
    share = (np.arange(nodes) + 5.0) ** -0.9
    ends = rng.permutation(nodes)[rng.choice(nodes, edges, p=share / share.sum())]
    return np.stack([rng.integers(0, nodes, edges), ends])


def dense(options: argparse.Namespace) -> list[dict[str, float]]:
    """Block-sparse weights."""
    m, n, k = 128, 3072, 768
    target, rng, found = wb.Target.host(threads=options.threads), np.random.default_rng(0), []
    x = rng.standard_normal((m, k)).astype(np.float32)
    full = default_schedule(wb.workloads.matmul(m, n, k, constant_b=True), target).build()
    plain = full.prepare(x, rng.standard_normal((k, n)).astype(np.float32))
    for width, rows in ((16, 1), (32, 1), (16, 16)):
        for kept in (0.15, 0.05):
            count = round(kept * k / rows)
            starts = np.stack([np.sort(rng.choice(k // rows, count, False)) for _ in range(n // width)]) * rows
            w = rng.standard_normal((n // width, count, rows, width)).astype(np.float32)
            kernel = default_schedule(wb.workloads.sparse_dense(m, n, k, count, width, rows), target).build()
            whole = np.zeros((n // width, k, width), np.float32)
            for strip, at, block in zip(whole, starts, w, strict=True):
                strip[(at[:, None] + np.arange(rows)).reshape(-1)] = block.reshape(-1, width)
            matrix = whole.transpose(0, 2, 1).reshape(n, k)
            np.testing.assert_allclose(kernel(x, starts.astype(np.int32), w), x @ matrix.T, rtol=1e-3, atol=1e-3)
            turned, bsr = np.ascontiguousarray(x.T), scipy.sparse.bsr_matrix(matrix, blocksize=(width, rows))
            csr = scipy.sparse.csr_matrix(matrix)
            prepared = kernel.prepare(x, starts.astype(np.int32), w)
            runs = {"ours": prepared, "our dense": plain}
            runs |= {"scipy bsr": lambda a=bsr, b=turned: a @ b, "scipy csr": lambda a=csr, b=turned: a @ b}
            found.append(show(f"dense {width}x{rows}, {100 - 100 * kept:.0f} % zeros", in_turns(runs, options.seconds)))
    return found


def session(graph: Graph, threads: int) -> Any:
    """The same network in onnxruntime."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    return ort.InferenceSession(to_onnx(graph).SerializeToString(), options, providers=["CPUExecutionProvider"])


def against_onnxruntime(graph: Graph, feeds: Mapping[str, np.ndarray], threads: int) -> dict[str, Callable[[], Any]]:
    """Runs of a network in both, compared once: with one thread, because its ScatterND of several loses some sums."""
    exe, other = wb.compile(graph, threads=threads), session(graph, threads)
    for got, want in zip(exe.run(feeds).values(), session(graph, 1).run(None, dict(feeds)), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-3)
    return {"ours": lambda: exe.run(feeds), "onnxruntime": lambda: other.run(None, dict(feeds))}


def by_torch(nodes: int, arrays: Mapping[str, np.ndarray], threads: int) -> dict[str, Callable[[], Any]]:
    """The same layer in PyTorch."""
    if find_spec("torch") is None:
        return {}
    import torch

    torch.set_num_threads(threads)
    start, end, w, x = (torch.from_numpy(arrays[name]) for name in ("start", "end", "w", "x"))
    end = end[:, 0]

    def run() -> Any:
        with torch.inference_mode():
            return torch.zeros(nodes, x.shape[1]).index_add_(0, end, x[start] * w)

    return {"torch": run}


def message_passing(nodes: int, edges: np.ndarray, width: int, given: bool) -> tuple[Graph, dict[str, np.ndarray]]:
    """Rows gathered, weighed and added up; the edges are inputs, or part of the network."""
    rng, count = np.random.default_rng(1), edges.shape[1]
    arrays = {"start": edges[0], "end": edges[1][:, None], "w": rng.random((count, 1)).astype(np.float32)}
    made = [
        Node("gather", "Gather", ("x", "start"), ("rows",), {"axis": 0}),
        Node("weigh", "Mul", ("rows", "w"), ("weighed",)),
        Node("add", "ScatterND", ("zeros", "end", "weighed"), ("y",), {"reduction": "add"}),
    ]
    feeds = {"x": rng.standard_normal((nodes, width)).astype(np.float32), **(arrays if given else {})}
    constants = {"zeros": np.zeros((nodes, width), np.float32), **({} if given else arrays)}
    types = {n: TensorType(a.shape, a.dtype.name) for n, a in feeds.items()}
    return Graph.make("messages", made, types, ["y"], constants), {**arrays, **feeds}


def spmm(options: argparse.Namespace) -> list[dict[str, float]]:
    """One layer of message passing."""
    found = []
    for name, (nodes, count, _, _) in GRAPHS.items():
        edges = edges_of(nodes, count)
        for width in (16, 128):
            for given in (False, True):
                graph, arrays = message_passing(nodes, edges, width, given)
                runs = against_onnxruntime(graph, {n: arrays[n] for n in graph.inputs}, options.threads)
                pair, w, x = (edges[1], edges[0]), arrays["w"][:, 0], arrays["x"]
                csr = scipy.sparse.csr_matrix((w, pair), (nodes, nodes))
                runs["scipy"] = (
                    (lambda w=w, p=pair, x=x, n=nodes: scipy.sparse.coo_matrix((w, p), (n, n)).tocsr() @ x)
                    if given
                    else (lambda a=csr, x=x: a @ x)
                )
                runs |= by_torch(nodes, arrays, options.threads)
                what = "edges are inputs" if given else "edges are constant"
                found.append(show(f"{name}, {width} wide, {what}", in_turns(runs, options.seconds)))
    return found


def networks(options: argparse.Namespace) -> list[dict[str, float]]:
    """Networks of two layers whose edges are inputs."""
    found = []
    for name, (nodes, count, features, classes) in GRAPHS.items():
        for build in (gcn, graphsage):
            b = Builder(build.__name__, 0)
            build(b, (nodes, features), classes)
            rng = np.random.default_rng(2)
            x = rng.standard_normal((nodes, features)).astype(np.float32)
            graph = wb.load_onnx(b.model(), {"edges": (2, count)})
            feeds = {"features": x, "edges": edges_of(nodes, count)}
            runs = against_onnxruntime(graph, feeds, options.threads)
            found.append(show(f"{build.__name__} of {name}", in_turns(runs, options.seconds)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["dense", "spmm", "networks"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each way of each row")
    options = parser.parse_args()
    for what in options.what:
        found = {"dense": dense, "spmm": spmm, "networks": networks}[what](options)
        for other in dict.fromkeys(n for f in found for n in f):
            factors = [f[other] for f in found if other in f]
            print(f"{what}: against {other}, geometric mean x{math.exp(np.mean(np.log(factors))):.2f}")


if __name__ == "__main__":
    main()
