"""What this machine is: architecture, vector extensions, caches, usable threads.

Only the standard library is used and nothing is measured. Each fact has a probe per system and a conservative answer
where the system does not tell.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from workbench.architectures import architecture, architecture_name
from workbench.errors import TargetError
from workbench.queue_settings import measuring_cores

#: What LLVM's x86-64-v3 and -v4 promise beyond the vector extensions above (Linux names).
_V3_SCALAR = {"bmi1", "bmi2", "abm", "movbe"}
# Numbers of the kernel's interface: the system call, its sub-function, and the tile data among the extended states.
_SYS_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XFEATURE_XTILEDATA = 158, 0x1023, 18


@dataclass(frozen=True, slots=True)
class Host:
    """The machine we are on as far as the system tells; sizes in bytes, caches as one core sees them."""

    triple: str
    cpu: str
    isa: frozenset[str]
    threads: int
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    line_bytes: int
    model: str


def machine() -> str:
    """Architecture in LLVM's spelling: "x86_64", "aarch64", or whatever the platform says."""
    return architecture_name(platform.machine())


def usable_threads() -> int:
    """Hardware threads that this process may use: CPU affinity and container quota count, not the machine's size."""
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity else os.cpu_count() or 1
    quota = _read("/sys/fs/cgroup/cpu.max").split()
    if len(quota) == 2 and quota[0].isdigit() and int(quota[1]) > 0:
        count = min(count, max(1, math.ceil(int(quota[0]) / int(quota[1]))))
    return max(1, count)


