// The kernel that counts tasks of the method `colours` on a device: from the rows of both colours
// to the sum of the shares of their boards. It is one text for OpenCL C 1.2 and for CUDA. Tests
// compile it as plain C, too.
//
// One launch counts one task. A group of threads takes one set of odd columns of black queens after
// the other, and has a row of cells in shared memory, one for each set of even columns:
//
//   count   each placement of the colour with fewer queens adds 1 to the cell of its even columns
//   share   each cell is multiplied by the share of its boards: 0, 1 or 2; odd N also 4
//   sum     each placement of the other colour adds the cell that it leaves the even columns of
//
// The placements of one colour are found in two ways. Its first rows are filled level by level: a
// thread takes a node and stores its children in global memory. With two rows in even columns (or
// more, so that six rows are left) a node is a *unit*. The last rows are a pipeline: a thread takes
// a unit, and keeps in registers one node of each level below it. A level takes the next child of
// the level above when it has nothing left to try. All threads do this at the same steps, the lower
// levels more often than the upper ones, so they hardly ever differ in what they do: there is no
// stack, and no vote.
//
// Columns and diagonals
//
// Queens of one colour stand on every second square, so even and odd columns are numbered apart,
// and so are a colour's diagonals. Column 2c or 2c + 1 has bit c + 1. A row with the number r has
// i = r / 2:
//
//   a queen with the bit b takes the left diagonal b << low and the right one b << high
//
//   even columns, both colours   low = i        high = last - i
//   odd columns, black           low = i + 1    high = last - i
//   odd columns, white           low = i        high = last - i + 1
//
// where last is the highest i of a board.
//
// (row + column) / 2 and (column - row) / 2, rounded down and up, are equal on exactly the squares
// of a diagonal. At N = 32 the diagonals of two corners have no bit; they have no other square,
// either.
//
// A set of even columns is the place of its cell in bytes: bit c + 1 without column 0, which
// follows from the number of queens. The colour that is summed up looks for the columns that it
// leaves.
//
// Nothing overflows: a cell is at most k! l! for k queens in even and l in odd columns, together at
// most N / 2, so times its share it is less than 2^32 (see `count::colours::cells`). A thread has
// fewer than 2^32 placements in a launch, so its sum is less than 2^64. The upper and the lower 32
// bits of the sums of a group's threads are added apart.

#ifdef __OPENCL_VERSION__
#define KERNEL __kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
// PoCL lets threads of several groups take turns in a function that it does not inline. A barrier
// must not be inside an `if`: version 3.1 miscompiled one whose condition was equal in all threads.
#define FUNCTION static inline __attribute__((always_inline))
#define GLOBAL __global
#define SHARED __local
#define SHARED_POINTER __local
#define THREAD ((u32)get_local_id(0))
#define GROUP ((u32)get_group_id(0))
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define ONES(x) popcount(x)
#define ATOMIC_ADD(to, value) atomic_add(to, value)
#define UNROLL _Pragma("unroll")
// The host says how much shared memory the cells take.
#define CELLS_ARGUMENT , __local u32 *cells
#define CELLS_HERE
typedef uint u32;
typedef ulong u64;
#elif defined(__CUDACC__)
// Six groups of a multiprocessor leave 40 registers to a thread.
#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS, 6)
#define FUNCTION static __device__ __forceinline__
#define GLOBAL
#define SHARED __shared__
#define SHARED_POINTER
#define THREAD threadIdx.x
#define GROUP blockIdx.x
#define BARRIER __syncthreads()
#define ONES(x) __popc(x)
#define ATOMIC_ADD(to, value) atomicAdd(to, value)
#define UNROLL _Pragma("unroll")
#define CELLS_ARGUMENT
#define CELLS_HERE extern __shared__ u32 cells[]
typedef unsigned int u32;
typedef unsigned long long u64;
#else
// Plain C, for tests without a driver: emulate.c defines these names.
#endif

// The number of threads in a group.
#define THREADS 256u
// The most rows of a pipeline.
#define DEPTH 7
// The most rows of a colour.
#define ROWS 32
// How many rows must have a free square before a node is stored. Few nodes of the colour with more
// queens pass.
#define LOOK_AHEAD 3u

