"""The one module that imports llvmlite: text in, machine code out, addresses on request.

Everything else hands over LLVM text and gets bytes, text or addresses back, so that a change of binding stays in this
file. Import it inside functions: it costs about 60 ms, and ``import workbench`` must not pay for it.

The pass pipeline is ``sroa`` and nothing else. The emitter already unrolls, vectorises and promotes, so LLVM's own
loop passes only cost time (measured: O2 adds 10 ms a kernel and not one GFLOP/s).
"""

from __future__ import annotations

import functools
import itertools
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import llvmlite
import llvmlite.binding as llvm

from workbench import host
from workbench.architectures import architecture, architecture_name
from workbench.errors import BuildError

if TYPE_CHECKING:
    from workbench.target import Target

#: Passes run over every module, in this order.
PIPELINE = ("sroa",)

#: Features that only cores of the Sapphire Rapids generation and later have.
_RAPIDS = ("amx-tile", "amx-bf16", "amx-int8", "avx512fp16")

#: Vector extensions with names of their own.
_VECTOR_EXTENSIONS = frozenset(["fma", "fma4", "f16c", "gfni", "sse4a", "xop", "dotprod", "fullfp16", "bf16", "i8mm"])
#: Those of one maker's processors, which no code of ours gains by: haswell names all that a Zen has, too.
_ONE_MAKER = frozenset(["fma4", "sse4a", "xop"])

T = TypeVar("T")

#: A linker keeps about 10 KiB of every object that it ever linked, so after so many objects another one takes over.
_OBJECTS_PER_LINKER = 256
#: Where an innermost loop begins on x86, and the bits of an address that are zero there: a line's, and LLVM's own.
_ALIGN, _LINE_BITS, _LLVMS_BITS = "-x86-experimental-pref-innermost-loop-alignment", 6, 4

_lock = threading.RLock()
_serial = itertools.count()
_linkers: list[Any] = []


@functools.cache
def _initialise() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()  # inline assembly (the pause of some architectures) needs it


@functools.cache
def process_triple() -> str:
    """Return the target triple of code that this process can execute."""
    return str(llvm.get_process_triple())


@functools.cache
def versions() -> tuple[str, str]:
    """Return the versions of the binding and of LLVM."""
    return str(llvmlite.__version__), ".".join(map(str, llvm.llvm_version_info))


@functools.cache
def host_features() -> tuple[tuple[str, bool], ...]:
    """Return every CPU feature LLVM knows for this architecture, with whether this machine has it."""
    _initialise()
    return tuple(sorted((str(k), bool(v)) for k, v in llvm.get_host_cpu_features().items()))


def cpu_for(cpu: str, features: Iterable[str]) -> str:
    """Return the CPU name to compile for, given the features that are really there.

    Virtual machines report model numbers at random (a Sapphire Rapids core announces itself as "rocketlake"), the
    feature bits are right. So the features decide wherever they are conclusive.
    """
    return "sapphirerapids" if any(f in _RAPIDS for f in features) else cpu


def _feature_names(features: Any) -> tuple[list[str], list[str]]:
    """Split whatever a target holds ("+a,-b", or names with or without a sign) into enabled and disabled names."""
    items = features.split(",") if isinstance(features, str) else list(features or ())
    names = [str(item).strip() for item in items if str(item).strip()]
    off = [n[1:] for n in names if n.startswith("-")]
    on = [n.removeprefix("+") for n in names if not n.startswith("-")]
    return on, off


def _is_vector_extension(name: str) -> bool:
    return name.startswith(("avx", "amx", "sve", "sme")) or name in _VECTOR_EXTENSIONS


def feature_string(features: Any, triple: str) -> str:
    """Return LLVM's feature string for a target's vector extensions.

    On this machine's architecture, everything that is no vector extension follows this machine, and so do the
    extensions when the target names all that `Target` knows of, but for those of one maker; a target that leaves some
    out gets what it names, and so does every target of another architecture.
    """
    on, off = _feature_names(features)
    # The CPU name alone would switch on what the user left out.
    made = architecture(architecture_name(triple))
    on += _feature_names(made.base)[0]
    off += [name for name in made.extensions if name not in on]
    if architecture_name(triple) == architecture_name(process_triple()):
        whole = host.detect().isa <= set(on)
        for name, here in host_features():
            if (whole and name not in _ONE_MAKER) or not _is_vector_extension(name):
                (on if here else off).append(name)
            elif name not in on:
                off.append(name)
    return ",".join([f"+{n}" for n in sorted(set(on))] + [f"-{n}" for n in sorted(set(off) - set(on))])


