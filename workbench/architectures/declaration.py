"""What is to be known of a family of processors."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from workbench.errors import TargetError
from workbench.registry import Declarations


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vector registers of the processors that have an extension.

    Attributes
    ----------
    extension : str
        "" for what every processor has.
    nbytes, registers : int
        Width of a register in bytes, and how many there are.
    c_option : str
        What a C compiler has to be told in order to use all of the width.
    """

    extension: str
    nbytes: int
    registers: int
    c_option: str = ""


@dataclass(frozen=True, slots=True)
class Caches:
    """Data caches of a processor as one core sees them, in bytes; 0 for a level that is not there."""

    l1_bytes: int = 32 << 10
    l2_bytes: int = 512 << 10
    l3_bytes: int = 0
    line_bytes: int = 64


def caches(l1: int, l2: int, l3: int = 0, line: int = 64) -> Caches:
    """Return caches of so many KiB, with lines of so many bytes."""
    return Caches(l1 << 10, l2 << 10, l3 << 10, line)


@dataclass(frozen=True, slots=True)
class Architecture:
    """A family of processors.

    Attributes
    ----------
    name : str
        In LLVM's spelling, as a target triple begins.
    aliases : tuple of str
        What systems and compilers call it beside that.
    backend, summary : str
        Name and description of the backend through LLVM; "" where there is none.
    extensions : mapping of str to str
        Vector extensions that a target switches on or off, in LLVM's names -> Linux names in /proc/cpuinfo.
    needs : mapping of str to str
        Extension -> another one without which it does not exist.
    cpus : mapping of str to tuple of str
        CPU names that a target may give without saying which extensions they have.
    implied : str
        Extensions, separated by spaces, that a target may name and that say nothing: every processor has them, or our
        code has no use for them.
    base : str
        What LLVM has to be told of every processor: ``"+m,+a"``.
    llvm_generic, abi, code_model : str
        LLVM's name of the least processor, how functions are called ("" for LLVM's own choice), and the code model for
        what others link.
    beyond : mapping of str to tuple of str
        CPU name -> what LLVM takes for there besides the extensions that a target names, of what Linux tells.
    caches : mapping of str to Caches
        CPU name -> its caches. Of a CPU that is not in it, those that every current one reaches.
    emulator : str
        CPU that qemu is to be for code with vectors of ``{bits}`` bits; ``{z}`` begins the names of RISC-V's extensions
        (qemu before 8.2: with a capital letter).
    vectors : tuple of Vectors
        Widest first; the last one needs no extension.
    masked : tuple of (set of str, set of int)
        Extensions, and the sizes in bytes of the elements that vectors load and store under a mask with them.
    float16 : tuple of str
        Extensions any of which has instructions for float16; empty where every processor has them.
    llvm_attribute : str
        Attribute of every function of LLVM text; ``{bits}`` is the width of a vector.
    c_base, c_native : str
        Options of a C compiler: for the least processor, and for the machine that it runs on.
    c_extensions : mapping of str to str
        Extension -> what is appended to `c_base` for it.
    """

    name: str
    aliases: tuple[str, ...] = ()
    backend: str = ""
    summary: str = ""
    extensions: Mapping[str, str] = field(default_factory=dict)
    needs: Mapping[str, str] = field(default_factory=dict)
    cpus: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"generic": ()})
    implied: str = ""
    base: str = ""
    llvm_generic: str = "generic"
    abi: str = ""
    code_model: str = "small"
    beyond: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    caches: Mapping[str, Caches] = field(default_factory=dict)
    emulator: str = ""
    vectors: tuple[Vectors, ...] = (Vectors("", 16, 16),)
    masked: tuple[tuple[frozenset[str], frozenset[int]], ...] = ()
    float16: tuple[str, ...] = ()
    llvm_attribute: str = ""
    c_base: str = ""
    c_native: str = "-march=native"
    c_extensions: Mapping[str, str] = field(default_factory=dict)

    def vectors_of(self, isa: Set[str]) -> Vectors:
        """Vector registers of a processor with these extensions."""
        return next(v for v in self.vectors if not v.extension or v.extension in isa)

    def caches_of(self, cpu: str) -> Caches:
        """Caches of a processor by its name."""
        return self.caches.get(cpu, Caches())

    def mask_bytes(self, isa: Set[str]) -> frozenset[int]:
        """Sizes of the elements that a processor with these extensions loads and stores under a mask."""
        return next((sizes for needed, sizes in self.masked if needed <= isa), frozenset())

    def c_options(self, isa: Set[str]) -> tuple[str, ...]:
        """Options of a C compiler for a processor with these extensions."""
        return tuple((self.c_base + "".join(self.c_extensions.get(f, "") for f in sorted(isa))).split())


architectures: Declarations[Architecture] = Declarations("architecture", "architectures", "target.backend", TargetError)


def architecture_name(name: str) -> str:
    """Return LLVM's spelling of an architecture that a system, a compiler or a target triple names."""
    first = name.partition("-")[0].lower()
    return next((a.name for a in architectures if first in a.aliases), first)


def architecture(name: str) -> Architecture:
    """Return what is declared of an architecture; of another one, that nothing is known of it."""
    return architectures[name] if name in architectures else Architecture(name)
