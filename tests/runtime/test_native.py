"""The emitter of the runtime's machine code."""

import ctypes
from typing import Annotated

import numpy as np
import pytest

from workbench.codegen.llvm import llvmlite_binding
from workbench.runtime.native.emitter import I32, I64, Emitter, Module, Value, Words, exported, native
from workbench.runtime.native.jit import load
from workbench.runtime.native.structs import Pointer, Struct

PAIR = Struct.of(flag="i32", word="i64")
Pairs = Annotated[Value, Pointer(PAIR)]


@native
def clipped(f: Emitter, value: I64, most: I64) -> I64:
    with f.when(value.ugt(most)):
        f.ret(most)
    return value


@exported
def total(f: Emitter, data: Words, count: I64) -> I64:
    out = f.local(0)
    with f.range(count) as i:
        out.increase(clipped(f, data[i].load(), 100))
    return out.load()


@exported
def first_flag(f: Emitter, pairs: Pairs, count: I64) -> I64:
    with f.block() as search:
        with f.range(count) as i:
            with f.when(pairs[i]["flag"].load().ne(0)):
                f.ret(pairs[i]["word"].load())
            search.leave(i.eq(2))
        f.ret(f.const(-1))
    return f.const(-2)


@exported
def swapped(f: Emitter, word: Words, old: I64, new: I64) -> I32:
    _, done = word.exchange(old, new, "acq_rel monotonic")
    return done.cast("zext", "i32")


@pytest.fixture(scope="module")
def library():
    return load(total, first_flag, swapped)


def call(library, name, result, *args):
    kinds = [ctypes.c_void_p] + [ctypes.c_int64] * (len(args) - 1)
    return ctypes.CFUNCTYPE(result, *kinds)(library[name])(*args)


def test_a_loop_with_a_call(library):
    data = np.array([1, 200, 3], np.int64)
    assert call(library, "total", ctypes.c_int64, data.ctypes.data, 3) == 104
    assert call(library, "total", ctypes.c_int64, data.ctypes.data, 0) == 0


def test_fields_and_early_ends(library):
    pairs = np.zeros(5, [("flag", np.int32), ("pad", np.int32), ("word", np.int64)])
    assert (PAIR.size, PAIR.offset("word"), PAIR.type) == (pairs.itemsize, 8, "{ i32, i64 }")
    pairs["word"] = range(10, 15)
    for count, wanted in ((2, -1), (5, -2)):
        assert call(library, "first_flag", ctypes.c_int64, pairs.ctypes.data, count) == wanted
    pairs["flag"][1] = 1
    assert call(library, "first_flag", ctypes.c_int64, pairs.ctypes.data, 5) == 11


def test_an_exchange_says_whether_it_was_made(library):
    word = np.array([7], np.int64)
    assert [call(library, "swapped", ctypes.c_int32, word.ctypes.data, 7, 9) for _ in range(2)] == [1, 0]
    assert word[0] == 9


def test_locals_become_registers_and_functions_are_emitted_once():
    text = Module("linux", "x86_64").text(total, first_flag, total)
    assert text.count("@total(") == 1
    optimised = llvmlite_binding.optimised_ir(text)
    assert "alloca" not in optimised
    assert "phi i64" in optimised


def test_mistakes_are_told_where_they_are_made():
    @exported
    def wrong(f: Emitter, flag: I32) -> I64:
        return f.const(1) + flag

    @exported
    def late(f: Emitter) -> I64:
        f.ret(f.const(1))
        f.const(2) + 3
        return f.const(4)

    for function, words in ((wrong, "i32 where i64"), (late, "never reached")):
        with pytest.raises(AssertionError, match=words):
            Module("linux", "x86_64").text(function)
