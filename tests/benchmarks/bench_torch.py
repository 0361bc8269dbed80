"""``torch.compile`` with the workbench against PyTorch as it is and against Inductor.

Run it by hand (it is not part of the default tests; Inductor needs a C++ compiler)::

    pip install torch transformers && PYTHONPATH=tests python tests/benchmarks/bench_torch.py --threads 2
    PYTHONPATH=tests python tests/benchmarks/bench_torch.py --only resnet-18 --log net.tunelog.jsonl --trials 200

Each network is compiled whole by both, its results are compared with PyTorch's, and all three run in turns in one
process. The least of the runs counts. ``bert-transformers`` is that of the package transformers, with random weights.
Prints milliseconds, how much longer the others take, the largest difference relative to the largest number, and how
long the first run took, which compiles.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn
from torch_networks import Bert, ResNet18, UNet

import workbench  # noqa: F401  # its backend
from workbench.network.turns import in_turns


def transformers_bert() -> nn.Module:
    from transformers import BertConfig, BertModel

    sizes = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024}
    return BertModel(BertConfig(**sizes))


def words(count: int = 64) -> torch.Tensor:
    return torch.randint(0, 1000, (1, count))


NETWORKS: Mapping[str, tuple[Callable[[], nn.Module], Callable[[], tuple[Any, ...]]]] = {
    "resnet-18": (ResNet18, lambda: (torch.randn(1, 3, 224, 224),)),
    "bert": (lambda: Bert(size=256, layers=4), lambda: (words(), torch.zeros(1, 64, dtype=torch.bool))),
    "bert-transformers": (transformers_bert, lambda: (words(),)),
    "unet": (lambda: UNet(32), lambda: (torch.randn(1, 3, 128, 128),)),
}


def tensors(result: Any) -> list[torch.Tensor]:
    """The tensors of a result, whether it is one, a tuple or a mapping."""
    values = (result,) if isinstance(result, torch.Tensor) else getattr(result, "to_tuple", lambda: result)()
    return [v for v in values if isinstance(v, torch.Tensor)]


def error(found: Any, expected: Any) -> float:
    """Largest difference, relative to the largest number of a tensor."""
    pairs = zip(tensors(found), tensors(expected), strict=True)
    return max(float((a - b).abs().max() / b.abs().max()) for a, b in pairs)


def measure(name: str, options: argparse.Namespace) -> float:
    """Print a network's row; how far the workbench's results are from PyTorch's."""
    make, inputs = NETWORKS[name]
    torch.manual_seed(0)
    model, given = make().eval(), inputs()
    with torch.inference_mode():
        return _measured(name, model, given, options)


def _measured(name: str, model: nn.Module, given: tuple[Any, ...], options: argparse.Namespace) -> float:
    ours = {"fallback": False, "log": options.log, "trials": options.trials, "threads": options.threads}
    ways: dict[str, Any] = {"workbench": torch.compile(model, backend="workbench", options=ours), "eager": model}
    if not options.no_inductor:
        ways["inductor"] = torch.compile(model)
    expected, first, errors = model(*given), {}, {}
    for way, run in ways.items():
        start = time.perf_counter()
        errors[way] = error(run(*given), expected)
        first[way] = time.perf_counter() - start
    ms = in_turns({way: lambda run=run: run(*given) for way, run in ways.items()}, options.seconds * len(ways))
    for way, t in ms.items():
        end = f"error {errors[way]:.1e}  first run {first[way]:.1f} s"
        print(f"{name:18} {way:10} {t:8.2f} ms  x{t / ms['workbench']:.2f}  {end}", flush=True)
    return errors["workbench"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=NETWORKS, action="append", help="networks; all by default")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each way of each network")
    parser.add_argument("--log", help="schedules")
    parser.add_argument("--trials", type=int, help="tune what the log does not know; adds to --log")
    parser.add_argument("--no-inductor", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    return max(measure(name, options) for name in options.only or NETWORKS) > 2e-4


if __name__ == "__main__":
    sys.exit(main())
