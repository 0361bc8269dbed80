"""The program on a board, in C without a C library: it takes code and data from standard input, runs, and answers.

It needs Linux and nothing else: no Python, no libraries, no files. A message is a row of 64-bit words, then bytes:

- ``LOAD base size bytes …``: machine code that is linked for the address `base`;
- ``MEMORY slot size``: give a slot so many bytes, all of them zero, in the place of what it had;
- ``WRITE slot offset bytes …``, ``FILL slot offset bytes value``, ``READ slot offset bytes``;
- ``RUN entry workspace evict seconds repeat number count slot offset …``: call a kernel `repeat` times `number` times;
  the answer is the nanoseconds of each repetition. Before each, `evict` bytes are written elsewhere, and a call that
  takes longer than all the seconds ends the program.
"""

from __future__ import annotations

#: First word of the program's answers, and numbers of messages.
HELLO = 0x31_64_72_61_6F_62_77
LOAD, MEMORY, WRITE, FILL, READ, RUN = range(1, 7)
#: Slots that there are.
SLOTS = 256
#: Exit codes, and what they mean.
EXITS = {3: "the board has not enough memory", 4: "the program on the board was sent what it does not know"}

#: What kernels may call of a C library. Remainders are exact: every subtraction is of numbers within a factor of two.
SUPPORT = """
typedef unsigned long size;
#define KEEP __attribute__((noinline, used))
KEEP void *memset(void *d, int c, size n) { volatile char *p = d; while (n--) *p++ = (char)c; return d; }
KEEP void *memcpy(void *d, const void *s, size n) {
    volatile char *p = d; const char *q = s;
    while (n--) *p++ = *q++;
    return d;
}
KEEP void *memmove(void *d, const void *s, size n) {
    volatile char *p = d; const char *q = s;
    if (p <= q) while (n--) *p++ = *q++; else while (n--) p[n] = q[n];
    return d;
}
#define REMAINDER(name, real) KEEP real name(real x, real y) { \\
    real a = x < 0 ? -x : x, b = y < 0 ? -y : y, t = b; \\
    if (!(b > 0) || !(a - a == 0)) return (x * y) / (x * y); \\
    if (b - b != 0 || a < b) return y == y ? x : y; \\
    while (t <= a / 2) t *= 2; \\
    for (; t >= b; t /= 2) if (a >= t) a -= t; \\
    return __builtin_signbit(x) ? -a : a; }
REMAINDER(fmod, double)
REMAINDER(fmodf, float)
"""

