"""What every registered primitive promises. A new primitive is tested by being declared."""

from __future__ import annotations

import inspect
import json

import numpy as np
import primitives
import pytest
from schedule import nests
from schedule.refusals import REFUSALS

from workbench.errors import ScheduleError, UsageError
from workbench.schedule import Hole, Schedule, registry
from workbench.schedule.primitive import COMMON_CODES, Primitive, from_json

PRIMITIVES = list(registry)
CODES = sorted({c for p in PRIMITIVES for c in p.codes} | set(COMMON_CODES))
SMALL = ["matmul", "conv", "two_products", "elementwise", "stencil", "row_sum"]


def test_the_usual_primitives_are_registered():
    assert set(registry.names) >= {
        *("split", "fuse", "reorder", "parallel", "vectorize", "unroll", "compute_at", "reverse_compute_at"),
        *("compute_inline", "cache_write", "cache_read", "transform_layout"),
    }


@pytest.mark.parametrize("cls", PRIMITIVES, ids=lambda c: c.name)
def test_declaration_gives_a_documented_method(cls):
    method = getattr(Schedule, cls.name)
    assert list(inspect.signature(method).parameters) == ["self", *(f.name for f in cls.fields())]
    doc = inspect.getdoc(method)
    assert "Contract:" in doc
    assert all(code in doc for code in cls.codes)
    assert all(f.kind.label for f in cls.fields())
    assert cls.summary().endswith(".")


@pytest.mark.parametrize("cls", PRIMITIVES, ids=lambda c: c.name)
def test_steps_survive_json_and_python(cls):
    seen = 0
    starts = [Schedule(make()) for make in nests.WORKLOADS.values()]
    if (start := primitives.given("start", None).get(cls.name)) is not None:
        starts.append(start())
    for schedule in starts:
        for step in cls.candidates(schedule.func):
            step = step.resolve(schedule.func)
            text = json.dumps(step.to_json())
            assert from_json(json.loads(text)) == step
            s = _Recorder()
            exec(step.to_python("s"), {"s": s, "Hole": Hole})
            assert s.step == step
            seen += 1
    assert seen


class _Recorder:
    """Catches the method call that the Python text of a step makes."""

    def __getattr__(self, name):
        def call(*args, **kwargs):
            self.step = registry[name].make(*args, **kwargs)

        return call


@pytest.mark.parametrize("cls", PRIMITIVES, ids=lambda c: c.name)
def test_form_lists_options(cls):
    func = nests.epilogue()
    for field in cls.fields():
        form = field.describe(func, {"loop": "i", "first": "i", "second": "j"})
        assert json.loads(json.dumps(form)) == form
        assert form["widget"] != "text"
        if field.kind.widget in ("select", "multiselect", "factors", "size"):
            assert form["options"]


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_reached(code):
    make, (name, *args) = REFUSALS[code]
    schedule = make()
    before = schedule.func, schedule.trace
    with pytest.raises(ScheduleError) as caught:
        getattr(schedule, name)(*args)
    error = caught.value
    assert error.code == code
    assert error.where, "an error says where"
    assert error.message.endswith((".", "!"))
    assert error.message.count("\n") == 0
    assert error.hint, "an error says what to do about it"
    assert (schedule.func, schedule.trace) == before, "a refused step leaves the schedule as it was"
    declared = set(registry[name].codes) | set(COMMON_CODES)
    assert code in declared


@pytest.mark.parametrize("workload", SMALL)
@pytest.mark.parametrize("cls", PRIMITIVES, ids=lambda c: c.name)
def test_legal_candidates_keep_the_result(cls, workload):
    base = Schedule(nests.WORKLOADS[workload]())
    for step in list(cls.candidates(base.func))[:12]:
        schedule = base.copy()
        refusal = None
        try:
            schedule.apply(step)
        except ScheduleError as e:
            refusal = e.code
        if refusal is None:
            nests.check_rows(schedule, rows=2)
        else:
            assert refusal in set(cls.codes) | set(COMMON_CODES)


def test_arguments_are_checked():
    s = Schedule(nests.epilogue())
    for call in (
        lambda: s.split("i"),
        lambda: s.split("i", [None, 0]),
        lambda: s.split("i", [None, 2.5]),
        lambda: s.split(3, [None, 2]),
        lambda: s.split("i", [None, Hole(choices=["a"])]),
        lambda: s.vectorize(Hole()),
        lambda: s.transform_layout("B", "x", 4),
        lambda: s.fuse("i", 3),
        lambda: s.parallel(loop="i"),
    ):
        with pytest.raises(UsageError) as caught:
            call()
        assert caught.value.code == "primitive.argument"
        assert "usage:" in caught.value.hint


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ("nonsense", "trace.step"),
        ({"primitive": "split", "args": [1]}, "trace.step"),
        ({"primitive": "split", "args": {"loop": "i", "factors": [{"a": 1}]}}, "trace.step"),
        ({"primitive": "split", "args": {"loop": "i", "factors": [{"hole": 3}]}}, "trace.step"),
        ({"primitive": "spilt", "args": {}}, "primitive.unknown"),
        ({"primitive": "split", "args": {"loop": "i"}}, "primitive.argument"),
        ({"primitive": "split", "args": {"loop": "i", "factors": [2], "tails": "guard"}}, "primitive.argument"),
    ],
)
def test_broken_steps_are_refused(data, code):
    with pytest.raises((ScheduleError, UsageError)) as caught:
        from_json(data)
    assert caught.value.code == code


RANDOM = [(w, k) for w in nests.WORKLOADS for k in range(3)]


@pytest.mark.parametrize(("workload", "seed"), RANDOM)
def test_random_schedules(workload, seed):
    """Random candidates, some with holes: right results, one write each, filling = replaying with the numbers."""
    rng = np.random.default_rng([seed, len(workload), ord(workload[0])])
    schedule = Schedule(nests.WORKLOADS[workload]())
    for _ in range(8):
        cls = PRIMITIVES[rng.integers(len(PRIMITIVES))]
        steps: list[Primitive] = list(cls.candidates(schedule.func))
        for k in rng.permutation(len(steps))[:4]:
            if cls.name == "split" and seed % 2 and not any(isinstance(f, Hole) for f in steps[k].factors):
                continue
            try:
                schedule.apply(steps[k])
            except ScheduleError:
                continue
            break
    nests.check_rows(schedule, rows=2, seed=seed)
