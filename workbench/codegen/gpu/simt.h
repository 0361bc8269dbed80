/* Runs the threads of CUDA C on a CPU: one fibre per thread, a barrier is a switch to the next one.
 *
 * The blocks run one after the other, the threads of a block until the next barrier each. A call runs everything three
 * times, with the threads in ascending, in descending and in a random order, and compares the results. Shared memory
 * starts as NaN in each block. */
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define __global__
#define __device__
#define __launch_bounds__(n)
#define __align__(n) __attribute__((aligned(n)))
#define __restrict__ /* what one thread writes the others read, so calls do change memory */
#define __shared__ static
#define __syncthreads() simt_wait(__LINE__)
#define SHARED(array) simt_shared(array, sizeof array)
#define LAUNCH(kernel, grid, block, ...) simt_launch([&] { kernel(__VA_ARGS__); }, dim3 grid, dim3 block)

struct dim3 {
    int x, y, z;
    dim3(int x = 1, int y = 1, int z = 1) : x(x), y(y), z(z) {}
};
template <class T, int n> struct __attribute__((aligned(sizeof(T) * n))) simt_wide { T part[n]; };
#define WIDE(type) \
    typedef simt_wide<type, 2> type##2; \
    typedef simt_wide<type, 4> type##4;
typedef long long longlong;
WIDE(char) WIDE(short) WIDE(int) WIDE(longlong) WIDE(float)

/* Tiles of a warp: each thread has 8 of the 256 sums, and reads what it needs of the operands. */
static int simt_lane(void);
static float simt_bits(uint32_t u) {
    float f;
    memcpy(&f, &u, 4);
    return f;
}
static float simt_bf16(uint16_t h) { return simt_bits((uint32_t)h << 16); }
static float simt_f16(uint16_t h) {
    const int exponent = h >> 10 & 31, fraction = h & 1023;
    const float size = exponent == 31 ? (fraction ? NAN : INFINITY)
                       : exponent     ? ldexpf(1024 + fraction, exponent - 25)
                                      : ldexpf(fraction, -24);
    return h & 0x8000 ? -size : size;
}
#define WMMA_EACH for (int k = 0, at = simt_lane() * 8, i = at / 16, j = at % 16; k < 8; ++k, ++j)
template <class S> static void wmma_load(S &c, const float *p, int row) { WMMA_EACH c.x[k] = p[i * row + j]; }
template <class S> static void wmma_store(float *p, int row, const S &c) { WMMA_EACH p[i * row + j] = c.x[k]; }
template <float (*value)(uint16_t), class S>
static void wmma(S &c, const uint16_t *p, int p_row, const uint16_t *q, int down, int right) {
    WMMA_EACH for (int r = 0; r < 16; ++r) c.x[k] += value(p[i * p_row + r]) * value(q[r * down + j * right]);
}
#define wmma_f16(c, p, p_row, q, q_row) wmma<simt_f16>(c, p, p_row, q, q_row, 1)
#define wmma_bf16(c, p, p_row, q, q_row) wmma<simt_bf16>(c, p, p_row, q, q_row, 1)
#define wmma_f16_transposed(c, p, p_row, q, q_row) wmma<simt_f16>(c, p, p_row, q, 1, q_row)
#define wmma_bf16_transposed(c, p, p_row, q, q_row) wmma<simt_bf16>(c, p, p_row, q, 1, q_row)

enum { SIMT_FINE, SIMT_UNEVEN, SIMT_RACE, SIMT_INDEX, SIMT_MEMORY };
struct simt_fibre {
    ucontext_t context;
    int line; /* of the barrier where it waits; 0: it can run, -1: it is done */
};
struct simt_status {
    int32_t fault, line, other, thread, block;
};

extern "C" { simt_status simt_now; } /* what the last call found wrong */
static dim3 threadIdx, blockIdx;
static simt_fibre *simt_fibres;
static ucontext_t simt_home;
static int simt_self, simt_first, simt_order;
static const void *simt_body;
static void (*simt_call)(const void *);

static void __attribute__((noinline)) simt_switch(int line) {
    simt_fibres[simt_self].line = line;
    swapcontext(&simt_fibres[simt_self].context, &simt_home);
}
static int simt_lane(void) { return simt_self % 32; }
#define __syncwarp() ((void)0)
static void simt_wait(int line) { simt_switch(line); }
static void __attribute__((noinline)) simt_shared(void *array, size_t nbytes) {
    if (simt_self == simt_first) memset(array, 0xff, nbytes);
    __asm__ volatile("" : : "r"(array) : "memory"); /* the array is known outside */
}
static void simt_enter() {
    simt_call(simt_body);
    simt_switch(-1);
}
static void simt_trap(int) { /* an index outside of an array, as the compiler's checks say */
    simt_now.fault = SIMT_INDEX;
    simt_now.thread = simt_self;
    setcontext(&simt_home);
}

