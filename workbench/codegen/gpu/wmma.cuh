/* Tiles of 16 x 16 numbers that the threads of a warp share; rows lie so many elements apart. */
struct wmma_sums { float x[8]; }; /* of each thread */
#ifdef __CUDACC__
#define WMMA_8(x) "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]), "=r"(x[4]), "=r"(x[5]), "=r"(x[6]), "=r"(x[7])
#define WMMA_4(x) "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
#define WMMA_FROM_8(x) "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]), "r"(x[5]), "r"(x[6]), "r"(x[7])
#define WMMA_FROM_4(x) "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
#define WMMA_SUMS(out, c) out(c[0]), out(c[1]), out(c[2]), out(c[3]), out(c[4]), out(c[5]), out(c[6]), out(c[7])
#define WMMA_GIVEN(x) "f"(x)
#define WMMA_TAKEN(x) "=f"(x)
#define WMMA_BOTH(x) "+f"(x)
static __device__ inline void wmma_load(wmma_sums &c, const float *p, int row) {
    asm volatile("wmma.load.c.sync.aligned.row.m16n16k16.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8], %9;"
                 : WMMA_SUMS(WMMA_TAKEN, c.x) : "l"(p), "r"(row) : "memory");
}
static __device__ inline void wmma_store(float *p, int row, const wmma_sums &c) {
    asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.f32 [%0], {%2,%3,%4,%5,%6,%7,%8,%9}, %1;"
                 : : "l"(p), "r"(row), WMMA_SUMS(WMMA_GIVEN, c.x) : "memory");
}
#define WMMA_PRODUCT(name, order, n, regs, place, regs_a, regs_b, type, types) \
    static __device__ inline void name(wmma_sums &c, const uint16_t *p, int p_row, const uint16_t *q, int q_row) { \
        unsigned a[n], b[n]; \
        asm volatile("wmma.load.a.sync.aligned.row.m16n16k16." type " {" regs "}, " place ";" \
                     : WMMA_##n(a) : "l"(p), "r"(p_row) : "memory"); \
        asm volatile("wmma.load.b.sync.aligned." order ".m16n16k16." type " {" regs "}, " place ";" \
                     : WMMA_##n(b) : "l"(q), "r"(q_row) : "memory"); \
        asm volatile("wmma.mma.sync.aligned.row." order ".m16n16k16." types \
                     " {%0,%1,%2,%3,%4,%5,%6,%7}, {" regs_a "}, {" regs_b "}, {%0,%1,%2,%3,%4,%5,%6,%7};" \
                     : WMMA_SUMS(WMMA_BOTH, c.x) : WMMA_FROM_##n(a), WMMA_FROM_##n(b)); \
    }
#define WMMA_F16(name, order) \
    WMMA_PRODUCT(name, order, 8, "%0,%1,%2,%3,%4,%5,%6,%7", "[%8], %9", "%8,%9,%10,%11,%12,%13,%14,%15", \
                 "%16,%17,%18,%19,%20,%21,%22,%23", "f16", "f32.f32")
#define WMMA_BF16(name, order) \
    WMMA_PRODUCT(name, order, 4, "%0,%1,%2,%3", "[%4], %5", "%8,%9,%10,%11", "%12,%13,%14,%15", "bf16", \
                 "f32.bf16.bf16.f32")
WMMA_F16(wmma_f16, "row")
WMMA_F16(wmma_f16_transposed, "col")
#if __CUDA_ARCH__ >= 800
WMMA_BF16(wmma_bf16, "row")
WMMA_BF16(wmma_bf16_transposed, "col")
#endif
#endif
