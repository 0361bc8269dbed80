"""What the languages call things."""

from __future__ import annotations

from dataclasses import dataclass, replace

from workbench.codegen.gpu import vectors

#: Words of C++, CUDA C and OpenCL C that C does not have.
_CPP = """and and_eq bitand bitor catch class compl const_cast constexpr decltype delete dynamic_cast explicit export
friend mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public reinterpret_cast
static_assert static_cast template this thread_local throw try typeid typename using virtual wchar_t xor xor_eq"""
_DEVICE = """threadIdx blockIdx blockDim gridDim warpSize dim3 LAUNCH SHARED kernel global local constant half uchar
ushort uint ulong size_t barrier vload vstore event_t image2d_t sampler_t read_only write_only read_write complex
imaginary uniform pipe generic linux unix isnan isinf signbit min max mix step clamp sign dot cross length
GLOBAL LOCAL floats2 floats4 floats8 floats16 float2 float4 float8 float16
wmma_sums wmma_load wmma_store wmma_f16 wmma_f16_transposed wmma_bf16 wmma_bf16_transposed"""
RESERVED = frozenset([*_CPP.split(), *_DEVICE.split()])


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one language.

    Attributes
    ----------
    language : str
    kernel : str
        Before the name of a kernel, with ``{threads}`` for the threads of a block and ``{x}``, ``{y}``, ``{z}`` for
        those along each axis.
    pointer : str
        A parameter: ``{const}``, ``{type}``, ``{name}``.
    shared : str
        Before the declaration of memory that a block shares.
    spaces : dict
        Memory -> what a pointer into it says of it.
    barrier, warp_barrier : str
        Statement at which the threads of a block meet, and those of a warp; the second only with `has_tiles`.
    number : dict
        Kind of a bound loop -> the number of the block or thread.
    copy : str
        Several elements at once: ``{type}``, ``{n}``, ``{to}``, ``{source}``.
    function : str
        Before the definition of a function that a kernel calls.
    head : str
        Beginning of a file.
    has_tiles : bool
        Whether the threads of a warp can compute a tile together.
    has_vectors : bool
        Whether vectorised loops are printed as statements on vectors (`codegen.gpu.vectors`).
    """

    language: str
    kernel: str
    pointer: str
    shared: str
    spaces: dict[str, str]
    barrier: str
    number: dict[str, str]
    copy: str
    function: str
    head: str
    has_tiles: bool = False
    warp_barrier: str = ""
    has_vectors: bool = False


_AXES = "xyz"
_CUDA_HEAD = """#ifdef __CUDACC_RTC__ /* NVRTC has no headers */
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#define INT64_C(x) x##LL
#define UINT64_C(x) x##ULL
#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT16_MIN (-32768)
#define INT16_MAX 32767
#define UINT16_MAX 65535
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295u
#define INT64_MIN (-9223372036854775807LL - 1)
#define INT64_MAX 9223372036854775807LL
#define UINT64_MAX 18446744073709551615ULL
#define NAN __int_as_float(0x7fffffff)
#define INFINITY __int_as_float(0x7f800000)
#else
#include <math.h>
#include <stdint.h>
#include <string.h>
#endif
#ifdef __CUDACC__
#define LAUNCH(kernel, grid, block, ...) kernel<<<dim3 grid, dim3 block>>>(__VA_ARGS__)
#endif

#define PRAGMA(text) _Pragma(#text)
#define UNROLL(n) PRAGMA(unroll n)
#define VECTOR_LOOP PRAGMA(unroll)
#define ALIGNED __align__(32)"""

_OPENCL_HEAD = """typedef char int8_t;
typedef uchar uint8_t;
typedef short int16_t;
typedef ushort uint16_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;
#define INT64_C(x) x##L
#define UINT64_C(x) x##UL
#define INT8_MIN CHAR_MIN
#define INT8_MAX CHAR_MAX
#define UINT8_MAX UCHAR_MAX
#define INT16_MIN SHRT_MIN
#define INT16_MAX SHRT_MAX
#define UINT16_MAX USHRT_MAX
#define INT32_MIN INT_MIN
#define INT32_MAX INT_MAX
#define UINT32_MAX UINT_MAX
#define INT64_MIN LONG_MIN
#define INT64_MAX LONG_MAX
#define UINT64_MAX ULONG_MAX
%s
#define PRAGMA(text) _Pragma(#text)
#define UNROLL(n) PRAGMA(unroll n)
#define VECTOR_LOOP PRAGMA(unroll)
#define ALIGNED __attribute__((aligned(32)))"""

#: Functions of the C library for float; OpenCL C has one name for all types.
_FLOAT_NAMES = "exp log sqrt tanh erf floor ceil rint fabs copysign pow fmod"


def _numbers(block: str, thread: str) -> dict[str, str]:
    both = (("blockIdx", block), ("threadIdx", thread))
    return {f"{kind}.{a}": text.format(axis=a, k=k) for kind, text in both for k, a in enumerate(_AXES)}


CUDA = Words(
    language="CUDA C",
    kernel='extern "C" __global__ void __launch_bounds__({threads}) ',
    pointer="{const}{type} *__restrict__ {name}",
    shared="__shared__ ",
    spaces={"shared": "", "global": ""},
    barrier="__syncthreads();",
    number=_numbers("(int)blockIdx.{axis}", "(int)threadIdx.{axis}"),
    copy="*({type}{n} *)&{to} = *(const {type}{n} *)&{source};",
    function="static __device__ inline",
    head=_CUDA_HEAD,
    has_tiles=True,
    warp_barrier="__syncwarp();",
)
OPENCL = Words(
    language="OpenCL C",
    kernel="__kernel __attribute__((reqd_work_group_size({x}, {y}, {z}))) void ",
    pointer="__global {const}{type} *restrict {name}",
    shared="__local ",
    spaces={"shared": "__local ", "global": "__global "},
    barrier="barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    number=_numbers("(int)get_group_id({k})", "(int)get_local_id({k})"),
    copy="vstore{n}(vload{n}(0, &{source}), 0, &{to});",
    function="static inline",
    head=_OPENCL_HEAD % "\n".join(f"#define {f}f {f}" for f in _FLOAT_NAMES.split()),
)
#: For processors, whose threads run one by one.
OPENCL_VECTORS = replace(OPENCL, head=f"{OPENCL.head}\n\n{vectors.HEAD}", has_vectors=True)
