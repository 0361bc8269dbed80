/* A driver of a GPU that is this processor: it has one kernel, which adds one, and asks for what it is given. */
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <time.h>
typedef uint64_t mem;
static int failing;
static _Thread_local int current;
int freed, unloaded, outside; /* what was given back, and how often by a thread without the context */
static int64_t now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000ll + t.tv_nsec; }
int cuInit(unsigned flags) { return 0; }
int cuDeviceGet(int *d, int k) { *d = k; return 0; }
int cuDeviceGetName(char *name, int n, int d) { strncpy(name, "Fake GPU", n); return 0; }
int cuDeviceGetAttribute(int *v, int k, int d) { *v = k == 75 ? 8 : k == 76 ? 6 : k == 16 ? 3 : k == 1 ? 1024 : 49152; return 0; }
int cuDevicePrimaryCtxRetain(void **c, int d) { *c = (void *)7; return 0; }
int cuCtxSetCurrent(void *c) { current = c == (void *)7; return current ? 0 : 201; }
int cuCtxSynchronize(void) { return 0; }
int cuMemAlloc_v2(mem *at, size_t n) { if (n > (1u << 30)) return 2; *at = (mem)malloc(n); return 0; }
int cuMemFree_v2(mem at) { free((void *)at); freed++; outside += !current; return current ? 0 : 201; }
int cuMemcpyHtoD_v2(mem to, const void *from, size_t n) { memcpy((void *)to, from, n); return 0; }
int cuMemcpyDtoH_v2(void *to, mem from, size_t n) { memcpy(to, (void *)from, n); return failing ? 700 : 0; }
int cuMemsetD8_v2(mem to, unsigned char c, size_t n) { memset((void *)to, c, n); return 0; }
int cuModuleLoadData(void **m, const char *image) { *m = (void *)image; return memcmp(image, "\177ELF", 4) ? 200 : 0; }
int cuModuleUnload(void *m) { unloaded++; outside += !current; return current ? 0 : 201; }
int cuModuleGetFunction(void **f, void *m, const char *name) { *f = (void *)strcmp(name, "kernel0"); return *f ? 500 : 0; }
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **params, void **extra) {
    if (gy * gz * by * bz != 1 || stream || extra || shared) return 1;
    const float *x = *(float **)params[0];
    float *y = *(float **)params[1];
    for (unsigned k = 0; k < gx * bx; ++k) y[k] = x[k] + 1;
    if (x[0] == 13) failing = 1;
    return 0;
}
int cuEventCreate(int64_t **e, unsigned flags) { *e = malloc(8); return 0; }
int cuEventRecord(int64_t *e, void *stream) { *e = now(); return 0; }
int cuEventSynchronize(int64_t *e) { return failing ? 700 : 0; }
int cuEventElapsedTime(float *ms, const int64_t *a, const int64_t *b) { *ms = (*b - *a) * 1e-6f; return 0; }
int cuGetErrorString(int code, const char **text) { *text = code == 700 ? "illegal memory access" : "some error"; return 0; }
