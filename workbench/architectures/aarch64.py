"""64-bit ARM: vectors of NEON; SVE is known and stays unused."""

from __future__ import annotations

from workbench.architectures.declaration import Architecture, Vectors, architectures, caches

_MODERN = ("dotprod", "fullfp16", "neon")
_SVE = (*_MODERN, "bf16", "i8mm", "sve")
#: What the versions 8.2 and 8.4 of the architecture have besides vectors.
_V82 = ("crc", "lse", "rdm", "rcpc")
_V84 = (*_V82, "complxnum", "flagm", "jsconv", "rcpc-immo")

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
        base="+neon",
        implied="v8a v8.1a v8.2a v8.4a fp-armv8 crc crypto aes sha2 lse rdm rcpc",
        cpus={
            "generic": ("neon",), "cortex-a53": ("neon",), "cortex-a57": ("neon",), "cortex-a72": ("neon",),
            "cortex-a55": _MODERN, "cortex-a76": _MODERN, "cortex-a78": _MODERN, "neoverse-n1": _MODERN,
            "neoverse-v1": _SVE, "neoverse-n2": (*_SVE, "sve2"), "neoverse-v2": (*_SVE, "sve2"),
            "apple-m1": _MODERN, "apple-m2": (*_MODERN, "bf16", "i8mm"), "apple-m3": (*_MODERN, "bf16", "i8mm"),
        },
        beyond=dict.fromkeys(("cortex-a53", "cortex-a57", "cortex-a72"), ("crc",))
        | dict.fromkeys(("cortex-a55", "cortex-a76", "cortex-a78", "neoverse-n1"), _V82)
        | dict.fromkeys(("neoverse-v1", "neoverse-n2", "neoverse-v2", "apple-m1", "apple-m2", "apple-m3"), _V84),
        caches={
            "cortex-a53": caches(32, 512), "cortex-a55": caches(32, 128, 1024), "cortex-a57": caches(32, 2048),
            "cortex-a72": caches(32, 1024), "cortex-a76": caches(64, 512, 2048), "cortex-a78": caches(64, 512, 4096),
            "neoverse-n1": caches(64, 1024, 32768), "neoverse-v1": caches(64, 1024, 32768),
            "neoverse-n2": caches(64, 1024, 65536), "neoverse-v2": caches(64, 2048, 36864),
            "apple-m1": caches(128, 12288, 8192, 128), "apple-m2": caches(128, 16384, 8192, 128),
            "apple-m3": caches(128, 16384, 8192, 128),
        },
        emulator="max",
        vectors=(Vectors("", 16, 32),),
        c_base="-march=armv8.2-a",
        c_native="-mcpu=native",
        c_extensions={"fullfp16": "+fp16", **{name: f"+{name}" for name in ("dotprod", "bf16", "i8mm", "sve", "sve2")}},
    )
)  # fmt: skip
