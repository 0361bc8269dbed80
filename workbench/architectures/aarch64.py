"""64-bit ARM: vectors of NEON; SVE is known and stays unused."""

from __future__ import annotations

from workbench.architectures.declaration import Architecture, Vectors, architectures

_MODERN = ("dotprod", "fullfp16", "neon")
_SVE = (*_MODERN, "bf16", "i8mm", "sve")

architectures.add(
    Architecture(
        "aarch64",
        aliases=("arm64",),
        backend="llvm-aarch64",
        summary="64-bit ARM through LLVM: vectors of one NEON register (16 bytes, 32 of them); SVE stays unused.",
        extensions={
            "neon": "asimd",
            "dotprod": "asimddp",
            "fullfp16": "asimdhp",
            "bf16": "bf16",
            "i8mm": "i8mm",
            "sve": "sve",
            "sve2": "sve2",
        },
        cpus={
            "generic": ("neon",), "cortex-a72": ("neon",), "cortex-a76": _MODERN, "neoverse-n1": _MODERN,
            "neoverse-v1": _SVE, "neoverse-n2": (*_SVE, "sve2"), "neoverse-v2": (*_SVE, "sve2"),
            "apple-m1": _MODERN, "apple-m2": (*_MODERN, "bf16", "i8mm"), "apple-m3": (*_MODERN, "bf16", "i8mm"),
        },
        vectors=(Vectors("", 16, 32),),
        c_base="-march=armv8.2-a",
        c_native="-mcpu=native",
        c_extensions={"fullfp16": "+fp16", **{name: f"+{name}" for name in ("dotprod", "bf16", "i8mm", "sve", "sve2")}},
    )
)  # fmt: skip
