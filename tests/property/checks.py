"""What must hold for every legal schedule. A check that fails raises `Violation`, which names the schedule."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from property import tensors
from property.nests import EXPECTED, NESTS
from property.randoms import Made
from workbench.errors import WorkbenchError
from workbench.intrinsics import registry
from workbench.ir import Affine, For, Func, accesses, blocks, loops
from workbench.ir.compact_temporaries import compact
from workbench.ir.interpreter import interp
from workbench.ir.stmt import walk
from workbench.ir.text.parser import parse
from workbench.ir.text.printer import to_text
from workbench.ir.verify import verify
from workbench.schedule import Schedule, drop_unit_loops, legality
from workbench.schedule.primitive import Primitive

if TYPE_CHECKING:
    from workbench.runtime.kernel import Kernel
    from workbench.runtime.measuring.operands import Operands
    from workbench.target import Target

#: Elements before and after an output that no kernel may touch (keeps the alignment).
CANARY = 64


class Violation(AssertionError):
    """A legal schedule that is wrong."""

    def __init__(self, what: str, made: Made, detail: object = "") -> None:
        super().__init__(f"{what}: {detail}\n{made}\n{made.schedule.func}")
        self.what = what


Arrays = dict[str, np.ndarray]


@functools.cache
def expected(nest: str) -> tuple[Arrays, Arrays]:
    """Inputs of a nest and what NumPy makes of them."""
    func = NESTS[nest]()
    inputs = interp.random_inputs(func, seed=7)
    rng = np.random.default_rng(7)
    for name, x in inputs.items():
        if x.dtype in (np.int8, np.uint8):  # all there are: an instruction that saturates gets large sums to do so
            inputs[name] = rng.integers(np.iinfo(x.dtype).min, 1 + np.iinfo(x.dtype).max, x.shape).astype(x.dtype)
    want = EXPECTED[nest](inputs)
    return inputs, want if isinstance(want, dict) else {func.outputs[0].name: want}


@functools.cache
def _updates(nest: str) -> Arrays:
    return interp.trace_run(NESTS[nest](), expected(nest)[0]).updates


def check_close(what: str, made: Made, got: Arrays, want: Arrays, tolerance: float = 2e-5) -> None:
    """Every output agrees within `tolerance` of its largest value; NaN never agrees."""
    if tolerance and "winograd" in made.names:
        tolerance = max(tolerance, 1e-4)  # its transforms add up numbers that are larger than the result
    if set(got) != set(want):
        raise Violation(what, made, f"outputs {sorted(got)} instead of {sorted(want)}")
    for name, b in want.items():
        a, scale = got[name], max(1e-30, float(np.max(np.abs(b))))
        allowed = 0 if np.issubdtype(b.dtype, np.integer) else tolerance * scale
        bad = np.argwhere(~(np.abs(a.astype("f8") - b.astype("f8")) <= allowed))
        if a.shape != b.shape or len(bad):
            at = tuple(int(x) for x in bad[0])
            raise Violation(
                what, made, f"{len(bad)} of {b.size} elements of {name} differ; at {at}: {a[at]} instead of {b[at]}"
            )


def check_states(made: Made) -> None:
    """The nest is well-formed after every step, and the step has done what it is for."""
    steps = made.schedule.trace if len(made.states) == len(made.schedule.trace) else [None] * len(made.states)
    for k, (step, func) in enumerate(zip(steps, made.states, strict=True)):
        try:
            verify(func)
            done = step is None or _purpose(step, func)
        except WorkbenchError as e:
            raise Violation(f"verify after step {k}", made, e) from e
        if not done:
            raise Violation(f"step {k} has not done what it is for", made, step)
        if k and step is not None:
            check_units(made, made.states[k - 1], func)
        check_intrinsics(made, func)
        check_local(made, func)
        check_bound(made, func)


def check_local(made: Made, func: Func) -> None:
    """What is local is used in the same iterations of loops over blocks and cores, and each element by one thread.

    Which thread touches an element is looked up for every iteration of the loops (vthread: one thread runs it).
    """
    for buffer in func.buffers:
        if buffer.scope != "local":
            continue
        uses = [(path, a.index) for b, path in blocks(func.body) for a in accesses(b) if a.buffer == buffer.name]
        if len({tuple(lp.name for lp in path if _runs_apart(lp.kind)) for path, _ in uses}) > 1:
            raise Violation(f"{buffer.name} is local and shared", made, buffer)
        if not func.is_concrete:
            continue  # it is looked at again when it is filled
        levels = zip(*(path for path, _ in uses), strict=False)
        home = [lps[0].name for lps in levels if len({lp.name for lp in lps}) == 1]
        owners: dict[tuple[int, ...], dict[str, int]] = {}
        for path, index in uses:
            for row in np.ndindex(*(lp.extent for lp in path)):
                at = dict(zip((lp.name for lp in path), row, strict=True))
                element = (*(at[name] for name in home), *(_value(form, at) for form in index))
                thread = {lp.kind: at[lp.name] for lp in path if lp.kind.startswith("threadIdx") and at[lp.name]}
                if owners.setdefault(element, thread) != thread:
                    raise Violation(f"two threads touch an element of {buffer.name}, which is local", made, element)


def _runs_apart(kind: str) -> bool:
    return kind == "parallel" or kind.startswith("blockIdx")


def _value(form: Affine, at: Mapping[str, int]) -> int:
    digits = ((at[d.var] // d.lower if d.extent is None else at[d.var] // d.lower % d.extent, c) for d, c in form.terms)
    return form.const + sum(value * c for value, c in digits)


def check_bound(made: Made, func: Func) -> None:
    """Blocks of a device lie in nothing but each other, and nothing is bound twice."""
    for lp, path in loops(func.body):
        if lp.kind.startswith("blockIdx") and any(
            len(up.body) > 1 or not up.kind.startswith("blockIdx") for up in path
        ):
            raise Violation(f"{lp.name} is no loop over blocks of a grid", made)
        if "Idx" in lp.kind and lp.kind in [up.kind for up in path]:
            raise Violation(f"{lp.kind} is bound twice", made, lp.name)


def check_intrinsics(made: Made, func: Func) -> None:
    """What an intrinsic is asked to compute is what it describes."""
    for lp, _ in loops(func.body):
        wrong = "" if lp.intrin is None or not func.is_concrete else tensors.differs(func, lp)
        if wrong:
            raise Violation(f"{lp.intrin} at {lp.name}", made, wrong)


def check_units(made: Made, before: Func, after: Func) -> None:
    """A step has left the loops, marks and blocks of every unit alone."""

    def inside(func: Func) -> dict[str, list[tuple[str, str]]]:
        return {
            lp.name: [(s.name, s.kind if isinstance(s, For) else "block") for s, _ in walk(lp.body)]
            for lp, _ in loops(func.body)
            if lp.is_unit
        }

    new = inside(after)
    for name, old in inside(before).items():
        if new.get(name) != old:
            raise Violation(f"the unit {name} has changed", made, f"{old} -> {new.get(name)}")


def _purpose(step: Primitive, func: Func) -> bool:
    """Whether what the step promises can be seen in the nest."""
    match step.name:
        case "parallel":
            return all(func.loop(n)[0].kind == "parallel" for n in step.args["loops"])
        case "vectorize" | "unroll":
            return func.loop(step.args["loop"])[0].kind == step.name
        case "tensorize":
            return func.loop(step.args["loop"])[0].intrin == step.args["intrin"]
        case "reorder":
            names = step.args["loops"]
            return all(outer in [lp.name for lp in func.loop(inner)[1]] for outer, inner in itertools.pairwise(names))
        case "compute_at" | "reverse_compute_at":
            return step.args["loop"] in [lp.name for lp in func.block(step.args["block"])[1]]
        case "bind":
            return func.loop(step.args["loop"])[0].kind == step.args["to"]
        case "annotate":
            found = {s.name: s.notes for s, _ in reversed(list(walk(func.body)))}
            loop = next((lp.notes for lp, _ in loops(func.body) if lp.name == step.args["at"]), None)
            return (step.args["key"], step.args["value"]) in (found[step.args["at"]] if loop is None else loop)
        case "pipeline":
            return any(lp.name == step.args["loop"] and lp.note("pipeline") == 2 for lp, _ in loops(func.body))
        case "set_scope":
            return func.buffer(step.args["buffer"]).scope == step.args["scope"]
        case "storage_align":
            dim, factor = step.args["dim"], step.args["factor"]
            buffer = func.buffer(step.args["buffer"])
            dense = next((d for d in buffer.shape[dim + 1 :] if not isinstance(d, int)), None) is None
            return not dense or buffer.strides()[dim] % factor == step.args["offset"]
        case "blockize":
            return func.loop(step.args["loop"])[0].is_unit
        case "tile":
            outer, inner = f"{step.args['second']}.0", f"{step.args['first']}.1"
            around = {lp.name: [up.name for up in path] for lp, path in loops(func.body)}
            return outer not in around or outer in around.get(inner, [outer])
        case "rfactor":
            return all(step.args["loop"] not in legality.reduction_loops(b) for b, _ in blocks(func.body))
        case "compute_inline" | "reverse_compute_inline":
            return step.args["block"] not in [b.name for b, _ in blocks(func.body)]
    return True


def check_meaning(made: Made) -> Arrays:
    """The interpreter gives NumPy's result, stores each output once, and no order of parallel loops changes it."""
    func = made.schedule.func
    inputs, want = expected(made.nest)
    try:
        result = interp.trace_run(func, inputs)
        check_close("the interpreter's result", made, result.outputs, want)
        for b in func.outputs:
            _check_counts(made, b.name, result)
        for order in ("reversed", "shuffled"):
            again = interp.run(func, inputs, order=order, seed=1)
            check_close(f"the result in {order} order", made, again, result.outputs, 0.0)
        small = interp.run(compact(func), inputs)
        check_close("the result with compact temporaries", made, small, result.outputs, 0.0)
    except (WorkbenchError, ValueError) as e:
        raise Violation("the interpreter refuses", made, e) from e
    return result.outputs


