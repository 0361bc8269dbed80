"""ONNX's own conformance suite against the workbench: passed, failed and unsupported by operator.

Run it by hand (about two minutes)::

    python tests/conformance/suite.py                        # everything but the nine large models
    python tests/conformance/suite.py --match "^test_conv"   # some of it
    python tests/conformance/suite.py --json result.json
    python tests/conformance/suite.py --plainly              # by load_onnx(model) and compile(graph), as people do

A test counts as passed only when its outputs were compared. "Compiled" are those in which no step was left to the
reference implementations (see `DynamicExecutable.reference_steps`); the others say which operators were.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import re
import unittest
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

os.environ.setdefault("ALLOW_RELEASED_ONNX_OPSET_ONLY", "0")

import numpy as np
import onnx
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner, _normalize_tensor

import workbench as wb
from workbench import onnx_backend
from workbench.errors import ModelError

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
#: Element types that the plain part of the suite has.
PLAIN_TYPES = frozenset(getattr(onnx.TensorProto, name) for name in ("FLOAT", "INT32", "INT64", "BOOL"))


@dataclass(frozen=True)
class Outcome:
    """Result of one test."""

    name: str
    operator: str
    status: str
    plain: bool
    reason: str = ""
    reference: tuple[str, ...] = ()


def material(case):
    """Model of a test and the pairs of inputs and outputs."""
    if case.model is not None:
        sets = [([_normalize_tensor(i) for i in a], [_normalize_tensor(o) for o in b]) for a, b in case.data_sets]
        return case.model, sets
    model = onnx.load(os.path.join(case.model_dir, "model.onnx"))
    sets = []
    for folder in sorted(glob.glob(os.path.join(case.model_dir, "test_data_set*"))):
        arrays = {"input": [], "output": []}
        for kind, infos in (("input", model.graph.input), ("output", model.graph.output)):
            for k in range(len(glob.glob(os.path.join(folder, f"{kind}_*.pb")))):
                Runner._load_proto(None, os.path.join(folder, f"{kind}_{k}.pb"), arrays[kind], infos[k].type)
        sets.append((arrays["input"], arrays["output"]))
    return model, sets


def is_plain(model: onnx.ModelProto) -> bool:
    """Whether a model has only float32, int32, int64 and bool tensors, no control flow and no other domain."""
    if any(o.domain not in ("", "ai.onnx") for o in model.opset_import) or model.functions:
        return False
    for v in (*model.graph.input, *model.graph.output):
        if v.type.WhichOneof("value") != "tensor_type" or v.type.tensor_type.elem_type not in PLAIN_TYPES:
            return False
    return not any(a.HasField("g") for n in model.graph.node for a in n.attribute)


class Plainly:
    """`load_onnx` and `compile` as they are called for a model of one's own: what it declares, and nothing else."""

    def __init__(self, model: onnx.ModelProto) -> None:
        try:
            self.executable = wb.compile(wb.load_onnx(model))
        except ModelError as e:
            raise unittest.SkipTest(str(e)) if e.code in onnx_backend.UNSUPPORTED else e from e

    def run(self, inputs):
        """Outputs in the model's order."""
        names = [v.name for v in self.executable.inputs]
        arrays = [np.asarray(x) if isinstance(x, np.generic) else x for x in inputs]
        try:
            return self.executable.run(dict(zip(names, arrays, strict=False))).values()
        except ModelError as e:
            raise unittest.SkipTest(str(e)) if e.code in onnx_backend.UNSUPPORTED else e from e


def run_case(case, prepare=onnx_backend.prepare) -> Outcome:
    """Run one test."""
    operator = "?"
    plain = False
    try:
        model, sets = material(case)
        operator, plain = model.graph.node[0].op_type if model.graph.node else "?", is_plain(model)
        rep = prepare(model)
        for inputs, expected in sets:
            got = list(rep.run(inputs))
            Runner.assert_similar_outputs(expected, got, rtol=case.rtol, atol=case.atol, model_dir=case.model_dir)
    except unittest.SkipTest as e:
        return Outcome(case.name, operator, "unsupported", plain, str(e).splitlines()[0])
    except Exception as e:
        lines = [line for line in str(e).splitlines() if line.strip()] or [""]
        return Outcome(case.name, operator, "failed", plain, f"{type(e).__name__}: {lines[0]}")
    return Outcome(case.name, operator, "passed", plain, reference=getattr(rep.executable, "reference_steps", ()))


def outcomes(match: str = "", kinds: tuple[str, ...] = KINDS, prepare=onnx_backend.prepare) -> Iterator[Outcome]:
    """Results of all tests whose name matches."""
    warnings.filterwarnings("ignore")
    pattern = re.compile(match)
    for kind in kinds:
        for case in load_model_tests(kind=kind):
            if pattern.search(case.name):
                yield run_case(case, prepare)


def summary(found: list[Outcome]) -> str:
    """Counts by operator, and in all."""
    lines = [f"{'operator':<32} {'passed':>7} {'compiled':>9} {'failed':>7} {'unsupported':>12}"]
    for op in sorted({o.operator for o in found}):
        of = [o for o in found if o.operator == op]
        count = Counter(o.status for o in of)
        compiled = sum(o.status == "passed" and not o.reference for o in of)
        lines.append(f"{op:<32} {count['passed']:>7} {compiled:>9} {count['failed']:>7} {count['unsupported']:>12}")
    for title, of in (("all", found), ("plain float32 and integer", [o for o in found if o.plain])):
        count = Counter(o.status for o in of)
        compiled = sum(o.status == "passed" and not o.reference for o in of)
        numbers = f"{count['passed']} passed ({compiled} of them compiled throughout)"
        lines.append(f"{title}: {numbers}, {count['failed']} failed, {count['unsupported']} unsupported of {len(of)}")
    return "\n".join(lines)


def main() -> None:
    """Entry point."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--match", default="", help="regular expression on the name of a test")
    p.add_argument("--kinds", nargs="+", default=list(KINDS), choices=[*KINDS, "real"])
    p.add_argument("--json", type=Path)
    p.add_argument("--failures", action="store_true", help="also list what failed or is not supported")
    p.add_argument("--plainly", action="store_true", help="by load_onnx(model) and compile(graph)")
    args = p.parse_args()
    found = list(outcomes(args.match, tuple(args.kinds), Plainly if args.plainly else onnx_backend.prepare))
    if args.failures:
        for o in found:
            if o.status != "passed":
                print(f"{o.status:<12} {o.name}: {o.reason}")
    print(summary(found))
    if args.json:
        args.json.write_text(json.dumps([asdict(o) for o in found], indent=1))


if __name__ == "__main__":
    main()
