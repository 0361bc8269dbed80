"""Code generation: a concrete loop nest becomes text of a backend's language, and object code.

Start with `backend` (what a code generator declares) and `lowering` (what all start from). `targets` has the backends,
a module each, `llvm` and `c` what they are made of; neither of the two knows the other. `temporary_storage` places
temporaries. Imports `intrinsics`, `ir`, `target` and below; loads LLVM only in `llvm.llvmlite_binding`.
"""