def _check_counts(made: Made, name: str, result: interp.Result) -> None:
    writes, updates = result.writes[name], result.updates[name]
    if not (writes == 1).all():
        raise Violation("writes per element of an output", made, np.unique(writes))
    # A padded reduction adds neutral elements; one that is factored adds up in two steps.
    same, before = not {"pad", "rfactor"} & {p.name for p in made.schedule.trace}, _updates(made.nest)[name]
    if same and updates.any() and before.any() and not np.array_equal(updates, before):
        raise Violation("accumulations per element of an output", made, np.unique(updates))


def check_printed(made: Made) -> None:
    """The nest survives printing and parsing."""
    func = made.schedule.func
    if parse(to_text(func)) != func:
        raise Violation("the printed nest", made, to_text(func))


def check_text(made: Made) -> None:
    """The nest survives printing and parsing, and the trace survives JSON."""
    check_printed(made)
    again = Schedule.from_json(made.schedule.base, made.schedule.to_json(), made.schedule.target)
    if again.func != made.schedule.func or again.trace != made.schedule.trace:
        raise Violation("the replayed trace", made)


def check_compiled(made: Made, want: Arrays, kind: str = "llvm", target: Target | None = None) -> str:
    """The compiled kernel, its outputs and temporaries filled with NaN first, gives the result that is wanted.

    Returns the text of the kernel; none where nothing here can run it.
    """
    from workbench.codegen.backend import build_func
    from workbench.runtime.kernel import Kernel
    from workbench.target import Target

    func, target = made.schedule.func, target or Target(kind, threads=2)
    called = {lp.intrin for lp, _ in loops(func.body) if lp.intrin is not None}
    if target.kind == "llvm" and any(registry[name].missing(target) for name in called):
        return ""
    code = build_func(func, target, poison=True)
    kernel = Kernel(func, code, target)
    check_close("the compiled result", made, run_kernel(kernel, made, expected(made.nest)[0]), want)
    check_rounding(made, kernel)
    return code.source


