"""The text of a target, ours or TVM's: ``llvm -mcpu=core-avx2 -num-cores 4``, ``{"kind": "cuda", "arch": "sm_80"}``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from workbench.arguments import shown
from workbench.errors import TargetError, did_you_mean
from workbench.target_kinds.declaration import TargetKind, target_kinds

Words = Sequence[tuple[str, object]]

#: TVM's names of our options.
_SAME = {"num-cores": "threads", "target": "mtriple", "l2_cache_size_bytes": "l2"}
#: TVM's options that choose its schedules and libraries, or say what is known here without them: nothing of what they
#: do exists here, so they are read and have no effect. Values that would have one, where they are given, are refused.
_WITHOUT_EFFECT: Mapping[str, tuple[str, ...]] = {
    "keys": (), "device": (), "model": (), "tag": (), "host": ("llvm",), "libs": ("",), "runtime": (),
    "system-lib": ("0", "false"), "link-params": ("0", "false"), "opt-level": (), "mabi": ("lp64d", "lp64"),
    "mfloat-abi": ("hard",), "max_num_threads": (), "max_threads_per_block": (), "max_shared_memory_per_block": (),
    "registers_per_block": (), "thread_warp_size": (), "texture_spatial_limit": (),
}  # fmt: skip
#: Kinds of TVM's -> the kind here that comes closest.
_OTHERS = {"metal": "opencl", "vulkan": "opencl", "webgpu": "opencl", "rocm": "opencl", "nvptx": "cuda",
           "ext_dev": "vta", "sdaccel": "vta", "aocl": "opencl", "stackvm": "c", "ccompiler": "c"}  # fmt: skip


def read_words(given: object) -> tuple[str, list[tuple[str, object]]]:
    """Return the kind of a target and its options, in the order in which they are given.

    Raises
    ------
    TargetError
        "target.kind" for a kind that there is not, "target.option" for a word that is no option.
    """
    if isinstance(given, Mapping):
        options = {str(k).lstrip("-"): v for k, v in given.items()}
        kind, words = options.pop("kind", options.pop("id", "")), list(_flat(options))
    else:
        first, *rest = (given.split() or [""]) if isinstance(given, str) else [shown(given)]
        kind, words = first, list(_options(rest))
    if kind not in target_kinds:
        near = _OTHERS.get(str(kind).lower(), "")
        raise TargetError(
            "target.kind",
            f"{kind!r} is not a kind of target; there are {' and '.join(map(repr, target_kinds.names))}.",
            (str(kind),) if kind else (),
            f"{near!r} comes closest" if near in target_kinds else "for example: llvm -mcpu=native -threads=2",
        )
    return str(kind), words


def _flat(options: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name, value in options.items():
        text = ",".join(map(str, value)) if isinstance(value, list | tuple) else value
        yield name, text


def _options(words: Sequence[str]) -> Iterator[tuple[str, object]]:
    """Read ``-name=value``, and ``-name value`` as TVM has it."""
    at = 0
    while at < len(words):
        word, following = words[at], words[at + 1] if at + 1 < len(words) else "-"
        name, equals, value = word.lstrip("-").partition("=")
        at += 1
        if word.startswith("-") and not equals and not following.startswith("-") and "=" not in following:
            equals, value, at = "=", following, at + 1
        if not word.startswith("-") or not equals:
            known = ("mtriple", "mcpu", "mattr", "threads")
            raise TargetError("target.option", f"The target option {word!r} is not understood.", (word,),
                              did_you_mean(f"-{name}=", [f"-{k}=" for k in known], "options"))  # fmt: skip
        yield name, value.strip("\"'")


def meant(kind: TargetKind, words: Words) -> Iterator[tuple[str, object]]:
    """Yield a kind's options by their names here, without those that have no effect.

    Raises
    ------
    TargetError
        "target.option" for an option of TVM's with a value that cannot be had here.
    """
    own = {o.name for o in kind.options}
    for name, value in words:
        if name in own or name not in _WITHOUT_EFFECT:
            yield (name if name in own else _SAME.get(name, name)), value
            continue
        allowed = _WITHOUT_EFFECT[name]
        if allowed and str(value).lower() not in allowed:
            message = f"-{name}={value} asks for what is not made here."
            hint = "leave it out" + (f", or write -{name}={allowed[0]}" if allowed[0] else "")
            raise TargetError("target.option", message, (f"-{name}",), hint)
