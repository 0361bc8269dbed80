"""64-bit x86: SSE2 is always there, AVX2 and AVX-512 widen the vectors, AMX has tiles."""

from __future__ import annotations

from workbench.architectures.declaration import Architecture, Vectors, architectures, caches

_EXTENSIONS = {
    "avx": "avx",
    "avx2": "avx2",
    "fma": "fma",
    "f16c": "f16c",
    "avxvnni": "avx_vnni",
    "avx512f": "avx512f",
    "avx512bw": "avx512bw",
    "avx512cd": "avx512cd",
    "avx512dq": "avx512dq",
    "avx512vl": "avx512vl",
    "avx512vnni": "avx512_vnni",
    "avx512bf16": "avx512_bf16",
    "avx512fp16": "avx512_fp16",
    "amx-tile": "amx_tile",
    "amx-int8": "amx_int8",
    "amx-bf16": "amx_bf16",
}
_AVX2 = ("avx", "avx2", "f16c", "fma")
_AVX512 = (*_AVX2, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")
_ICELAKE = (*_AVX512, "avx512vnni")
_RAPIDS = (*_ICELAKE, "amx-bf16", "amx-int8", "amx-tile", "avx512bf16", "avx512fp16", "avxvnni")

architectures.add(
    Architecture(
        "x86_64",
        aliases=("amd64", "x64"),
        backend="llvm-x86",
        summary="x86-64 through LLVM: vectors of one SSE, AVX2 or AVX-512 register.",
        extensions=_EXTENSIONS,
        needs={n: "avx512f" for n in _EXTENSIONS if n.startswith("avx512")}
        | {"avx512f": "avx2"}
        | dict.fromkeys(("avx2", "fma", "f16c"), "avx")
        | dict.fromkeys(("amx-int8", "amx-bf16"), "amx-tile"),
        cpus={
            **dict.fromkeys(("x86-64", "generic", "x86-64-v2", "core2", "penryn", "nehalem", "corei7", "westmere",
                             "silvermont", "goldmont", "tremont", "btver1"), ()),
            "sandybridge": ("avx",), "corei7-avx": ("avx",), "btver2": ("avx", "f16c"), "bdver1": ("avx",),
            "ivybridge": ("avx", "f16c"), "core-avx-i": ("avx", "f16c"), "bdver2": ("avx", "f16c", "fma"),
            **dict.fromkeys(("x86-64-v3", "haswell", "core-avx2", "broadwell", "skylake", "bdver4"), _AVX2),
            **dict.fromkeys(("alderlake", "raptorlake", "meteorlake", "gracemont", "arrowlake", "lunarlake",
                             "pantherlake", "sierraforest", "grandridge"), (*_AVX2, "avxvnni")),
            "znver1": _AVX2, "znver2": _AVX2, "znver3": _AVX2,
            "x86-64-v4": _AVX512, "skylake-avx512": _AVX512, "skx": _AVX512, "cannonlake": _AVX512,
            "cascadelake": _ICELAKE, "cooperlake": (*_ICELAKE, "avx512bf16"), "icelake-client": _ICELAKE,
            "icelake-server": _ICELAKE, "rocketlake": _ICELAKE, "tigerlake": _ICELAKE,
            "znver4": (*_ICELAKE, "avx512bf16"), "znver5": (*_ICELAKE, "avx512bf16", "avxvnni"),
            "sapphirerapids": _RAPIDS, "emeraldrapids": _RAPIDS, "graniterapids": _RAPIDS,
        },
        implied="sse sse2 sse3 ssse3 sse4.1 sse4.2 sse4a popcnt bmi bmi2 lzcnt movbe aes pclmul cx16 mmx fxsr",
        caches={
            "haswell": caches(32, 256, 8192), "core-avx2": caches(32, 256, 8192), "skylake": caches(32, 256, 8192),
            "skylake-avx512": caches(32, 1024, 16384), "cascadelake": caches(32, 1024, 16384),
            "icelake-server": caches(48, 1280, 24576), "sapphirerapids": caches(48, 2048, 32768),
            "znver1": caches(32, 512, 8192), "znver2": caches(32, 512, 16384),
            "znver3": caches(32, 512, 32768), "znver4": caches(32, 1024, 32768), "znver5": caches(48, 1024, 32768),
        },
        emulator="max",
        vectors=(Vectors("avx512f", 64, 32, "-mprefer-vector-width=512"), Vectors("avx2", 32, 16), Vectors("", 16, 16)),
        masked=(
            (frozenset({"avx512bw", "avx512vl"}), frozenset({1, 2, 4, 8})),
            (frozenset({"avx"}), frozenset({4, 8})),
        ),
        float16=("f16c", "avx512fp16"),
        # LLVM's model of some CPUs prefers 256 bits and would cut our vectors in two.
        llvm_attribute='"prefer-vector-width"="{bits}"',
        c_base="-march=x86-64",
        c_extensions={name: f" -m{name}" for name in _EXTENSIONS if not name.startswith("amx")},
    )
)  # fmt: skip