@functools.lru_cache(maxsize=32)
def _machine(triple: str, cpu: str, features: str) -> Any:
    """Code for this machine is loaded by this process, at any address; that for another one is linked by others."""
    _initialise()
    made = architecture(architecture_name(triple))
    foreign = made.name != architecture_name(process_triple())
    how = {"reloc": "pic", "codemodel": made.code_model} if foreign else {"codemodel": "jitdefault", "jit": True}
    cpu = made.llvm_generic if cpu == "generic" else cpu
    try:
        target = llvm.Target.from_triple(triple)
        return target.create_target_machine(cpu=cpu, features=features, opt=2, **how, abiname=made.abi)
    except RuntimeError as error:
        raise BuildError(
            "build.target", f"LLVM cannot make a target machine for {triple!r}: {error}", hint="see `workbench doctor`"
        ) from error


def target_machine(target: Target | None) -> Any:
    """Return the cached LLVM target machine of a target; None means "any CPU of this architecture"."""
    if target is None:
        return _machine(process_triple(), "", "")
    triple = str(target.triple) or process_triple()
    features: Any = target.features
    on, _ = _feature_names(features)
    return _machine(triple, cpu_for(str(target.cpu), on), feature_string(features, triple))


def _excerpt(text: str, message: str) -> str:
    """Return the lines of the text around the line number that an LLVM message names, or nothing."""
    found = re.search(r"<string>:(\d+):", message)
    if not found:
        return ""
    number, lines = int(found.group(1)), text.splitlines()
    first = max(0, number - 3)
    shown = (f"{first + i + 1:5d} | {line}" for i, line in enumerate(lines[first : number + 1]))
    return "\n" + "\n".join(shown)


def _with_module(text: str, target: Target | None, verify: bool, use: Callable[[Any, Any], T]) -> T:
    """Parse the text, run the pipeline, and give the module and its machine to `use`."""
    with _lock:
        machine = target_machine(target)
        try:
            module = llvm.parse_assembly(text)
            module.triple = machine.triple
            module.data_layout = str(machine.target_data)
            if verify:
                module.verify()
            _run_pipeline(module, machine)
            with _loops(str(machine.triple)):
                return use(module, machine)
        except RuntimeError as error:
            message = str(error).strip()
            raise BuildError(
                "build.llvm",
                f"LLVM rejected the generated code: {message}{_excerpt(text, message)}",
                hint="this is a defect of the code generator; please report the schedule that led here",
            ) from error


@contextmanager
def _loops(triple: str) -> Iterator[None]:
    """Generate code without loop strength reduction: a third of the time to machine code, and the emitter's innermost
    loops count what their addresses need by themselves. On x86 an innermost loop begins a line of code: one that
    crosses a line ran at 0.3 to 0.6 of its speed where it has few instructions (measured on Zen 4), by chance.

    The switches are global to LLVM, so they are back where they were when code that is not ours may be compiled.
    """
    aligned = architecture_name(triple) == "x86_64"
    llvm.set_option("", "-disable-lsr=true")
    llvm.set_option("", "-use-unknown-locations=Enable")  # of what is in no line of the text, the assembly says so
    if aligned:  # only LLVM for x86 knows this one
        llvm.set_option("", f"{_ALIGN}={_LINE_BITS}")
    try:
        yield
    finally:
        llvm.set_option("", "-disable-lsr=false")
        llvm.set_option("", "-use-unknown-locations=Default")
        if aligned:
            llvm.set_option("", f"{_ALIGN}={_LLVMS_BITS}")


def _run_pipeline(module: Any, machine: Any) -> None:
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    passes = llvm.create_new_module_pass_manager()
    for name in PIPELINE:
        getattr(passes, f"add_{name}_pass")()
    passes.run(module, builder)


