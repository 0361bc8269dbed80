"""64-bit RISC-V: vectors of the extension V, as wide as the processor says it has them (zvl…b)."""

from __future__ import annotations

from workbench.architectures.declaration import Architecture, Vectors, architectures, caches

_V256 = ("v", "zvl256b")

architectures.add(
    Architecture(
        "riscv64",
        backend="llvm-riscv64",
        summary="64-bit RISC-V through LLVM: vectors of one register (zvl128b to zvl512b, 32 of them).",
        extensions={
            "v": "v", "zfh": "zfh", "zvfh": "zvfh", "zvl256b": "zvl256b", "zvl512b": "zvl512b",
        },
        needs={"zvfh": "v", "zvl256b": "v", "zvl512b": "zvl256b"},
        implied="64bit i m a f d c zicsr zifencei zvl32b zvl64b zvl128b zve32f zve64d",
        base="+m,+a,+f,+d,+c",
        llvm_generic="generic-rv64",
        abi="lp64d",
        code_model="medium",
        cpus={
            "generic": (), "generic-rv64": (), "rocket-rv64": (), "sifive-u54": (), "sifive-u74": (),
            "sifive-p470": ("v",), "sifive-p670": ("v",), "sifive-x280": (*_V256, "zfh", "zvfh", "zvl512b"),
            "spacemit-x60": (*_V256, "zfh", "zvfh"), "xiangshan-kunminghu": ("v", "zfh", "zvfh"),
            "tt-ascalon-d8": (*_V256, "zfh", "zvfh"),
        },
        caches={
            "sifive-u54": caches(32, 2048), "sifive-u74": caches(32, 2048), "sifive-x280": caches(32, 512, 2048),
            "sifive-p470": caches(32, 512, 2048), "sifive-p670": caches(64, 1024, 4096),
            "spacemit-x60": caches(32, 512), "xiangshan-kunminghu": caches(64, 1024, 16384),
        },
        emulator="rv64,v=true,vlen={bits},elen=64,vext_spec=v1.0,{z}fh=true",
        vectors=(Vectors("zvl512b", 64, 32), Vectors("zvl256b", 32, 32), Vectors("v", 16, 32), Vectors("", 8, 32)),
        masked=((frozenset({"v"}), frozenset({1, 2, 4, 8})),),
        float16=("zfh",),
        c_base="-march=rv64gc",
        c_extensions={"v": "v", "zfh": "_zfh", "zvfh": "_zvfh", "zvl256b": "_zvl256b", "zvl512b": "_zvl512b"},
    )
)  # fmt: skip
