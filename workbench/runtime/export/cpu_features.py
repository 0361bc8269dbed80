"""Which features of the processor an exported library looks for before it runs anything.

Code that uses what a processor lacks ends the process without a word. So the library asks first, and names what is not
there.
"""

from __future__ import annotations

from collections.abc import Iterable

from workbench.architectures import architecture_name
from workbench.runtime.export.auxiliary_features import AARCH64, RISCV64
from workbench.runtime.export.feature_words import FeatureWords
from workbench.runtime.export.x86_features import X86_64
from workbench.runtime.native.emitter import Emitter, Ptr, native
from workbench.runtime.native.structs import Struct
from workbench.runtime.thread_pool.native_pool import syscall

#: arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA), as `workbench.host.request_tiles` has it.
_ASK_FOR_TILES = (158, 4131, 18)

#: A row of the table ``@checks``: a feature's name, a word, and the bits that it needs there.
CHECK = Struct.of(name="ptr", word="i32", mask="i32")

#: Architectures that libraries can be made for.
LOOKED_FOR: dict[str, FeatureWords] = {"x86_64": X86_64, "aarch64": AARCH64, "riscv64": RISCV64}


def known(features: Iterable[str], arch: str) -> list[str]:
    """Return those of the features that are looked for, in the order in which they are."""
    given = set(features)
    return [name for name in LOOKED_FOR[arch].names if name in given]


def checks(features: Iterable[str], arch: str) -> list[tuple[str, int, int]]:
    """Return the rows of ``@checks``; features that are not looked for are passed over."""
    return [(name, *row) for name in known(features, arch) for row in LOOKED_FOR[arch].rows(name)]


@native
def missing(f: Emitter) -> Ptr:
    """The name of the first feature that this machine lacks, or null."""
    told = LOOKED_FOR[architecture_name(f.module.machine)]
    words = f.room(f"[{told.count} x i32]", "i32")
    told.fill(f, words)
    with f.range(f.extern("check_count", "i64").load()) as i:
        row = f.extern("checks", CHECK)[i]
        mask = row["mask"].load()
        with f.when((words[row["word"].load().cast("zext", "i64")].load() & mask).ne(mask)):
            f.ret(row["name"].load())
    if f.module.x86:
        with f.when(f.extern("asks_tiles", "i64").load().ne(0)):
            refused = syscall(f, *_ASK_FOR_TILES).ne(0)
            f.ret(refused.select(f.extern("tiles_text"), f.null()))
    return f.null()