// The last rows of a colour, by the number of rows that come after them, and how many there are.
typedef struct {
    u32 low[DEPTH], high[DEPTH], times_low[DEPTH], times_high[DEPTH]; // times: 1 << low, 1 << high
    u32 depth;                                                       // that of the kernel; 0 without rows in even columns
    u32 first;                                                       // the number of rows before them
    u32 odd;                                                         // the number of rows in odd columns, which come first
} Colour;

// A task. Masks of columns begin with bit 0 here.
typedef struct {
    Colour counted, summed;
    u32 n;
    u32 black_is_counted;
    u32 queens;             // the number of counted queens in even columns
    u32 black_even_rows;    // k of the task's class
    u32 place;              // the place of the task's class among those with the same k
    u32 least, most;        // the sets of odd columns that can have a share
    u32 one, minus_one;     // 1 and -1: devices multiply and add beside what they do with bits
    u32 counts_placements;  // whether placements are counted, and not boards
    u32 first_set, sets;    // the sets of odd columns that black queens can take
    u32 index;              // the number of the launch in its batch
    u32 most_groups;        // the most groups of a launch
    u32 nodes;              // how many nodes a group has space for
} Split;

// The queens of some rows of a colour: the columns and the diagonals that they take. `taken` has
// all bits outside of the board, too.
typedef struct {
    u32 taken, left, right;
} Node;

// The first rows of a colour, in the order in which they get queens, and where the nodes of a level
// are stored. Level i has nodes with i queens; the last level has the units.
typedef struct {
    u32 low[ROWS], high[ROWS];
    u32 at[ROWS + 2];
} FirstRows;

// A set of at most 16 lines in reverse order.
FUNCTION u32 reversed(u32 set, u32 lines) {
    set = (set & 0x5555u) << 1 | (set >> 1 & 0x5555u);
    set = (set & 0x3333u) << 2 | (set >> 2 & 0x3333u);
    set = (set & 0x0f0fu) << 4 | (set >> 4 & 0x0f0fu);
    set = (set & 0x00ffu) << 8 | set >> 8;
    return set >> (16u - lines);
}

// How often boards count whose black queens take these even and odd columns:
// `board::colours::share`.
FUNCTION u32 share(const Split split, u32 even, u32 odd) {
    u32 evens = (split.n + 1u) >> 1, odds = split.n >> 1;
    u32 own = odd << 16 | even, turned;
    u64 of_task = (u64)split.black_even_rows << 32 | split.place, other;
    if (split.n & 1u) {
        turned = reversed(odd, odds) << 16 | reversed(even, evens);
        other = (u64)(ONES(odd) + 1u) << 32 | (own < turned ? own : turned);
        return ((other >= of_task) + (other > of_task)) * ((own <= turned) + (own < turned));
    }
    // The other two images have the complements of these columns, and half of the lines less k.
    u32 full = (1u << odds) - 1u, all = full << 16 | full, k = ONES(odd);
    turned = reversed(even, evens) << 16 | reversed(odd, odds);
    u64 of_own = (u64)k << 32 | (own < turned ? own : turned);
    u64 of_others = (u64)(odds - k) << 32 | (all ^ (own > turned ? own : turned));
    other = of_own < of_others ? of_own : of_others;
    return (other >= of_task) + (other > of_task);
}

// Whether boards whose black queens take these odd columns can have a share.
FUNCTION u32 is_wanted(const Split split, u32 odd) {
    return odd >= split.least && odd <= split.most && (!(split.n & 1u) || odd <= reversed(odd, split.n >> 1));
}

