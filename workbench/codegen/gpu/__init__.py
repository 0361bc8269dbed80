"""Code for GPUs: one printer, over the loops of `codegen.c`, for CUDA C and OpenCL C, and what runs it without a GPU.

`kernels` cuts a nest into launches, takes digits of threads out of temporaries, and starts sums in nests of their own.
`placement` says in which memory a temporary lies, `barriers` where the threads of a block have to meet. `words` has
what the languages call things, `printer` writes statements, `module` the file, whose first comment says how it is
launched (`launch`). `simt` runs CUDA C on the CPU, thread by thread; `opencl` asks a driver to compile.
"""
