"""Which features of an x86-64 processor an exported library looks for: what cpuid says, and what the system keeps."""

from __future__ import annotations

from workbench.runtime.export.feature_words import FeatureWords
from workbench.runtime.native.emitter import I32, I64, Emitter, Value, call, native

#: What cpuid tells, by position: (leaf, sub-leaf, register: 0 ... 3 for a, b, c, d). One more word follows: XCR0.
_WORDS = ((1, 0, 2), (7, 0, 1), (7, 0, 2), (7, 0, 3), (7, 1, 0), (0x8000_0001, 0, 2))
_XCR0 = len(_WORDS)
#: Register state that the system keeps, as bits of that word.
_YMM, _ZMM, _TILES = 0x6, 0xE6, 0x60000

#: Bit of the first word: the system lets programs read XCR0.
_OSXSAVE = 1 << 27

#: Feature, in LLVM's names -> (word, bit), of those that change which instructions are chosen for arithmetic and moves.
#: What a processor has besides (encryption, virtual machines, ...) no network asks for, and prefetches do no harm.
_BITS = {
    "sse3": (0, 0), "ssse3": (0, 9), "fma": (0, 12), "sse4.1": (0, 19), "sse4.2": (0, 20), "movbe": (0, 22),
    "popcnt": (0, 23), "avx": (0, 28), "f16c": (0, 29),
    "bmi": (1, 3), "avx2": (1, 5), "bmi2": (1, 8), "avx512f": (1, 16), "avx512dq": (1, 17), "avx512ifma": (1, 21),
    "avx512cd": (1, 28), "avx512bw": (1, 30), "avx512vl": (1, 31),
    "avx512vbmi": (2, 1), "avx512vbmi2": (2, 6), "gfni": (2, 8), "avx512vnni": (2, 11), "avx512bitalg": (2, 12),
    "avx512vpopcntdq": (2, 14),
    "amx-bf16": (3, 22), "avx512fp16": (3, 23), "amx-tile": (3, 24), "amx-int8": (3, 25),
    "avxvnni": (4, 4), "avx512bf16": (4, 5), "avxifma": (4, 23),
    "lzcnt": (5, 5), "sse4a": (5, 6), "xop": (5, 11), "fma4": (5, 16), "tbm": (5, 21),
}  # fmt: skip


def _state(name: str) -> int:
    """Register state that the system has to keep for a feature, as bits of XCR0."""
    if name.startswith("amx"):
        return _TILES
    if name.startswith("avx512"):
        return _ZMM
    return _YMM if name.startswith("avx") or name in ("fma", "f16c", "xop", "fma4") else 0


def _rows(name: str) -> list[tuple[int, int]]:
    word, bit = _BITS[name]
    return [(word, 1 << bit), *([(_XCR0, state)] if (state := _state(name)) else [])]


_REGISTERS = "{ i32, i32, i32, i32 }"


def _cpuid(f: Emitter, leaf: Value, sub: Value | int) -> list[Value]:
    text = 'asm sideeffect "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx}"'
    found = call(f, _REGISTERS, text, ["i32", "i32"], [leaf, sub])
    return [found.part(k, "i32") for k in range(4)]


@native
def cpuid_word(f: Emitter, leaf: I32, sub: I32, register: I64) -> I32:
    """A register of what cpuid says, zero for a leaf that this machine does not have."""
    out = f.room("[4 x i32]", "i32")
    with f.when(_cpuid(f, leaf & -(1 << 31), 0)[0].ult(leaf)):
        f.ret(f.const(0, "i32"))
    for k, value in enumerate(_cpuid(f, leaf, sub)):
        out[k].store(value)
    return out[register].load()


def _fill(f: Emitter, words: Value) -> None:
    for k, (leaf, sub, register) in enumerate(_WORDS):
        words[k].store(cpuid_word(f, leaf - (leaf >> 31 << 32), sub, register))
    words[_XCR0].store(0)
    with f.when((words.load() & _OSXSAVE).ne(0)):
        state = call(f, "{ i32, i32 }", 'asm sideeffect "xgetbv", "={ax},={dx},{cx}"', ["i32"], [0])
        words[_XCR0].store(state.part(0, "i32"))


X86_64 = FeatureWords(tuple(_BITS), _rows, len(_WORDS) + 1, _fill)
