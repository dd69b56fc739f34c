// Runs the kernels on the host, for tests of their arithmetic without a driver or a compiler for
// devices. The threads of a group run one after the other from barrier to barrier.
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>

#define KERNEL(threads) static void
#define JOIN_KERNEL static void
#define FUNCTION static
#define GLOBAL
#define SHARED static
#define SHARED_POINTER
#define THREAD fiber
#define GROUP group
// Continues with the next thread. Unlike swapcontext, this makes no system call.
#define BARRIER \
    do { \
        if (!_setjmp(places[fiber])) _longjmp(scheduler, 1); \
    } while (0)
#define ONES(x) (u32) __builtin_popcount(x)
#define ATOMIC_ADD(to, value) __sync_fetch_and_add(to, value)
#define ATOMIC_OR(to, value) __sync_fetch_and_or(to, value)
#define ROTATE_RIGHT(x, bits) ((x) >> (bits) | (x) << (32u - (bits) & 31u))
#define HAS_WARPS
#define FROM_BEFORE(value, threads) from_before(value, threads)
#define FROM_ACROSS(value, threads) from_across(value, threads)
typedef uint32_t u32;
typedef uint64_t u64;
typedef struct {
    u32 x, y, z, w;
} u32x4;

#define MOST_THREADS 256
#define STACK (64 << 10)

static ucontext_t fibers[MOST_THREADS];
static jmp_buf scheduler, places[MOST_THREADS];
static char stacks[MOST_THREADS][STACK];
static u32 fiber, group, ended, begun, before;

// The values that threads exchange. Two places alternate, so that a new value does not replace the
// previous one before all threads have read it.
static u32 exchanged[2][MOST_THREADS], turns[MOST_THREADS];

static u32 *from_all(u32 value) {
    u32 *place = exchanged[turns[fiber]++ & 1];
    place[fiber] = value;
    BARRIER;
    return place;
}

static u32 from_before(u32 value, u32 threads) {
    u32 *values = from_all(value);
    return values[(fiber & 31u) >= threads ? fiber - threads : fiber];
}

static u32 from_across(u32 value, u32 threads) {
    return from_all(value)[fiber ^ threads];
}

#include "kernels.c"

typedef union {
    void *buffer;
    u32 number;
} Argument;

static int kernel;
static const Argument *arguments;

#define P(i) arguments[i].buffer
#define N(i) arguments[i].number

static void run(void) {
    switch (kernel) {
    case 0: list_halves(P(0), P(1), P(2), P(3), P(4), P(5), N(6), N(7), N(8), N(9), N(10)); break;
    case 1: sample_keys(P(0), P(1), P(2), P(3), N(4), N(5)); break;
    case 2: number_buckets(P(0), P(1), P(2), P(3), P(4), P(5), P(6), P(7), N(8), N(9)); break;
    case 3: find_starts(P(0), P(1), N(2)); break;
    case 4: fill_buckets(P(0), P(1), P(2), P(3), P(4), P(5), P(6), P(7), N(8), N(9)); break;
    case 5: count_open(P(0), P(1), P(2), P(3), N(4), N(5)); break;
    case 6: sum_rows(P(0), P(1), P(2), P(3), P(4), P(5), N(6), N(7)); break;
    case 7: sum_blocks(P(0), N(1)); break;
    case 8: join_lists(P(0), P(1), P(2), P(3), P(4), P(5), P(6), P(7), N(8), N(9), N(10)); break;
    default: abort();
    }
    ended++;
    _longjmp(scheduler, 1);
}

// Runs `groups` groups of `size` threads of the kernel with this number. Returns 1 if some threads
// of a group wait at a barrier that others do not reach.
int launch(int number, u32 groups, u32 size, const Argument *given) {
    kernel = number;
    arguments = given;
    for (group = 0; group < groups; group++) {
        for (u32 i = 0; i < size; i++) {
            getcontext(&fibers[i]);
            fibers[i].uc_stack.ss_sp = stacks[i];
            fibers[i].uc_stack.ss_size = STACK;
            makecontext(&fibers[i], run, 0);
        }
        for (begun = 0, ended = 0; ended < size; begun = 1) {
            before = ended;
            for (fiber = 0; fiber < size; fiber++) {
                if (_setjmp(scheduler)) continue;
                if (begun) _longjmp(places[fiber], 1);
                setcontext(&fibers[fiber]);
            }
            if (ended != before && ended != size) return 1;
        }
    }
    return 0;
}