def check_on_threads(made: Made) -> str:
    """The CUDA C of a schedule, run thread by thread in three orders, gives what is expected; returns the text."""
    from workbench.codegen.backend import build_func
    from workbench.errors import BuildError
    from workbench.runtime.kernel import Kernel
    from workbench.target import Target

    func, target = made.schedule.func, Target("cpu-simt", threads=1)
    inputs, want = expected(made.nest)
    try:
        code = build_func(func, target)
    except BuildError as e:
        if e.code in ("gpu.shared", "gpu.threads", "gpu.scope"):
            return ""
        raise Violation("no code", made, e) from e
    kernel = Kernel(func, code, target)
    got = run_kernel(kernel, made, inputs)
    if (fault := kernel._loaded.fault()) is not None:
        raise Violation("the threads", made, f"{fault}\n{to_text(func)}\n{code.source}")
    check_close("the result of the threads", made, got, want)
    return code.source


def check_on_device(made: Made, target: Target) -> bool:
    """The kernel of a schedule gives what is expected on a device; False where that has too little of something."""
    from workbench.codegen.backend import build_func
    from workbench.errors import BuildError
    from workbench.runtime.kernel import Kernel

    func, (inputs, want) = made.schedule.func, expected(made.nest)
    try:
        code = build_func(func, target)
    except BuildError as e:
        if e.code in ("gpu.shared", "gpu.threads", "gpu.scope"):
            return False
        raise Violation("no code", made, e) from e
    kernel = Kernel(func, code, target)
    got = run_kernel(kernel, made, inputs)
    if (fault := kernel._loaded.fault()) is not None:
        raise Violation("the device", made, f"{fault}\n{to_text(func)}\n{code.source}")
    check_close("the result of the device", made, got, want)
    return True


