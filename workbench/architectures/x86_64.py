"""64-bit x86: SSE2 is always there, AVX2 and AVX-512 widen the vectors, AMX has tiles."""

from __future__ import annotations

from workbench.architectures.declaration import Architecture, Vectors, architectures

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
            "x86-64": (), "generic": (), "x86-64-v2": (), "nehalem": (), "sandybridge": ("avx",),
            "x86-64-v3": _AVX2, "haswell": _AVX2, "broadwell": _AVX2, "skylake": _AVX2, "core-avx2": _AVX2,
            "alderlake": (*_AVX2, "avxvnni"), "znver1": _AVX2, "znver2": _AVX2, "znver3": _AVX2,
            "x86-64-v4": _AVX512, "skylake-avx512": _AVX512, "cascadelake": _ICELAKE, "icelake-client": _ICELAKE,
            "icelake-server": _ICELAKE, "rocketlake": _ICELAKE, "tigerlake": _ICELAKE,
            "znver4": (*_ICELAKE, "avx512bf16"), "znver5": (*_ICELAKE, "avx512bf16", "avxvnni"),
            "sapphirerapids": _RAPIDS, "emeraldrapids": _RAPIDS, "graniterapids": _RAPIDS,
        },
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