PROGRAM = """
typedef long word;
#if defined(__x86_64__)
enum { SYS_READ = 0, SYS_WRITE = 1, SYS_MMAP = 9, SYS_MUNMAP = 11, SYS_EXIT = 60, SYS_CLOCK = 228, SYS_TIMER = 38 };
static word sys(word n, word a, word b, word c, word d, word e, word f) {
    register word r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    __asm__ volatile("syscall" : "+a"(n) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    return n;
}
static void code_changed(char *at, word n) { (void)at, (void)n; }
static void prepare(void) { sys(158, 4131, 18, 0, 0, 0, 0); /* tiles of AMX, where there are any */ }
#define ENTRY __attribute__((force_align_arg_pointer))
#else
enum { SYS_READ = 63, SYS_WRITE = 64, SYS_MMAP = 222, SYS_MUNMAP = 215, SYS_EXIT = 93, SYS_CLOCK = 113,
       SYS_TIMER = 103 };
#if defined(__aarch64__)
#define CALL "x8", "x0", "x1", "x2", "x3", "x4", "x5", "svc #0"
static void code_changed(char *at, word n) {
    for (word k = 0; k < n; k += 16) __asm__ volatile("dc cvau, %0" : : "r"(at + k) : "memory");
    __asm__ volatile("dsb ish" : : : "memory");
    for (word k = 0; k < n; k += 16) __asm__ volatile("ic ivau, %0" : : "r"(at + k) : "memory");
    __asm__ volatile("dsb ish\\n isb" : : : "memory");
}
#else
#define CALL "a7", "a0", "a1", "a2", "a3", "a4", "a5", "ecall"
#endif
#define REGISTERS(n0, r0, r1, r2, r3, r4, r5, go) \\
    register word N __asm__(n0) = n, A __asm__(r0) = a, B __asm__(r1) = b, C __asm__(r2) = c; \\
    register word D __asm__(r3) = d, E __asm__(r4) = e, F __asm__(r5) = f; \\
    __asm__ volatile(go : "+r"(A) : "r"(N), "r"(B), "r"(C), "r"(D), "r"(E), "r"(F) : "memory"); return A;
#define SYSTEM(...) REGISTERS(__VA_ARGS__)
static word sys(word n, word a, word b, word c, word d, word e, word f) { SYSTEM(CALL) }
#if !defined(__aarch64__)
static void code_changed(char *at, word n) { sys(259, (word)at, (word)at + n, 0, 0, 0, 0); }
#endif
static void prepare(void) {}
#define ENTRY
#endif

static void leave(word code) { for (;;) sys(SYS_EXIT, code, 0, 0, 0, 0, 0); }
static void all(word call, word file, void *data, word n) {
    for (char *p = data; n > 0;) {
        word k = sys(call, file, (word)p, n, 0, 0, 0);
        if (k == 0) leave(0);
        if (k == -4) continue; /* interrupted */
        if (k < 0) leave(5);
        p += k, n -= k;
    }
}
static word next(void) { word w; all(SYS_READ, 0, &w, sizeof w); return w; }
static void tell(word w) { all(SYS_WRITE, 1, &w, sizeof w); }
static char *room(word at, word n) { /* read, write, execute; private, anonymous, and fixed where a place is given */
    word got = sys(SYS_MMAP, at, n, 7, at ? 0x32 : 0x22, -1, 0);
    if (got < 0 && got > -4096) leave(3);
    return (char *)got;
}
static word now(void) { word t[2]; sys(SYS_CLOCK, 1, (word)t, 0, 0, 0, 0); return t[0] * 1000000000 + t[1]; }
static void limit(word seconds) { word t[4] = {0, 0, seconds, 0}; sys(SYS_TIMER, 0, (word)t, 0, 0, 0, 0); }

typedef void (*Region)(void *, word, word);
typedef void (*Kernel)(void **, void *, void *);
static void launch(void *pool, Region region, void *context, word tasks) {
    (void)pool;
    for (word t = 0; t < tasks; ++t) region(context, t, 0);
}
static struct { char *at; word size; } slots[SLOTS];
static struct { word threads; void *pool; void (*launch)(void *, Region, void *, word); } runtime = {1, 0, 0};
static char *place(void) {
    word slot = next(), offset = next();
    if (slot < 0 || slot >= SLOTS || offset < 0 || offset > slots[slot].size) leave(4);
    return slots[slot].at + offset;
}
static void set_memory(void) {
    word slot = next(), size = next();
    if (slot < 0 || slot >= SLOTS) leave(4);
    if (slots[slot].size) sys(SYS_MUNMAP, (word)slots[slot].at, slots[slot].size, 0, 0, 0, 0);
    slots[slot].size = 0;
    if (size) slots[slot].at = room(0, size), slots[slot].size = size;
}
static void load(void) {
    word base = next(), size = next(), bytes = next();
    char *at = room(base, size);
    all(SYS_READ, 0, at, bytes);
    code_changed(at, size);
}
static void run(void) {
    Kernel kernel = (Kernel)next();
    char *workspace = place();
    word evict = next(), seconds = next(), repeat = next(), number = next(), count = next();
    void *args[SLOTS];
    if (count > SLOTS) leave(4);
    for (word k = 0; k < count; ++k) args[k] = place();
    volatile char *other = evict ? room(0, evict) : 0;
    runtime.launch = launch;
    limit(seconds);
    for (word r = 0; r < repeat; ++r) {
        for (word k = 0; k < evict; k += 16) other[k] = (char)r;
        word begin = now();
        for (word k = 0; k < number; ++k) kernel(args, workspace, &runtime);
        word end = now();
        tell(end - begin);
    }
    limit(0);
    if (evict) sys(SYS_MUNMAP, (word)other, evict, 0, 0, 0, 0);
}
ENTRY void _start(void) {
    prepare();
    tell(HELLO);
    for (;;) {
        word what = next();
        if (what == LOAD) load();
        else if (what == MEMORY) set_memory();
        else if (what == RUN) run();
        else if (what != WRITE && what != FILL && what != READ) leave(4);
        else {
            char *at = place();
            word n = next();
            if (what == WRITE) all(SYS_READ, 0, at, n);
            else if (what == READ) all(SYS_WRITE, 1, at, n);
            else memset(at, (int)next(), n);
        }
    }
}
"""


def text() -> str:
    """Return the whole program."""
    numbers = {"HELLO": HELLO, "LOAD": LOAD, "MEMORY": MEMORY, "WRITE": WRITE, "FILL": FILL, "READ": READ, "RUN": RUN}
    names = ", ".join(f"{name} = {value}" for name, value in numbers.items() if name != "HELLO")
    return f"#define HELLO {HELLO}L\n#define SLOTS {SLOTS}\nenum {{ {names} }};\n{SUPPORT}{PROGRAM}"