// If a level has nothing left to try, but the level above has, this places the next queen of the
// level above: in CUDA with instructions that all depend on the same condition, without a branch,
// of which half multiply. Written plainly, it takes twice as many. `i` is the number of rows after
// that queen's.
#ifdef __CUDACC__
#define PLACE(m, i)                                                                                          \
    asm("{ .reg .pred p; .reg .b32 less, rest, queen, l, r;\n\t"                                             \
        "setp.eq.u32 p, %0, 0; setp.ne.and.u32 p, %4, 0, p;\n\t"                                             \
        "mad.lo.u32 less, %4, %12, %13; and.b32 rest, %4, less; mad.lo.u32 queen, rest, %13, %4;\n\t"        \
        "@p mad.lo.u32 %1, queen, %12, %5; @p mad.lo.u32 %2, queen, %8, %6;\n\t"                             \
        "@p mad.lo.u32 %3, queen, %9, %7; @p mad.lo.u32 %4, rest, %12, 0;\n\t"                               \
        "shr.u32 l, %2, %10; shr.u32 r, %3, %11; lop3.b32 l, l, r, %1, 0x01; @p mad.lo.u32 %0, l, %12, 0; }" \
        : "+r"(open[m]), "+r"(taken[m]), "+r"(left[m]), "+r"(right[m]), "+r"(open[(m) - 1])                  \
        : "r"(taken[(m) - 1]), "r"(left[(m) - 1]), "r"(right[(m) - 1]), "r"(colour.times_low[i]),            \
          "r"(colour.times_high[i]), "r"(colour.low[(i) - 1]), "r"(colour.high[(i) - 1]), "r"(one), "r"(minus_one))
#else
#define PLACE(m, i)                                                                                          \
    if (!open[m] && open[(m) - 1]) {                                                                         \
        u32 rest = open[(m) - 1] & (open[(m) - 1] - 1u), queen = open[(m) - 1] - rest;                       \
        open[(m) - 1] = rest;                                                                                \
        taken[m] = taken[(m) - 1] + queen;                                                                   \
        left[m] = left[(m) - 1] + queen * colour.times_low[i];                                               \
        right[m] = right[(m) - 1] + queen * colour.times_high[i];                                            \
        open[m] = ~(taken[m] | left[m] >> colour.low[(i) - 1] | right[m] >> colour.high[(i) - 1]);           \
    }
#endif

// The rhythm of a pipeline: threads look for units every STEPS steps; a level with `i` rows after
// it takes a node every PERIOD steps. The fewer rows there are, the more children a node has.
#define STEPS(depth) ((depth) <= 5u ? 16u : (depth) == 6u ? 8u : 4u)
#define LEAF_PERIOD(depth) ((depth) <= 6u ? 1u : 2u)
#define PERIOD(depth, i)                                                                                     \
    ((depth) <= 3u   ? (i) == 0 ? 4u : 8u                                                                    \
     : (depth) == 4u ? (i) == 0 ? 2u : (i) == 1 ? 4u : 8u                                                    \
     : (depth) == 5u ? (i) <= 1 ? 2u : (i) == 2 ? 4u : 8u                                                    \
     : (depth) == 6u ? (i) <= 2 ? 1u : 2u                                                                    \
                     : 1u)

// A queen on the lowest square that is left to the last row: counts the cell of all columns, or
// adds its count to the sum. It does nothing without a square.
#ifdef __CUDACC__
// The address of shared memory for instructions that only know shared memory.
#define CELLS_ADDRESS u32 address = (u32)__cvta_generic_to_shared(cells)
#define COUNT_CELL(place, open)                                                                              \
    asm volatile("{ .reg .u32 has; min.u32 has, %0, 1; red.shared.add.u32 [%1], has; }" ::"r"(open),         \
                 "r"(address + (place))                                                                      \
                 : "memory")
#define ADD_CELL(place, open)                                                                                \
    asm("{ .reg .u32 cell, has; min.u32 has, %1, 1; ld.shared.u32 cell, [%2]; mad.wide.u32 %0, cell, has, %0; }"  \
        : "+l"(sum)                                                                                          \
        : "r"(open), "r"(address + (place)))
#else
#define CELLS_ADDRESS SHARED_POINTER char *address = (SHARED_POINTER char *)cells
#define COUNT_CELL(place, open)                                                                              \
    if (open) ATOMIC_ADD((SHARED_POINTER u32 *)(address + (place)), 1u)
#define ADD_CELL(place, open) sum += (u64) * (SHARED_POINTER u32 *)(address + (place)) * ((open) != 0u)
#endif