def check_rounding(made: Made, kernel: Kernel) -> None:
    """Every element of what the runner would compute lies within its bound."""
    task = _task(made.nest)
    got = run_kernel(kernel, made, task.inputs)
    for name, want in task.expected_of(made.schedule.func.params).items():
        if want.worst(got[name]) > 1:
            raise Violation("the bound on rounding", made, want.mismatch(name, got[name]))


@functools.cache
def _task(nest: str) -> Operands:
    from workbench.runtime.measuring.operands import prepare

    return prepare(NESTS[nest](), 7)


def run_kernel(kernel: Kernel, made: Made, inputs: Arrays) -> Arrays:
    """Run a kernel with its outputs and its workspace full of NaN, and canaries around each output."""
    from workbench.runtime.buffers import aligned_empty, pointer_table, poison

    func = made.schedule.func
    rooms: Arrays = {}
    for b in func.outputs:
        room = rooms[b.name] = aligned_empty((int(np.prod(b.shape)) + 2 * CANARY,), b.dtype)
        poison(room)
        room[:CANARY] = room[-CANARY:] = 123
    given = [rooms[b.name][CANARY:] if b.role == "output" else kernel._operand(b, inputs[b.name]) for b in func.params]
    kernel._around.poison()
    kernel._around.call(kernel._loaded.address, pointer_table([a.ctypes.data for a in given]))
    for name, room in rooms.items():
        if not (room[:CANARY] == 123).all() or not (room[-CANARY:] == 123).all():
            raise Violation("stores outside of an output", made, name)
    return {b.name: rooms[b.name][CANARY:-CANARY].reshape(b.shape) for b in func.outputs}


def check_filling(made: Made, row: Mapping[str, int]) -> Made:
    """Filling the nest gives what the trace with these numbers gives, unit loops aside; returns the filled schedule."""
    filled = made.schedule.fill(row)
    replayed = check_replayed(Made(made.nest, filled, [filled.func]))
    return Made(made.nest, filled, [filled.func, replayed.schedule.func])


def check_replayed(filled: Made) -> Made:
    """The trace of a filled schedule, applied step by step, gives its nest, unit loops aside; returns what it gives."""
    try:
        replayed = Schedule.from_json(filled.schedule.base, filled.schedule.to_json(), filled.schedule.target)
    except WorkbenchError as e:
        raise Violation("the trace with numbers is refused", filled, e) from e
    a, b = drop_unit_loops(filled.schedule.func), drop_unit_loops(replayed.func)
    if a != b:
        raise Violation("filled is not replayed", filled, f"\n--- filled\n{to_text(a)}--- replayed\n{to_text(b)}")
    return Made(filled.nest, replayed, [replayed.func])


def check_all(made: Made, compiled: bool = True, target: Target | None = None) -> str:
    """All checks of a concrete schedule; returns the text of the kernel, where one ran."""
    check_states(made)
    got = check_meaning(made)
    check_text(made)
    return check_compiled(made, got, target=target) if compiled else ""
