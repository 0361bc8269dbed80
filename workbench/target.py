"""What to generate code for, as a value: CPU, vector extensions, threads, caches; and this machine's measured peak.

The text form round-trips and is what logs hold::

    llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell -mattr=+avx,+avx2,+f16c,+fma -l1=32K -l2=1M -l3=32M -threads=4

`Target` describes vector extensions only. Which of the host's other features the code may use is the code generator's
business.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from workbench import host
from workbench.architectures import architecture, architecture_name
from workbench.errors import TargetError, did_you_mean
from workbench.target_kinds import TargetKind, target_kinds
from workbench.target_kinds.processor_options import NO_PROCESSOR, processor
from workbench.target_kinds.text import meant, read_words

#: Function that measures `Target.peak_gflops`. Named, not imported: measuring needs the runtime, which
#: lies above this module.
PEAK_PROBE = "workbench.runtime.machine.arithmetic_peak:measure"

_KEYS = {"mtriple": "triple", "mcpu": "cpu", "mattr": "features", "threads": "threads",
         "l1": "l1_bytes", "l2": "l2_bytes", "l3": "l3_bytes", "line": "line_bytes"}  # fmt: skip
_ITEM_BYTES = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2, "int32": 4,
               "uint32": 4,
               "float32": 4, "int64": 8, "uint64": 8, "float64": 8}  # fmt: skip


@dataclass(frozen=True, slots=True, init=False)
class Target:
    """What to generate code for. Equal targets are interchangeable, so one can be a dictionary key.

    Parameters
    ----------
    kind : str or mapping
        ``"llvm"``, ``"c"`` (portable C for the system's compiler) or another kind of `workbench.target_kinds`, alone or
        followed by options as in the module's text form. Of a CPU of this machine's architecture, what is left out is
        that of this machine; of another one, what is known of the CPU. TVM's targets are read as well, as text or as a
        dictionary: ``"llvm -mcpu=core-avx2 -num-cores=4"``.
    cpu : str, optional
        LLVM CPU name, or ``"native"`` for this machine.
    features : str or iterable of str, optional
        Vector extensions, ``"+avx2,+fma"``. Default: those that `cpu` has.
    triple : str, optional
        LLVM target triple.
    threads : int, optional
        Threads that a kernel may use.
    l1_bytes, l2_bytes, l3_bytes, line_bytes : int, optional
        Data cache sizes as one core sees them (0: no such level) and the length of a cache line, in bytes.
    options : mapping, optional
        Options that only this kind has, by name; read them with `option`.

    Raises
    ------
    TargetError
        "target.kind", "target.option", "target.cpu", "target.feature", "target.threads", "target.size".
    """

    kind: str
    cpu: str
    features: str
    triple: str
    threads: int
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    line_bytes: int
    options: tuple[tuple[str, str | int], ...]

    def __init__(
        self,
        kind: str | Mapping[str, object] = "llvm",
        *,
        cpu: str | None = None,
        features: str | Iterable[str] | None = None,
        triple: str | None = None,
        threads: int | None = None,
        l1_bytes: int | None = None,
        l2_bytes: int | None = None,
        l3_bytes: int | None = None,
        line_bytes: int | None = None,
        options: Mapping[str, object] | Iterable[tuple[str, object]] | None = None,
    ) -> None:
        given = {"cpu": cpu, "features": features, "triple": triple, "threads": threads, "l1_bytes": l1_bytes,
                 "l2_bytes": l2_bytes, "l3_bytes": l3_bytes, "line_bytes": line_bytes}  # fmt: skip
        values = _resolve(*_parse(kind), {k: v for k, v in given.items() if v is not None}, dict(options or ()))
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def host(cls, threads: int | None = None) -> Target:
        """Return this machine, with all threads that the process may use unless `threads` says otherwise."""
        return cls("llvm", cpu="native", threads=threads)

    @property
    def arch(self) -> str:
        """Architecture in LLVM's spelling, for example ``"x86_64"`` or ``"aarch64"``."""
        return architecture_name(self.triple)

    def option(self, name: str) -> str | int:
        """Value of an option that only this kind has; ``KeyError`` for one that it has not."""
        return dict(self.options)[name]

    @property
    def isa(self) -> frozenset[str]:
        """Names of the vector extensions, and of what else decides which intrinsics there are."""
        kind = target_kinds[self.kind]
        own = [f"{name}-{self.option(name)}" for name in kind.extensions]
        more = (x for name in (kind.name, *own) for x in kind.includes.get(name, ()))
        return frozenset([*(f.removeprefix("+") for f in self.features.split(",") if f), *own, *more])

    @property
    def title(self) -> str:
        """The processor's name, or the kind with what decides which intrinsics it has."""
        own = (f" -{name}={self.option(name)}" for name in target_kinds[self.kind].extensions)
        return self.cpu or self.kind + "".join(own)

    @property
    def vector_bytes(self) -> int:
        """Width of a vector register in bytes."""
        return architecture(self.arch).vectors_of(self.isa).nbytes

    @property
    def vector_registers(self) -> int:
        """Number of architectural vector registers."""
        return architecture(self.arch).vectors_of(self.isa).registers

    def lanes(self, dtype: str) -> int:
        """Elements of `dtype` in one vector register; `TargetError` "target.dtype" for an unknown dtype."""
        size = _ITEM_BYTES.get(str(dtype))
        if size is None:
            raise TargetError("target.dtype", f"There is no vector of {dtype!r}.", (str(dtype),),
                              did_you_mean(str(dtype), _ITEM_BYTES, "dtypes"))  # fmt: skip
        return self.vector_bytes // size

    def missing_here(self) -> tuple[str, ...]:
        """Name what this machine lacks to run code for the target: extensions, or the architecture itself.

        Nothing for a kind that is no processor: whether its kernels run is for its backend to say.
        """
        if not target_kinds[self.kind].processor:
            return ()
        here = host.detect()
        if self.arch != architecture_name(here.triple):
            return (self.arch,)
        return tuple(sorted(self.isa - here.isa))

    def require_here(self) -> None:
        """Raise `TargetError` "target.host" when this machine cannot run code for the target."""
        if missing := self.missing_here():
            raise TargetError(
                "target.host",
                f"This machine cannot run code for {self.cpu!r}: it lacks {', '.join(missing)}.",
                missing,
                "use Target.host(), or leave the extension out of -mattr",
            )

    def require_roofs(self) -> None:
        """Raise `TargetError` where arithmetic and memory are not measured: "target.roofs", "target.host"."""
        if not target_kinds[self.kind].processor:
            message = f"Peaks are measured on processors; {self.kind!r} has none."
            hint = "wb.Target.host().peak_gflops() is this CPU's; the estimate of a device follows from its options"
            raise TargetError("target.roofs", message, (self.kind,), hint)
        self.require_here()

    def peak_gflops(self, remeasure: bool = False) -> float:
        """Sustained float32 multiply-add rate of one core in GFLOP/s, measured once and kept in the cache directory.

        Raises
        ------
        TargetError
            "target.roofs" for a device; "target.host" when this machine cannot run the target's code.
        """
        self.require_roofs()
        stored = None if remeasure else self.stored_peak()
        if stored is not None:
            return stored
        value = float(_from_above(PEAK_PROBE)(self))
        write_json(self._peak_file(), {"target": str(self), "model": host.detect().model, "gflops": value})
        return value

    def stored_peak(self) -> float | None:
        """Peak that an earlier `peak_gflops` left in the cache directory, in GFLOP/s."""
        try:
            value = json.loads(self._peak_file().read_text(encoding="utf-8"))["gflops"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return float(value) if isinstance(value, int | float) and value > 0 else None

    def stored_peaks(self, threads: int) -> dict[str, float]:
        """Peaks of products of narrow numbers that were measured with so many threads, in GFLOP/s of all, by type."""
        try:
            kept = json.loads(self._peak_file(threads).read_text(encoding="utf-8"))["peaks"].items()
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}
        return {k: float(v) for k, v in kept if isinstance(v, int | float) and v > 0}

    def store_peaks(self, threads: int, peaks: Mapping[str, float]) -> None:
        """Keep what `stored_peaks` returns."""
        about = {"target": str(self), "model": host.detect().model, "threads": threads}
        write_json(self._peak_file(threads), {**about, "peaks": dict(peaks)})

    def _peak_file(self, threads: int = 0) -> Path:
        key = f"{self.triple} {self.cpu} {self.features} {host.detect().model}{f' {threads}' if threads else ''}"
        return cache_dir() / f"peak-{hashlib.sha256(key.encode()).hexdigest()[:16]}.json"

    def to_json(self) -> dict[str, Any]:
        """Return all fields as a plain dictionary."""
        return {**asdict(self), "options": dict(self.options)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Target:
        """Rebuild from `to_json`; unknown keys are ignored, missing ones are an error "target.option"."""
        names = [f.name for f in fields(cls)]
        missing = [n for n in names if n not in data and n != "options"]
        if missing:
            raise TargetError("target.option", f"The stored target lacks {', '.join(missing)}.", tuple(missing))
        return cls(**{n: data[n] for n in names if n in data})

    def __str__(self) -> str:
        own = [f"-{name}={value}" for name, value in self.options]
        if not target_kinds[self.kind].processor:
            return " ".join([self.kind, *own])
        parts = [self.kind, f"-mtriple={self.triple}", f"-mcpu={self.cpu}"]
        # An explicit empty list: without it, reading the text back would give the CPU's own extensions.
        parts.append(f"-mattr={self.features}")
        parts += [f"-{k}={host.format_size(getattr(self, f'{k}_bytes'))}" for k in ("l1", "l2", "l3")]
        if self.line_bytes != 64:
            parts.append(f"-line={self.line_bytes}")
        return " ".join([*parts, f"-threads={self.threads}", *own])


def cache_dir() -> Path:
    """Directory for what is kept between runs; the environment variable WORKBENCH_CACHE_DIR overrides it."""
    if override := os.environ.get("WORKBENCH_CACHE_DIR"):
        return Path(override)
    try:
        if sys.platform == "win32":
            base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # a user without a home, as in some containers
        base = Path(tempfile.gettempdir()) / f"cache-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    return Path(base) / "schedule-workbench"


def _parse(given: object) -> tuple[TargetKind, dict[str, object], dict[str, object]]:
    """Split a target's text into its kind, the options of a processor, and the kind's own; values are still text."""
    name, words = read_words(given)
    kind = target_kinds[name]
    keys = _KEYS if kind.processor else {}
    cpu: dict[str, object] = {}
    own: dict[str, object] = {}
    known = {o.name for o in kind.options}
    for option, value in meant(kind, words):
        into, key = (own, option) if option in known else (cpu, keys.get(option, ""))
        if not key:
            raise TargetError("target.option", f"The target option {option!r} is not understood.", (f"-{option}",),
                              did_you_mean(f"-{option}=", [f"-{k}=" for k in (*keys, *known)], "options"))  # fmt: skip
        if key in into:
            raise TargetError("target.option", f"The target option -{option} is given twice.", (f"-{option}",))
        into[key] = value
    return kind, cpu, own


def _from_above(place: str) -> Any:
    """Something of a module that lies above this one, which is loaded when it is asked for."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def _resolve(
    kind: TargetKind,
    text: Mapping[str, object],
    own: Mapping[str, object],
    given: Mapping[str, object],
    options: Mapping[str, object],
) -> dict[str, object]:
    """Fill in what is not given and check every value."""
    given = {**text, **given}
    unknown = [name for name in options if name not in {o.name for o in kind.options}]
    if unknown:
        raise TargetError("target.option", f"The kind {kind.name!r} has no option -{unknown[0]}.", tuple(unknown))
    out: dict[str, object] = {"kind": kind.name, "options": kind.read({**own, **options})}
    out |= processor(given) if kind.processor else NO_PROCESSOR | {"triple": kind.name}
    return {f: out[f] for f in (x.name for x in fields(Target))}


def write_json(path: Path, data: Mapping[str, object]) -> None:
    """Replace `path` in one step; a cache that cannot be written only costs measuring again."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, suffix=".tmp", delete=False) as file:
            json.dump(data, file)
        os.replace(file.name, path)
    except OSError:
        return