// Fills the last `depth` rows of all units from `next` to `end`, and counts the cells of the
// placements or, if `is_sum`, adds them up. `depth` and `is_sum` are constants.
FUNCTION u64 search(const u32 depth, const u32 is_sum, const Colour colour, u32 one, u32 minus_one, u32 places,
                    SHARED_POINTER u32 *cells, SHARED_POINTER u32 *next, u32 end, GLOBAL const Node *units) {
    u32 taken[DEPTH], left[DEPTH], right[DEPTH], open[DEPTH];
    u64 sum = 0;
    CELLS_ADDRESS;
    UNROLL
    for (u32 m = 0; m < depth; m++) open[m] = taken[m] = left[m] = right[m] = 0;
    for (;;) {
        if (!open[0]) {
            u32 unit = ATOMIC_ADD(next, 1u);
            if (unit < end) {
                taken[0] = units[unit].taken, left[0] = units[unit].left, right[0] = units[unit].right;
                open[0] = ~(taken[0] | left[0] >> colour.low[depth - 1u] | right[0] >> colour.high[depth - 1u]);
            } else {
                u32 any = 0;
                UNROLL
                for (u32 m = 1; m < depth; m++) any |= open[m];
                if (!any) return sum;
            }
        }
        UNROLL
        for (u32 step = 0; step < STEPS(depth); step++) {
            UNROLL
            for (u32 m = 1; m < depth; m++) {
                if (step % PERIOD(depth, depth - 1u - m) == 0) PLACE(m, depth - m);
            }
            if (step % LEAF_PERIOD(depth)) continue;
            u32 last = depth - 1u, squares = open[last], less = squares - 1u, columns = taken[last] | (squares & ~less);
            if (is_sum) {
                ADD_CELL(~columns & places, squares);
            } else {
                COUNT_CELL(columns & places, squares);
            }
            open[last] = squares & less;
        }
    }
}

#define SEARCH(depth)                                                                                        \
    search(depth, is_sum, colour, split.one, split.minus_one, places, cells, next, units, nodes + at)

// All placements of a colour whose queens in odd columns take these ones; there is one if it has no
// queen. `begins` is 0 if none is wanted. `lens` has the number of nodes of each level.
FUNCTION u64 place_all(const u32 is_sum, const Split split, const Colour colour,
                       GLOBAL const FirstRows *rows, u32 odd_columns, u32 begins, SHARED_POINTER u32 *cells,
                       SHARED_POINTER u32 *lens, SHARED_POINTER u32 *next, GLOBAL Node *nodes) {
    u32 evens = (split.n + 1u) >> 1, even_taken = ~(((1u << evens) - 1u) << 1);
    u32 places = (1u << (evens + 1u)) - 4u;
    u32 at = rows->at[colour.first], room = rows->at[colour.first + 1u] - at;
    u64 sum = 0;
    u32 more;
    BARRIER;
    if (THREAD <= colour.first) lens[THREAD] = 0;
    BARRIER;
    if (!THREAD && begins) {
        lens[0] = 1;
        nodes->taken = colour.odd ? ~(odd_columns << 1) : even_taken;
        nodes->left = nodes->right = 0;
    }
    do {
        // Fills the first rows: of the last level with a node for each thread, or else of the first
        // level that has a node, until there are units enough.
        for (;;) {
            BARRIER;
            u32 level = colour.first, units = lens[colour.first];
            for (u32 i = colour.first; i-- > 0;) {
                if (lens[i] && (level == colour.first || lens[level] < THREADS)) level = i;
            }
            u32 len = lens[level];
            more = level < colour.first;
            BARRIER;
            if (!more || units + THREADS * (evens + 1u) > room) break;
            u32 take = len < THREADS ? len : THREADS;
            if (THREAD < take) {
                Node node = nodes[rows->at[level] + len - take + THREAD];
                u32 low = rows->low[level], high = rows->high[level];
                u32 open = ~(node.taken | node.left >> low | node.right >> high);
                GLOBAL Node *children = nodes + rows->at[level + 1u];
                for (; open; open &= open - 1u) {
                    u32 queen = open & (0u - open), lives = ~0u;
                    Node child;
                    child.taken = level + 1u == colour.odd ? even_taken : node.taken | queen;
                    child.left = node.left | queen << low;
                    child.right = node.right | queen << high;
                    // A node lives if each of the next rows has a free square, as far as the same
                    // columns are theirs.
                    u32 end = level + 1u < colour.odd ? colour.odd : colour.first;
                    for (u32 i = level + 1u; i < end && i <= level + LOOK_AHEAD; i++) {
                        if (!~(child.taken | child.left >> rows->low[i] | child.right >> rows->high[i])) lives = 0;
                    }
                    if (lives) children[ATOMIC_ADD(&lens[level + 1u], 1u)] = child;
                }
            }
            if (!THREAD) lens[level] = len - take;
        }
        if (!THREAD) *next = 0;
        u32 units = lens[colour.first];
        BARRIER;
        switch (colour.depth) {
        case 0:
            // The colour has no queen in even columns: a unit is a placement.
            if (!THREAD && is_sum) sum += (u64)units * cells[places >> 2];
            if (!THREAD && !is_sum) cells[0] += units;
            break;
        case 1: sum += SEARCH(1u); break;
        case 2: sum += SEARCH(2u); break;
        case 3: sum += SEARCH(3u); break;
        case 4: sum += SEARCH(4u); break;
        case 5: sum += SEARCH(5u); break;
        case 6: sum += SEARCH(6u); break;
        default: sum += SEARCH(7u); break;
        }
        BARRIER;
        if (!THREAD) lens[colour.first] = 0;
    } while (more);
    BARRIER;
    return sum;
}

