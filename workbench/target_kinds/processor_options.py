"""What is said of a processor: CPU, vector extensions, threads, caches; what is left out, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from workbench import host
from workbench.architectures import architecture, architecture_name
from workbench.arguments import index, shown
from workbench.errors import TargetError, did_you_mean

#: What a target that is no processor has in the place of one.
NO_PROCESSOR = {"cpu": "", "features": "", "threads": 1, "l1_bytes": 0, "l2_bytes": 0, "l3_bytes": 0, "line_bytes": 64}
_MAX_THREADS = 4096


def processor(given: Mapping[str, object]) -> dict[str, object]:
    """Fill in what is not given of a processor and check every value.

    Raises
    ------
    TargetError
        "target.cpu", "target.feature", "target.threads", "target.size".
    """
    here = host.detect()
    triple = str(given.get("triple") or here.triple)
    arch = architecture_name(triple)
    native = arch == architecture_name(here.triple)
    cpu = str(given.get("cpu") or ("native" if native else "generic"))
    out: dict[str, object] = {"triple": triple}
    if cpu in ("native", "host"):
        if not native:
            raise TargetError("target.cpu", f"-mcpu=native is {here.triple}, not {triple}.", (cpu,), "name a CPU")
        cpu, known = here.cpu, here.isa
    else:
        known = _known_isa(cpu, arch, explicit="features" in given)
    out["cpu"] = cpu
    features = _features(given["features"], arch) if "features" in given else None
    out["features"] = _join(known) if features is None else features
    # Another machine's caches are not this one's.
    facts = here if native else architecture(arch).caches_of(cpu)
    out["threads"] = _threads(given.get("threads", here.threads if native else 1))
    for level in ("l1", "l2", "l3", "line"):
        default = getattr(facts, f"{level}_bytes")
        out[f"{level}_bytes"] = _size(level, given.get(f"{level}_bytes", default))
    return out


def _known_isa(cpu: str, arch: str, explicit: bool) -> frozenset[str]:
    table = architecture(arch).cpus
    if cpu not in table and not explicit:
        raise TargetError(
            "target.cpu",
            f"The CPU {cpu!r} is not in the table for {arch}.",
            (cpu,),
            did_you_mean(cpu, table, "CPUs") + " Or say which vector extensions it has: -mattr=+avx2,+fma",
        )
    return frozenset(table.get(cpu, ()))


def _features(value: object, arch: str) -> str | None:
    """Read a list of extensions; None where it names only what every processor of the architecture has."""
    items = (
        value.split(",") if isinstance(value, str) else [str(v) for v in value] if isinstance(value, Iterable) else []
    )
    made = architecture(arch)
    names = [name for item in items if (name := item.strip()) and name.removeprefix("+") not in made.implied.split()]
    if not names and any(item.strip() for item in items):
        return None
    on = set()
    for item in names:
        name = item.removeprefix("+")
        if name not in made.extensions:
            hint = did_you_mean(name, made.extensions, "extensions")
            if item.startswith("-"):
                hint = "-mattr lists what code may use; what is not in the list is off"
            raise TargetError("target.feature", f"{item!r} is not a vector extension of {arch}.", (item,), hint)
        on.add(name)
    for name in sorted(on):
        if name in made.needs and made.needs[name] not in on:
            text = f"{name!r} needs {made.needs[name]!r} as well."
            hint = f"add +{made.needs[name]}, or leave -mattr out: then the CPU's own extensions count"
            raise TargetError("target.feature", text, (name,), hint)
    return _join(on)


def _join(names: Iterable[str]) -> str:
    return ",".join(f"+{n}" for n in sorted(names))


def _threads(value: object) -> int:
    text = value.strip() if isinstance(value, str) else shown(value)
    number = index(value)
    if number is None:
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None
    if number is None or not 1 <= number <= _MAX_THREADS or isinstance(value, bool):
        message = f"-threads has to be a whole number from 1 to {_MAX_THREADS}, not {shown(value)}."
        raise TargetError("target.threads", message, ("threads",))
    return number


def _size(name: str, value: object) -> int:
    size = host.parse_size(str(value))
    if size is None or (name == "line" and (size == 0 or size & (size - 1))):
        raise TargetError(
            "target.size", f"-{name} has to be a size in bytes such as 64, 48K or 2M, not {value!r}.", (name,)
        )
    return size
