"""Which features an exported library looks for on AArch64 and RISC-V, where Linux tells a program what there is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from workbench.runtime.export.feature_words import FeatureWords
from workbench.runtime.native.emitter import Emitter, External, Value, call
from workbench.runtime.thread_pool.native_pool import syscall

_getauxval = External("i64", "getauxval", "i64")
#: Entries of the auxiliary vector.
_HWCAP, _HWCAP2 = 16, 26


def _words(f: Emitter, words: Value, first: int, value: Value) -> None:
    """Keep a number of 64 bits in two words."""
    words[first].store(value.cast("trunc", "i32"))
    words[first + 1].store((value >> 32).cast("trunc", "i32"))


# ---- AArch64 ----

#: Feature, in LLVM's names -> word (0: HWCAP, 2: HWCAP2) and bits, of those that our code is allowed to use.
_ARM: Mapping[str, tuple[int, tuple[int, ...]]] = {
    "neon": (0, (1,)), "crc": (0, (7,)), "lse": (0, (8,)), "fullfp16": (0, (9, 10)), "rdm": (0, (12,)),
    "jsconv": (0, (13,)), "complxnum": (0, (14,)), "rcpc": (0, (15,)), "dotprod": (0, (20,)), "sve": (0, (22,)),
    "rcpc-immo": (0, (26,)), "flagm": (0, (27,)), "sve2": (2, (1,)), "i8mm": (2, (13,)), "bf16": (2, (14,)),
}  # fmt: skip


def _arm_rows(name: str) -> list[tuple[int, int]]:
    word, bits = _ARM[name]
    return [(word, sum(1 << bit for bit in bits))]


def _arm(f: Emitter, words: Value) -> None:
    for k, entry in enumerate((_HWCAP, _HWCAP2)):
        _words(f, words, 2 * k, _getauxval(f, entry))


AARCH64 = FeatureWords(tuple(_ARM), _arm_rows, 4, _arm)


# ---- RISC-V ----

#: Extensions of one letter are bits of HWCAP; the others those of the system call ``riscv_hwprobe``.
_LETTERS = ("m", "a", "f", "d", "c", "v")
_PROBED = {
    "zba": 3, "zbb": 4, "zbs": 5, "zbc": 7, "zbkb": 8, "zfh": 27, "zfhmin": 28, "zvfh": 30, "zvfhmin": 31, "zfa": 32,
    "zicond": 35,
}  # fmt: skip
_PROBE, _EXTENSIONS = 258, 4
#: Words: HWCAP, bytes of a vector, what is probed.
_HWCAP_AT, _VECTOR_AT, _PROBED_AT = 0, 2, 3
#: Reads how wide vectors are; to be called where there are vectors.
_WIDTH = """declare i64 @llvm.vscale.i64()
define internal i64 @vector_bytes() noinline nounwind "target-features"="+m,+a,+f,+d,+c,+v" {
  %blocks = call i64 @llvm.vscale.i64()
  %bytes = shl i64 %blocks, 3
  ret i64 %bytes
}"""


def _vector_bits(name: str) -> int:
    """Bits that an extension ``zvl…b`` promises; 0 for another one."""
    found = re.fullmatch(r"zvl(\d+)b", name)
    return int(found[1]) if found else 0


_WIDTHS = tuple(f"zvl{bits}b" for bits in (32, 64, 128, 256, 512, 1024))


def _riscv_rows(name: str) -> list[tuple[int, int]]:
    if bits := _vector_bits(name):
        return [(_VECTOR_AT, bits // 8)]
    if name in _LETTERS:
        return [(_HWCAP_AT, 1 << ord(name) - ord("a"))]
    bit = _PROBED[name]
    return [(_PROBED_AT + bit // 32, 1 << bit % 32)]


def _riscv(f: Emitter, words: Value) -> None:
    given = _getauxval(f, _HWCAP)
    _words(f, words, _HWCAP_AT, given)
    words[_VECTOR_AT].store(0)
    with f.when((given & _riscv_rows("v")[0][1]).ne(0)):
        f.module.declare(_WIDTH)
        width = call(f, "i64", "@vector_bytes", [], []).cast("trunc", "i32")
        words[_VECTOR_AT].store(width + width - 1)  # a power of two, and all that are less
    # Linux before 6.4 does not tell: what it does not know of is taken for there.
    pair = f.room("[2 x i64]", "i64")
    pair[0].store(_EXTENSIONS)
    pair[1].store(0)
    _words(f, words, _PROBED_AT, f.const(-1))
    asked = syscall(f, _PROBE, pair, 1, 0, f.null(), 0)
    with f.when(asked.eq(0) & pair.load().eq(_EXTENSIONS)):
        _words(f, words, _PROBED_AT, pair[1].load())


RISCV64 = FeatureWords((*_LETTERS, *_WIDTHS, *_PROBED), _riscv_rows, 5, _riscv)

#: A RISC-V object file says in one word what its code uses: ``rv64i2p1_m2p0_zba1p0``.
_USED = re.compile(rb"rv64i\d+p\d+(?:_[a-z0-9]+?\d+p\d+)*")


def riscv_extensions(objects: Iterable[bytes]) -> set[str]:
    """Return the extensions that object files for RISC-V say that their code uses."""
    found = (word for code in objects for word in _USED.findall(code))
    return {re.sub(r"\d+p\d+$", "", name) for text in found for name in text.decode().split("_")[1:]}