/* Whether all threads of a block wait at the same barrier, or all are done. */
static bool simt_together(int threads) {
    for (int k = 1; k < threads; ++k)
        if (simt_fibres[k].line != simt_fibres[0].line) {
            simt_now.fault = SIMT_UNEVEN;
            simt_now.line = simt_fibres[0].line, simt_now.other = simt_fibres[k].line, simt_now.thread = k;
            return false;
        }
    return true;
}

static void simt_block(dim3 block, const int *turn, char *stacks, size_t stack) {
    const int threads = block.x * block.y * block.z;
    for (int k = 0; k < threads; ++k) {
        ucontext_t *c = &simt_fibres[k].context;
        getcontext(c);
        c->uc_stack.ss_sp = stacks + k * stack, c->uc_stack.ss_size = stack, c->uc_link = 0;
        makecontext(c, simt_enter, 0);
        simt_fibres[k].line = 0;
    }
    do {
        for (int t = 0; t < threads && !simt_now.fault; ++t) {
            simt_self = turn[t];
            threadIdx = dim3(simt_self % block.x, simt_self / block.x % block.y, simt_self / block.x / block.y);
            swapcontext(&simt_home, &simt_fibres[simt_self].context);
        }
    } while (!simt_now.fault && simt_together(threads) && simt_fibres[0].line > 0);
}

static void simt_turns(int *turn, int threads) {
    uint32_t seed = 12345;
    for (int k = 0; k < threads; ++k) turn[k] = simt_order == 1 ? threads - 1 - k : k;
    for (int k = threads - 1; k > 0 && simt_order == 2; --k) {
        seed = seed * 1664525u + 1013904223u;
        const int j = (int)((uint64_t)seed * (k + 1) >> 32), other = turn[k];
        turn[k] = turn[j], turn[j] = other;
    }
}

template <class F> static void simt_launch(const F &body, dim3 grid, dim3 block) {
    const int threads = block.x * block.y * block.z;
    const size_t stack = SIMT_STACK;
    if (simt_now.fault) return;
    char *stacks = (char *)malloc(threads * stack);
    int *turn = (int *)malloc(threads * sizeof(int));
    simt_fibres = (simt_fibre *)malloc(threads * sizeof(simt_fibre));
    simt_body = &body, simt_call = [](const void *f) { (*(const F *)f)(); };
    if (stacks && turn && simt_fibres) {
        simt_turns(turn, threads);
        simt_first = turn[0];
        const int64_t blocks = (int64_t)grid.x * grid.y * grid.z;
        for (int64_t g = 0; g < blocks && !simt_now.fault; ++g) {
            simt_now.block = (int)g;
            blockIdx = dim3(g % grid.x, g / grid.x % grid.y, g / grid.x / grid.y);
            simt_block(block, turn, stacks, stack);
        }
    } else {
        simt_now.fault = SIMT_MEMORY;
    }
    free(stacks), free(turn), free(simt_fibres);
}

typedef void (*simt_host)(void **bufs, char *workspace);

static void simt_three_times(simt_host host, void **bufs, char *workspace, const int64_t *nbytes, int count) {
    char **kept = (char **)calloc(count + 1, sizeof(char *));
    for (simt_order = 0; simt_order < 3 && !simt_now.fault; ++simt_order) {
        host(bufs, workspace);
        for (int k = 0; k < count && kept && !simt_now.fault; ++k) {
            if (!nbytes[k]) continue;
            if (!simt_order && (kept[k] = (char *)malloc(nbytes[k]))) memcpy(kept[k], bufs[k], nbytes[k]);
            if (!kept[k]) simt_now.fault = SIMT_MEMORY;
            else if (memcmp(kept[k], bufs[k], nbytes[k])) simt_now.fault = SIMT_RACE, simt_now.thread = k;
            if (simt_order < 2) memset(bufs[k], 0xff, nbytes[k]);
        }
    }
    for (int k = 0; k < count; ++k) {
        if (simt_now.fault && nbytes[k]) memset(bufs[k], 0xff, nbytes[k]); /* nobody takes it for a result */
        if (kept) free(kept[k]);
    }
    free(kept);
}

static void simt_run(simt_host host, void **bufs, char *workspace, const int64_t *nbytes, int count) {
    struct sigaction trap, before, other;
    memset(&trap, 0, sizeof trap);
    trap.sa_handler = simt_trap, trap.sa_flags = SA_NODEFER;
    memset(&simt_now, 0, sizeof simt_now);
    sigaction(SIGILL, &trap, &before), sigaction(SIGTRAP, &trap, &other);
    simt_three_times(host, bufs, workspace, nbytes, count);
    sigaction(SIGILL, &before, 0), sigaction(SIGTRAP, &other, 0);
}