def memory_bytes() -> int:
    """Memory that this process may have: the machine's, or less where a container or a limit of the process says so."""
    known = [1 << 47]
    with contextlib.suppress(AttributeError, OSError, ValueError):  # not on every system
        known.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    quota = _read("/sys/fs/cgroup/memory.max")
    known += [int(quota)] if quota.isdigit() else []
    with contextlib.suppress(ImportError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        known += [soft] if soft != resource.RLIM_INFINITY else []
    return min(known)


@functools.cache
def detect() -> Host:
    """Probe this machine once per process."""
    arch = machine()
    isa, flags, model = _features(arch)
    l1, l2, l3, line = _caches()
    threads = len(measuring_cores()) or usable_threads()
    return Host(_triple(arch), _cpu_name(arch, isa, flags), isa, threads, l1, l2, l3, line, model)


#: Name of the constant by which code that uses AMX tiles is recognised.
TILE_CONFIG = "wb.tilecfg"


@functools.cache
def request_tiles() -> None:
    """Ask the system to let this process use AMX tiles; once, before the first instruction that touches one.

    Linux gives a process the 8 KiB of tile state only on request (arch_prctl, since 5.16); a tile instruction without
    it ends the process.

    Raises
    ------
    TargetError
        "target.tiles" where the system refuses.
    """
    if sys.platform != "linux" or machine() != "x86_64":
        raise _no_tiles("only Linux on x86_64 is known to grant them")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(_SYS_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XFEATURE_XTILEDATA) != 0:
        raise _no_tiles(f"arch_prctl: {os.strerror(ctypes.get_errno())}")


def _no_tiles(reason: str) -> TargetError:
    return TargetError(
        "target.tiles",
        f"The system does not let this process use AMX tiles ({reason}).",
        ("amx-tile",),
        "Linux 5.16 or newer grants them unless a container's filter forbids it; or leave amx-* out of the target's "
        "features",
    )


def _triple(arch: str) -> str:
    if sys.platform == "darwin":
        return f"{'arm64' if arch == 'aarch64' else arch}-apple-darwin{platform.release()}"
    if sys.platform == "win32":
        return f"{arch}-pc-windows-msvc"
    return f"{arch}-unknown-linux-gnu"


def _features(arch: str) -> tuple[frozenset[str], frozenset[str], str]:
    """Return (vector extensions, raw flags, model name)."""
    if sys.platform == "darwin":
        return _darwin_features(arch)
    if sys.platform == "win32":
        return _windows_features(arch)
    fields: dict[str, str] = {}
    for line in _read("/proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip().lower(), value.strip())
    flags = frozenset((fields.get("flags") or fields.get("features") or "").split())
    if letters := fields.get("isa", "").removeprefix("rv64"):  # RISC-V: rv64imafdcv_zicsr_zvl256b
        flags |= {*letters.partition("_")[0], *letters.split("_")}
    isa = frozenset(llvm for llvm, linux in architecture(arch).extensions.items() if linux in flags)
    return isa, flags, fields.get("model name", platform.processor() or arch)


def _darwin_features(arch: str) -> tuple[frozenset[str], frozenset[str], str]:
    model = _sysctl("machdep.cpu.brand_string") or arch
    if arch == "aarch64":
        optional = {"dotprod": "FEAT_DotProd", "fullfp16": "FEAT_FP16", "bf16": "FEAT_BF16", "i8mm": "FEAT_I8MM"}
        isa = {"neon"} | {k for k, v in optional.items() if _sysctl(f"hw.optional.arm.{v}") == "1"}
        return frozenset(isa), frozenset(), model
    text = f"{_sysctl('machdep.cpu.features')} {_sysctl('machdep.cpu.leaf7_features')}".lower()
    flags = frozenset(text.replace("avx1.0", "avx").split())
    return frozenset(k for k in architecture(arch).extensions if k in flags), flags | _V3_SCALAR, model


def _windows_features(arch: str) -> tuple[frozenset[str], frozenset[str], str]:
    model = platform.processor() or arch
    if arch == "aarch64":
        return frozenset({"neon"}), frozenset(), model
    import ctypes

    present = ctypes.windll.kernel32.IsProcessorFeaturePresent  # type: ignore[attr-defined, unused-ignore]
    # PF_AVX_INSTRUCTIONS_AVAILABLE .. PF_AVX512F: Windows has no call for the rest.
    # AVX2 machines all have FMA and F16C.
    isa: set[str] = {"avx"} if present(39) else set()
    if present(40):
        isa |= {"avx", "avx2", "fma", "f16c"}
    if present(41):
        isa |= {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
    return frozenset(isa), frozenset(_V3_SCALAR), model


def _cpu_name(arch: str, isa: frozenset[str], flags: frozenset[str]) -> str:
    """LLVM CPU name from the feature bits. Virtual machines report arbitrary model numbers; the bits are right."""
    if arch == "aarch64":
        return "apple-m1" if sys.platform == "darwin" else "generic"
    if arch != "x86_64":
        return "generic"
    if {"amx-tile", "avx512fp16"} & isa:
        return "sapphirerapids"
    v3 = {"avx", "avx2", "fma", "f16c"} <= isa and flags >= _V3_SCALAR
    if v3 and "clzero" in flags:
        return _zen(isa, flags)
    if v3 and {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= isa:
        return "x86-64-v4"
    return "x86-64-v3" if v3 else "x86-64"


def _zen(isa: frozenset[str], flags: frozenset[str]) -> str:
    """LLVM's name of a Zen. What is named x86-64-v3 or -v4 has the ports and latencies of an Intel processor."""
    if "avx512bf16" in isa:
        return "znver5" if "avxvnni" in isa else "znver4"
    return "znver3" if "vaes" in flags else "znver2" if "clwb" in flags else "znver1"


def _caches() -> tuple[int, int, int, int]:
    """Return (L1 data, L2, L3, line) in bytes; 0 for a level that is not there."""
    if sys.platform == "darwin":
        keys = ("hw.l1dcachesize", "hw.l2cachesize", "hw.l3cachesize", "hw.cachelinesize")
        l1, l2, l3, line = (int(_sysctl(k) or 0) for k in keys)
        return l1 or 65536, l2 or 4 << 20, l3, line or 128
    sizes: dict[int, int] = {}
    line = 64
    for entry in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        if _read(entry / "type") == "Instruction":
            continue
        level, size = _read(entry / "level"), parse_size(_read(entry / "size"))
        if level.isdigit() and size:
            sizes[int(level)] = size
            line = int(_read(entry / "coherency_line_size") or line)
    if not sizes:
        # Windows and some containers hide them: sizes that every current server and laptop core reaches.
        return 32 << 10, 512 << 10, 8 << 20, 64
    return sizes.get(1, 32 << 10), sizes.get(2, 512 << 10), sizes.get(3, 0), line


def parse_size(text: str) -> int | None:
    """Read "48K", "2M", "1G" or plain bytes; None when it is none of these."""
    text = text.strip().upper().removesuffix("B")
    unit = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:], 1)
    digits = text[:-1] if unit > 1 else text
    return int(digits) * unit if digits.isascii() and digits.isdigit() and len(digits) < 20 else None


def format_size(size: int) -> str:
    """Write a byte count so that `parse_size` reads it back exactly: "48K", "2M", "1000"."""
    for unit, letter in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if size and size % unit == 0:
            return f"{size // unit}{letter}"
    return str(size)


def _read(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _sysctl(name: str) -> str:
    try:
        done = subprocess.run(["sysctl", "-n", name], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def load_average() -> float | None:
    """Return how many programs wanted a core in the last minute, for each core; None where the system does not tell."""
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except (OSError, AttributeError):
        return None
