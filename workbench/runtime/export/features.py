"""Which features of the processor an exported library looks for before it runs anything, as LLVM text (x86-64)."""

from __future__ import annotations

from collections.abc import Iterable

#: What cpuid tells, by position: (leaf, sub-leaf, register: 0 ... 3 for a, b, c, d). One more word follows: XCR0.
_WORDS = ((1, 0, 2), (7, 0, 1), (7, 0, 2), (7, 0, 3), (7, 1, 0), (0x8000_0001, 0, 2))
_XCR0 = len(_WORDS)
_YMM, _ZMM, _TILES = 0x6, 0xE6, 0x60000

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


def known(features: Iterable[str]) -> list[str]:
    """Return those of the features that are looked for, in the order in which they are."""
    given = set(features)
    return [name for name in _BITS if name in given]


def features_text(features: Iterable[str], tiles: bool) -> str:
    """Return the function ``missing``: the name of the first feature that this machine lacks, or null.

    Parameters
    ----------
    features : iterable of str
        What the code needs, in LLVM's names; those that are not in the table are passed over.
    tiles : bool
        Whether the system has to be asked for AMX tiles.
    """
    rows: list[tuple[str, int, int]] = []
    for name in known(features):
        word, bit = _BITS[name]
        rows.append((name, word, 1 << bit))
        if state := _state(name):
            rows.append((name, _XCR0, state))
    names = "".join(
        f'@feature{i} = internal constant [{len(name) + 1} x i8] c"{name}\\00"\n' for i, (name, _, _) in enumerate(rows)
    )
    cells = ", ".join(f"%check {{ ptr @feature{i}, i32 {word}, i32 {mask} }}" for i, (_, word, mask) in enumerate(rows))
    table = f"%check = type {{ ptr, i32, i32 }}\n@checks = internal constant [{len(rows)} x %check] [{cells}]\n"
    asks = "\n".join(
        f"  %r{i} = call {{ i32, i32, i32, i32 }} @leaf(i32 {leaf}, i32 {sub})\n"
        f"  %v{i} = extractvalue {{ i32, i32, i32, i32 }} %r{i}, {register}\n"
        f"  %p{i} = getelementptr i32, ptr %words, i64 {i}\n  store i32 %v{i}, ptr %p{i}, align 4"
        for i, (leaf, sub, register) in enumerate(_WORDS)
    )
    body = _TEXT.replace("[ASK]", asks).replace("[ROWS]", str(len(rows))).replace("[XCR0]", str(_XCR0))
    return names + table + body.replace("[TILES]", _ASK_TILES if tiles else _NO_TILES)


_TEXT = """
define internal { i32, i32, i32, i32 } @cpuid(i32 %leaf, i32 %sub) nounwind {
  %r = call { i32, i32, i32, i32 } asm sideeffect "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx}"(i32 %leaf, i32 %sub)
  ret { i32, i32, i32, i32 } %r
}
; What cpuid says, zeros for a leaf that this machine does not have.
define internal { i32, i32, i32, i32 } @leaf(i32 %leaf, i32 %sub) nounwind {
entry:
  %group = and i32 %leaf, -2147483648
  %about = call { i32, i32, i32, i32 } @cpuid(i32 %group, i32 0)
  %last = extractvalue { i32, i32, i32, i32 } %about, 0
  %there = icmp uge i32 %last, %leaf
  br i1 %there, label %ask, label %none
ask:
  %r = call { i32, i32, i32, i32 } @cpuid(i32 %leaf, i32 %sub)
  ret { i32, i32, i32, i32 } %r
none:
  ret { i32, i32, i32, i32 } zeroinitializer
}
define internal ptr @missing() nounwind {
entry:
  %words = alloca [8 x i32], align 16
[ASK]
  %xp = getelementptr i32, ptr %words, i64 [XCR0]
  store i32 0, ptr %xp, align 4
  %kept = and i32 %v0, 134217728 ; OSXSAVE: the next instruction is allowed
  %tells = icmp ne i32 %kept, 0
  br i1 %tells, label %state, label %test
state:
  %x = call { i32, i32 } asm sideeffect "xgetbv", "={ax},={dx},{cx}"(i32 0)
  %low = extractvalue { i32, i32 } %x, 0
  store i32 %low, ptr %xp, align 4
  br label %test
test:
  %i = phi i64 [ 0, %entry ], [ 0, %state ], [ %i1, %met ]
  %more = icmp ult i64 %i, [ROWS]
  br i1 %more, label %look, label %all
look:
  %row = getelementptr %check, ptr @checks, i64 %i
  %wp = getelementptr i8, ptr %row, i64 8
  %word = load i32, ptr %wp, align 4
  %mp = getelementptr i8, ptr %row, i64 12
  %mask = load i32, ptr %mp, align 4
  %w64 = zext i32 %word to i64
  %vp = getelementptr i32, ptr %words, i64 %w64
  %value = load i32, ptr %vp, align 4
  %both = and i32 %value, %mask
  %fits = icmp eq i32 %both, %mask
  %i1 = add i64 %i, 1
  br i1 %fits, label %met, label %unmet
met:
  br label %test
unmet:
  %name = load ptr, ptr %row, align 8
  ret ptr %name
all:
[TILES]
}
"""

_NO_TILES = "  ret ptr null"

#: arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA), as `workbench.host.request_tiles` has it.
_ASK_TILES = """  %rc = call i64 (i64, ...) @syscall(i64 158, i64 4131, i64 18)
  %granted = icmp eq i64 %rc, 0
  %refused = select i1 %granted, ptr null, ptr @tiles_text
  ret ptr %refused"""