// The sum of the values of all threads, for the first one.
FUNCTION u64 sum_of(u64 value, SHARED_POINTER u64 *sums) {
    sums[THREAD] = value;
    for (u32 others = THREADS / 2u; others; others >>= 1) {
        BARRIER;
        if (THREAD < others) sums[THREAD] += sums[THREAD + others];
    }
    BARRIER;
    value = sums[0];
    BARRIER;
    return value;
}

// Counts a task with pipelines of `depth` rows. `sets` are the sets of odd columns, by size. `rows`
// has the rows of the counted and of the summed colour of each launch, `taken` how many sets its
// groups have taken. `totals` gets two numbers from each group: the sums of the lower and of the
// upper 32 bits of its threads' sums.
KERNEL count_split(GLOBAL const u32 *sets, GLOBAL const FirstRows *rows, GLOBAL Node *nodes, GLOBAL u32 *taken,
                   GLOBAL u64 *totals, const Split split CELLS_ARGUMENT) {
    CELLS_HERE;
    SHARED u64 sums[THREADS];
    SHARED u32 lens[ROWS + 1], set, next, any;
    u32 evens = (split.n + 1u) >> 1, odds = split.n >> 1, full = (1u << odds) - 1u;
    u64 sum = 0;
    sets += split.first_set;
    rows += 2u * split.index;
    nodes += (u64)GROUP * split.nodes;
    taken += split.index;
    totals += 2u * ((u64)split.index * split.most_groups + GROUP);
    for (;;) {
        BARRIER;
        if (!THREAD) {
            u32 index;
            do {
                index = ATOMIC_ADD(taken, 1u);
            } while (index < split.sets && !is_wanted(split, sets[index]));
            set = index < split.sets ? sets[index] : ~0u;
            any = 0;
        }
        for (u32 i = THREAD; i < 1u << (evens - 1u); i += THREADS) cells[i] = 0;
        BARRIER;
        u32 odd = set;
        if (odd == ~0u) break;
        u32 counted_odd = split.black_is_counted ? odd : full & ~odd;
        place_all(0u, split, split.counted, rows, counted_odd, 1u, cells, lens, &next, nodes);
        for (u32 i = THREAD; i < 1u << (evens - 1u); i += THREADS) {
            u32 cell = cells[i];
            if (cell) {
                u32 even = i << 1 | ((u32)ONES(i) < split.queens);
                if (!split.black_is_counted) even ^= (1u << evens) - 1u;
                u32 times = share(split, even, odd);
                if (times) any = 1;
                if (split.counts_placements) sum += cell;
                cell *= times;
            }
            cells[i] = split.counts_placements ? 1u : cell;
        }
        BARRIER;
        sum += place_all(1u, split, split.summed, rows + 1, full & ~counted_odd, any, cells, lens, &next, nodes);
    }
    u64 low = sum_of(sum & 0xffffffffu, sums), high = sum_of(sum >> 32, sums);
    if (!THREAD) totals[0] = low, totals[1] = high;
}