def compile_ir(text: str, target: Target | None = None, verify: bool = False) -> bytes:
    """Compile LLVM text to a relocatable object file.

    Parameters
    ----------
    text : str
        A complete LLVM module; its triple and data layout are set here.
    target : Target or None
        What to compile for; None compiles for any CPU of the running architecture.
    verify : bool
        Run LLVM's module verifier (the parser already checks types).

    Returns
    -------
    bytes
        The object file.

    Raises
    ------
    BuildError
        ``build.llvm`` with LLVM's message and the lines of the text that it names; ``build.target`` for an unknown
        target.
    """
    return _with_module(text, target, verify, lambda module, machine: bytes(machine.emit_object(module)))


def optimised_ir(text: str, target: Target | None = None) -> str:
    """Return the LLVM text after the pass pipeline; raises as `compile_ir`."""
    return _with_module(text, target, False, lambda module, machine: str(module))


def assembly(text: str, target: Target | None = None) -> str:
    """Return the machine's assembly for LLVM text; raises as `compile_ir`."""
    return _with_module(text, target, False, lambda module, machine: str(machine.emit_assembly(module)))


class Library:
    """Machine code in this process's memory; valid until `close` or until the last reference goes.

    Attributes
    ----------
    addresses : dict of str to int
        Address of every symbol that was asked for.
    """

    __slots__ = ("__weakref__", "_tracker", "addresses")

    def __init__(self, tracker: Any, addresses: dict[str, int]) -> None:
        self._tracker = tracker
        self.addresses = addresses

    def __getitem__(self, symbol: str) -> int:
        return self.addresses[symbol]

    def close(self) -> None:
        """Unload the code; calling it through a kept address afterwards is undefined."""
        tracker, self._tracker = self._tracker, None
        if tracker is not None:
            self.addresses = {}
            with _lock:
                tracker.close()


def code_bytes(code: bytes) -> int:
    """Return the bytes of all instructions in an object file."""
    return sum(part.size() for part in llvm.ObjectFileRef.from_data(code).sections() if part.is_text())


def _linker(number: int) -> Any:
    """Return the linker for the object of this number; one that was replaced goes with the last of its libraries."""
    _initialise()
    if number % _OBJECTS_PER_LINKER == 0 or not _linkers:
        # A machine of its own: the linker takes part of it over.
        native = llvm.Target.from_triple(process_triple())
        machine = native.create_target_machine(opt=2, codemodel="jitdefault", jit=True)
        _linkers[:] = [llvm.create_lljit_compiler(machine, use_jit_link=False)]
    return _linkers[0]


def load_object(code: bytes, symbols: Iterable[str]) -> Library:
    """Link an object file into this process.

    Parameters
    ----------
    code : bytes
        An object file made by `compile_ir` for this machine.
    symbols : iterable of str
        The symbols whose addresses are wanted. Undefined symbols are looked up in the process (libc, libm).

    Returns
    -------
    Library
        Keeps the code loaded; `Library.addresses` maps each symbol to its address.

    Raises
    ------
    BuildError
        ``build.link`` when a symbol is missing or the object file is not one.
    TargetError
        ``target.tiles`` when the code uses AMX tiles and the system does not grant them.
    """
    names = tuple(symbols)
    if host.TILE_CONFIG.encode() in code:
        host.request_tiles()
    builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for name in names:
        builder.export_symbol(name)
    with _lock:
        try:
            number = next(_serial)
            tracker = builder.link(_linker(number), f"workbench{number}")
        except RuntimeError as error:
            raise BuildError("build.link", f"the machine code could not be linked: {error}", where=names) from error
    addresses = {name: int(tracker[name]) for name in names}
    missing = tuple(name for name, address in addresses.items() if not address)
    if missing:
        raise BuildError("build.link", f"the machine code does not define {', '.join(missing)}", where=missing)
    return Library(tracker, addresses)


# A forked child would find the locks that another thread held shut for ever: ours, llvmlite's, and those inside LLVM,
# which are only taken under llvmlite's. So no thread is in there while the process forks.
_locks: list[Any] = [_lock]
if isinstance(_theirs := getattr(llvm.ffi.lib, "_lock", None), AbstractContextManager):
    _locks.append(_theirs)


def _before_fork() -> None:
    for lock in _locks:
        lock.__enter__()


def _after_fork() -> None:
    for lock in reversed(_locks):
        lock.__exit__(None, None, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
