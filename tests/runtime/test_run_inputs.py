"""What may be given to a compiled network, and what is said about the rest."""

import numpy as np
import pytest

from workbench.errors import ShapeError
from workbench.runtime.execution.executable import Executable
from workbench.runtime.networks.execution_plan import ArraySpec, ExecutablePlan, HostCall, Slot

SHAPE = (4, 6)
ANSWER = np.arange(24, dtype="float32").reshape(SHAPE)


class Unwilling:
    def __array__(self, *args, **kwargs):
        raise RuntimeError("not on this device")


@pytest.fixture(scope="module")
def double():
    """y = 2 x + b."""
    x, b, y = ArraySpec("x", SHAPE), ArraySpec("b", (6,)), ArraySpec("y", SHAPE)
    call = HostCall("double", lambda x, b: (2 * x + b,), ((Slot("input", 0), x), (Slot("input", 1), b)),
                    ((Slot("output", 0), y),), "a test", "Test")  # fmt: skip
    return Executable(ExecutablePlan((x, b), (y,), (), 0, (call,)))


B = np.zeros(6, "float32")

GOOD = {
    "fortran order": np.asfortranarray(ANSWER),
    "a view with steps": np.repeat(ANSWER, 2, axis=1)[:, ::2],
    "a view from the end": ANSWER[::-1, ::-1].copy()[::-1, ::-1],
    "a broadcast view": None,
    "an array that begins anywhere": np.concatenate([[0], ANSWER.reshape(-1)]).astype("float32")[1:].reshape(SHAPE),
    "a matrix": ANSWER.view(np.matrix),
    "a masked array": np.ma.array(ANSWER),
    "native order by name": ANSWER.astype("=f4"),
}


@pytest.mark.parametrize("what", GOOD)
def test_taken(double, what):
    x = GOOD[what]
    if x is None:
        x = np.broadcast_to(np.float32(3), SHAPE)
    before = np.array(x)
    found = double.run(x, B)["y"]
    np.testing.assert_array_equal(found, 2 * before)
    assert type(found) is np.ndarray
    assert found.flags.writeable
    np.testing.assert_array_equal(np.array(x), before)


def test_read_only_arrays_are_read(double):
    x = ANSWER.copy()
    x.flags.writeable = False
    np.testing.assert_array_equal(double.run(x, B)["y"], 2 * ANSWER)


def test_numbers_that_are_none_pass_through(double):
    x = ANSWER.copy()
    x[0, :3] = np.nan, np.inf, -np.inf
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(double.run(x, B)["y"], 2 * x)


BAD = {
    "no input": ((), {}, "shape.count", "x, b"),
    "one of two": ((ANSWER,), {}, "shape.count", "b"),
    "one of two by name": (({"b": B},), {}, "shape.count", "x"),
    "too many": ((ANSWER, B, B), {}, "shape.count", "2 inputs"),
    "an unknown name": (({"x": ANSWER, "B": B},), {}, "shape.name", "inputs: x, b"),
    "an unknown keyword": ((ANSWER,), {"c": B}, "shape.name", "c"),
    "a name that is none": (({"x": ANSWER, 3: B},), {}, "shape.name", "3"),
    "twice": ((ANSWER, B), {"x": ANSWER}, "shape.name", "twice"),
    "twice in a mapping": (({"x": ANSWER, "b": B},), {"b": B}, "shape.name", "twice"),
    "a missing axis": ((ANSWER.reshape(-1), B), {}, "shape.mismatch", "(24,)"),
    "another axis": ((ANSWER[None], B), {}, "shape.mismatch", "(1, 4, 6)"),
    "a number": ((1.0, B), {}, "shape.mismatch", "()"),
    "transposed": ((ANSWER.T, B), {}, "shape.mismatch", "(6, 4)"),
    "something that would broadcast": ((ANSWER, B[:1]), {}, "shape.mismatch", "(1,)"),
    "nothing": ((None, B), {}, "shape.mismatch", "()"),
    "double precision": ((ANSWER.astype("f8"), B), {}, "shape.dtype", "float64"),
    "half precision": ((ANSWER.astype("f2"), B), {}, "shape.dtype", "float16"),
    "integers": ((ANSWER.astype("i4"), B), {}, "shape.dtype", "int32"),
    "truth values": ((ANSWER > 3, B), {}, "shape.dtype", "bool"),
    "complex numbers": ((ANSWER.astype("c8"), B), {}, "shape.dtype", "complex64"),
    "the other byte order": ((ANSWER.astype(">f4"), B), {}, "shape.dtype", ">f4"),
    "objects": ((ANSWER.astype(object), B), {}, "shape.dtype", "object"),
    "text": ((ANSWER.astype(str), B), {}, "shape.dtype", "<U"),
    "lists of double precision": ((ANSWER.tolist(), B), {}, "shape.dtype", "float64"),
    "rows of different lengths": (([[1.0, 2.0], [3.0]], B), {}, "shape.dtype", "x cannot be made an array"),
    "something that does not want to be an array": ((Unwilling(), B), {}, "shape.dtype", "not on this device"),
    "a structured array": ((np.zeros(SHAPE, "f4,f4"), B), {}, "shape.dtype", "float32"),
}


@pytest.mark.parametrize("what", BAD)
def test_refused(double, what):
    args, named, code, said = BAD[what]
    with pytest.raises(ShapeError) as caught:
        double.run(*args, **named)
    assert caught.value.code == code
    assert said in str(caught.value)


@pytest.mark.parametrize("what", [k for k, (args, _, _, _) in BAD.items() if args and isinstance(args[0], dict)][:3])
def test_measuring_refuses_the_same(double, what, tmp_path):
    (given,), _, code, said = BAD[what]
    for use in (double.benchmark, double.profile, lambda x: double.trace(tmp_path / "t.json", x)):
        with pytest.raises(ShapeError) as caught:
            use(given)
        assert caught.value.code == code
        assert said in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_refusal_leaves_everything_usable(double):
    for args, named, _, _ in BAD.values():
        with pytest.raises(ShapeError):
            double.run(*args, **named)
    np.testing.assert_array_equal(double.run(ANSWER, b=B)["y"], 2 * ANSWER)
    assert len(double._contexts.waiting) >= 1


TYPES = ("bool", "int8", "uint8", "int32", "int64", "float16", "float64", "bfloat16")


@pytest.mark.parametrize("dtype", TYPES)
def test_other_types_and_empty_arrays(dtype):
    import ml_dtypes  # noqa: F401  # declares bfloat16

    shapes = ((), (3,), (0, 4))
    for shape in shapes:
        x, y = ArraySpec("x", shape, dtype), ArraySpec("y", shape, dtype)
        same = HostCall("same", lambda x: (x,), ((Slot("input", 0), x),), ((Slot("output", 0), y),), "a test", "Test")
        executable = Executable(ExecutablePlan((x,), (y,), (), 0, (same,)))
        given = np.ones(shape, np.dtype(dtype))
        found = executable.run(given)["y"]
        assert found.dtype == given.dtype
        np.testing.assert_array_equal(found, given)
        if shape == shapes[TYPES.index(dtype) % 3]:  # each type and each shape, but it takes a second
            executable.benchmark(repeat=1)
