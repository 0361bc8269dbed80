"""The binding: text to object code to addresses, and its errors."""

import ctypes
import gc
import resource
import sys
from types import SimpleNamespace

import pytest

from workbench.codegen.llvm import llvmlite_binding
from workbench.errors import BuildError
from workbench.runtime.native import timing_loop
from workbench.runtime.native.emitter import Module
from workbench.runtime.thread_pool import native_pool
from workbench.target import Target

PLUS = "define i64 @plus(i64 %a) {\n %b = add i64 %a, 1\n ret i64 %b\n}"


def test_text_becomes_a_callable_address_and_is_unloaded():
    library = llvmlite_binding.load_object(llvmlite_binding.compile_ir(PLUS, verify=True), ["plus"])
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library["plus"])(41) == 42
    library.close()
    library.close()
    assert not library.addresses


def test_same_symbol_in_many_libraries():
    libraries = [llvmlite_binding.load_object(llvmlite_binding.compile_ir(PLUS), ["plus"]) for _ in range(3)]
    assert len({library["plus"] for library in libraries}) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_code_that_was_unloaded_leaves_nothing_behind(monkeypatch):
    monkeypatch.setattr(llvmlite_binding, "_OBJECTS_PER_LINKER", 64)
    code = llvmlite_binding.compile_ir(PLUS)
    page = resource.getpagesize()

    def after(count):
        for _ in range(count):
            llvmlite_binding.load_object(code, ["plus"]).close()
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * page

    first = after(200)
    assert after(600) - first < 2 << 20  # a linker that is kept grows by 5 MiB


def test_code_outlives_the_linker_that_loaded_it(monkeypatch):
    monkeypatch.setattr(llvmlite_binding, "_OBJECTS_PER_LINKER", 2)
    code = llvmlite_binding.compile_ir(PLUS)
    libraries = [llvmlite_binding.load_object(code, ["plus"]) for _ in range(9)]
    gc.collect()
    plus = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
    assert [plus(library["plus"])(k) for k, library in enumerate(libraries)] == list(range(1, 10))


def test_host_target_gives_assembly_and_optimised_text():
    target = Target.host()
    store = "define i64 @f(i64 %a) {\n %p = alloca i64\n store i64 %a, ptr %p\n %b = load i64, ptr %p\n ret i64 %b\n}"
    assert "alloca" not in llvmlite_binding.optimised_ir(store, target)
    assert "plus" in llvmlite_binding.assembly(PLUS, target)


def test_features_decide_where_the_cpu_name_is_a_guess():
    assert llvmlite_binding.cpu_for("rocketlake", ["avx512f", "avx512fp16"]) == "sapphirerapids"
    assert llvmlite_binding.cpu_for("haswell", ["avx2"]) == "haswell"
    assert llvmlite_binding.feature_string("+b,-a", "other-triple") == "+b,-a"
    target = Target.host()
    full = llvmlite_binding.feature_string(target.features, target.triple)
    here = [f for f, there in llvmlite_binding.host_features() if there and f not in ("fma4", "sse4a", "xop")]
    assert full == llvmlite_binding.feature_string(",".join(f"+{f}" for f in here), target.triple)


@pytest.mark.skipif(Target.host().arch != "x86_64", reason="names extensions of x86")
def test_extensions_that_are_left_out_are_off():
    some = llvmlite_binding.feature_string("+avx,+fma", Target.host().triple).split(",")
    assert {"+avx", "+fma", "-avx2", "-avx512f", "-amx-tile"} <= set(some)
    assert "+sse2" in some


@pytest.mark.skipif(Target.host().arch != "x86_64", reason="names extensions of x86")
def test_extensions_of_another_maker_are_off_where_a_target_leaves_some_out(monkeypatch):
    """What is made on this machine for an older one of another maker must run there."""
    triple = Target.host().triple
    here = (("avx", True), ("avx2", True), ("fma4", True), ("sse2", True), ("sse4a", True), ("xop", True))
    monkeypatch.setattr(llvmlite_binding, "host_features", lambda: here)
    monkeypatch.setattr(llvmlite_binding.host, "detect", lambda: SimpleNamespace(isa={"avx", "avx2"}))
    found = llvmlite_binding.feature_string("+avx", triple).split(",")
    assert {"+avx", "+sse2", "-avx2", "-fma4", "-sse4a", "-xop"} <= set(found)
    found = llvmlite_binding.feature_string("+avx,+avx2", triple).split(",")
    assert {"+avx", "+avx2", "+sse2", "-fma4", "-sse4a", "-xop"} <= set(found), "all that a target can name"


@pytest.mark.parametrize(
    ("source", "code", "said"),
    [("define i64 @f(i64 %a) {\n ret i32 %a\n}", "build.llvm", "ret i32"), ("nonsense", "build.llvm", "nonsense")],
)
def test_bad_text_names_the_line(source, code, said):
    with pytest.raises(BuildError, match=said) as caught:
        llvmlite_binding.compile_ir(source)
    assert caught.value.code == code


def test_link_errors():
    calls = "declare void @nowhere_to_be_found()\ndefine void @f() {\n call void @nowhere_to_be_found()\n ret void\n}"
    for image, symbol in (
        (llvmlite_binding.compile_ir(PLUS), "minus"),
        (llvmlite_binding.compile_ir(calls), "f"),
        (b"xx", "f"),
    ):
        with pytest.raises(BuildError) as caught:
            llvmlite_binding.load_object(image, [symbol])
        assert caught.value.code == "build.link"


@pytest.mark.parametrize(
    "machine",
    [("linux", "aarch64"), ("darwin", "arm64"), ("win32", "AMD64"), ("linux", "riscv64"), ("linux", "x86_64")],
)
def test_runtime_text_parses_for_other_machines(machine):
    import llvmlite.binding as llvm

    for entries in (native_pool.ENTRIES, timing_loop.ENTRIES):
        text = Module(*machine).text(*entries)
        llvm.parse_assembly(text).verify()


def test_peak_is_a_plausible_number_of_gflops():
    from workbench.runtime.machine import arithmetic_peak

    assert 1 < arithmetic_peak.measure(Target.host(1)) < 2000
