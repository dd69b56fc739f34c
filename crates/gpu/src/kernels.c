// The kernels that count splits of a board on a device, from their columns to the numbers of pairs
// that fit. It is one text for OpenCL C 1.2 and for CUDA. Tests compile it as plain C, too.
//
//   list_halves     forms quarter-boards in the columns of a choice,       a group for each half, choice
//                   pairs those that do not attack each other, and         and chunk
//                   writes the half-boards as keys of their diagonals
//   sample_keys     takes keys from all over the lists, by which the       a group for each half
//                   host chooses the diagonals of codes
//   number_buckets  turns keys into records of a bucket's number and an    a group for each half, choice
//                   item, and ranks the items of each bucket               and chunk
//   find_starts     finds where each bucket starts                         a group for each list
//   fill_buckets    writes the items, bucket by bucket                     a group for each half, choice
//                                                                          and chunk
//   count_open      counts the half-boards of each high part that are      a thread for each high part
//                   open to each low part
//   sum_rows        turns these into running sums, and counts the          a group for each low part
//                   blocks of 256 half-boards
//   sum_blocks      finds the first block of each low part                 one group
//   join_lists      tabulates 256 half-boards of a build list, and looks   groups that take one block
//                   up those of the probe lists                            after the other
//
// A *choice* says which columns of a half its upper quarter takes. A *chunk* of a choice has some
// orders of each quarter's columns. One chunk has all of them, up to six rows. A *list* has the
// half-boards of one half and one slice: either those without ties, or the ties. Nothing but the
// order of keys and items depends on the order in which threads add to a counter.

#ifdef __OPENCL_VERSION__
#define KERNEL(threads) __kernel __attribute__((reqd_work_group_size(threads, 1, 1))) void
#define JOIN_KERNEL KERNEL(256)
// PoCL lets threads of several groups take turns in a function that it does not inline. A barrier
// must not be inside an `if`: version 3.1 miscompiled one whose condition was equal in all threads.
#define FUNCTION static inline __attribute__((always_inline))
#define GLOBAL __global
#define SHARED __local
#define SHARED_POINTER __local
#define THREAD ((u32)get_local_id(0))
#define GROUP ((u32)get_group_id(0))
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define ONES(x) popcount(x)
#define ATOMIC_ADD(to, value) atomic_add(to, value)
#define ATOMIC_OR(to, value) atomic_or(to, value)
#define ROTATE_RIGHT(x, bits) rotate(x, 32u - (bits) & 31u)
typedef uint u32;
typedef ulong u64;
typedef uint4 u32x4;
#elif defined(__CUDACC__)
#define KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)
// A multiprocessor of a data-centre device has shared memory for four groups of 48 KiB.
#define JOIN_KERNEL extern "C" __global__ void __launch_bounds__(256, 4)
#define FUNCTION static __device__ __forceinline__
#define GLOBAL
#define SHARED __shared__
#define SHARED_POINTER
#define THREAD threadIdx.x
#define GROUP blockIdx.x
#define BARRIER __syncthreads()
#define ONES(x) __popc(x)
#define ATOMIC_ADD(to, value) atomicAdd(to, value)
#define ATOMIC_OR(to, value) atomicOr(to, value)
#define ROTATE_RIGHT(x, bits) __funnelshift_r(x, x, bits)
// Threads of a warp exchange values without shared memory.
#define HAS_WARPS
#define FROM_BEFORE(value, threads) __shfl_up_sync(~0u, value, threads)
#define FROM_ACROSS(value, threads) __shfl_xor_sync(~0u, value, threads)
typedef unsigned int u32;
typedef unsigned long long u64;
typedef uint4 u32x4;
#else
// Plain C, for tests without a driver: emulate.c defines these names.
#endif

#define LANES 256u
// A low part of a probe list must have fewer half-boards than this.
#define MOST_PROBES (1u << 23)
// The number of blocks that a group takes at a time.
#define TAKEN 4u
// The number of threads in a group of the kernels that sort.
#define SMALL 64u
// The number of orders of each quarter's columns that a thread tries, and that a chunk has.
#define TRIES 3u
#define TRIED (TRIES * LANES)

// The indices of `counters`.
#define KEYS 0      // the half-boards of all lists
#define NEXT 1      // the blocks that groups have taken
#define LOOKED_UP 2 // the half-boards that were looked up in a block, in two words
#define TOO_LONG 4  // whether a low part has too many half-boards to be counted in 32 bits
#define LENGTHS 5   // the length of each list

// One half of a split.
typedef struct {
    u32 columns;            // the columns of its queens
    u32 lowest, highest;    // the numbers of the half-boards that count
    u32 tie_low, tie_high;  // the numbers of ties
    u32 first_choice;       // its first choice
    u32 choices;            // how many choices it has
    u32 modulus;            // 1, 2 or 4 slices
    u32 residues;           // a bit for each slice that is wanted
    u32 lists;              // its first list; each slice has two: without ties, and ties
    u32 view;               // how its keys are read
} Half;

typedef struct {
    Half halves[2]; // the upper and the lower one
    u32 centre;     // the square of the centre row's queen, or 0
    u32 looked_at;  // the columns that decide about numbers
} Split;

// The place of a sorted list: its first start and its first item.
typedef struct {
    u32 starts, items;
} List;

// A list whose half-boards are tabulated.
typedef struct {
    u32 list;   // its number
    u32 probes; // the first list that is looked up in it
    u32 len;    // how many lists are looked up
    u32 sums;   // the first of as many sums
} Build;

// Returns the sum of the values of all threads before this one. `total` becomes the sum of all
// values. `room` has two words for each thread.
FUNCTION u32 sum_before(SHARED_POINTER u32 *room, u32 threads, u32 value, u32 *total) {
    u32 me = THREAD;
#ifdef HAS_WARPS
    u32 up_to = value, before = 0, all = 0;
    for (u32 step = 1; step < 32u; step <<= 1) {
        u32 other = FROM_BEFORE(up_to, step);
        if ((me & 31u) >= step) up_to += other;
    }
    if ((me & 31u) == 31u) room[me >> 5] = up_to;
    BARRIER;
    for (u32 warp = 0; warp < threads / 32u; warp++) {
        u32 sum = room[warp];
        if (warp < me >> 5) before += sum;
        all += sum;
    }
    *total = all;
    BARRIER;
    return before + up_to - value;
#else
    SHARED_POINTER u32 *from = room, *to = room + threads;
    from[me] = value;
    BARRIER;
    for (u32 step = 1; step < threads; step <<= 1) {
        to[me] = from[me] + (me >= step ? from[me - step] : 0u);
        BARRIER;
        SHARED_POINTER u32 *other = from;
        from = to;
        to = other;
    }
    u32 up_to = from[me];
    *total = from[threads - 1u];
    BARRIER;
    return up_to - value;
#endif
}

// Transposes the values of this thread and its 31 neighbours: returns the bits whose number is the
// thread's own, with bit i taken from the i-th thread. `room` has a word for each thread.
FUNCTION u32 transposed(SHARED_POINTER u32 *room, u32 value) {
    u32 mine = THREAD & 31u;
#ifdef HAS_WARPS
    // A square of bits is exchanged with the one across the diagonal. The first squares have 16
    // times 16 bits, and the last ones a single bit.
    u32 low = 0xffffu;
#pragma unroll
    for (u32 step = 16; step; step >>= 1, low ^= low << step) {
        u32 other = FROM_ACROSS(value, step);
        value = mine & step ? value & ~low | other >> step & low : value & low | (other & low) << step;
    }
    return value;
#else
    u32 plane = 0;
    room[THREAD] = value;
    BARRIER;
    for (u32 i = 0; i < 32u; i++) plane |= (room[THREAD - mine + i] >> mine & 1u) << i;
    BARRIER;
    return plane;
#endif
}

// Returns those of the 32 lanes of a word that `len` lanes use.
FUNCTION u32 lanes_in_use(u32 len, u32 word) {
    return len >= 32u * word + 32u ? ~0u : len <= 32u * word ? 0u : (1u << (len - 32u * word)) - 1u;
}

FUNCTION void both(u32x4 *lanes, u32x4 others) {
    lanes->x &= others.x, lanes->y &= others.y, lanes->z &= others.z, lanes->w &= others.w;
}

FUNCTION void without(u32x4 *lanes, u32x4 others) {
    lanes->x &= ~others.x, lanes->y &= ~others.y, lanes->z &= ~others.z, lanes->w &= ~others.w;
}

// Returns the bits of `among` that are selected by the lowest bits of `chosen`. Bit i of `chosen`
// stands for the i-th set bit of `among`.
FUNCTION u32 deposit(u32 chosen, u32 among) {
    u32 bits = 0;
    for (; chosen; chosen >>= 1, among &= among - 1u)
        if (chosen & 1u) bits |= among & (0u - among);
    return bits;
}

// Moves bits up so that none is where `holes` has a bit. Each hole moves the bits at and above it
// by one place.
FUNCTION u32 spread(u32 bits, u32 holes) {
    for (; holes; holes &= holes - 1u) bits += bits & (0u - (holes & (0u - holes)));
    return bits;
}

// Returns the slice of half-boards whose outer queens take these columns (see
// board::halves::Slice).
FUNCTION u32 slice_of(u32 choice, u32 modulus) {
    u32 ranks = 0;
    for (u32 rank = 0; choice >> rank; rank++)
        if (choice >> rank & 1u) ranks += rank;
    return ranks % modulus;
}

FUNCTION void add_to_sum(GLOBAL u32 *sum, u64 value) {
    u32 low = (u32)value, high = (u32)(value >> 32);
    u32 before = ATOMIC_ADD(sum, low);
    high += before + low < before ? 1u : 0u;
    if (high) ATOMIC_ADD(sum + 1, high);
}

// Quarter-boards. `meets` has the diagonals that must not meet those of the other quarter, and
// `fars` those of the half-board. `numbers` has a bit for each queen in a column that is looked at,
// the last row's lowest.
typedef struct {
    u64 meets[TRIED], fars[TRIED];
    u32 numbers[TRIED];
} Quarters;

// Places queens by some orders of a quarter's columns, and keeps the quarters whose queens attack
// neither each other nor the centre's queen. An order has three bits for each row: the index of its
// queen's column in `columns`. Returns the number of quarters that were kept.
FUNCTION u32 place_quarters(
    SHARED_POINTER Quarters *quarters, SHARED_POINTER u32 *scan, SHARED_POINTER const u32 *columns,
    GLOBAL const u32 *orders, u32 len, GLOBAL const Split *split, u32 n, u32 is_lower_quarter) {
    u32 full = (1u << n) - 1u, upper_rows = n / 2u / 2u, lower_rows = n / 2u - upper_rows;
    u32 rows = is_lower_quarter ? lower_rows : upper_rows;
    u32 looked_at = split->looked_at, centre = split->centre;
    u64 meets[TRIES], fars[TRIES];
    u32 numbers[TRIES], are_kept = 0, all = 0;
#pragma unroll
    for (u32 i = 0; i < TRIES; i++) {
        if (i * LANES >= len) break;
        u32 at = THREAD + i * LANES, order = at < len ? orders[at] : 0u, number = 0;
        // For a queen in column c of row r, `left` has bit c + rows - r and `right` has bit c + r.
        u64 left = 0, right = 0;
        for (u32 row = 0; row < rows; row++, order >>= 3) {
            u32 bit = columns[order & 7u];
            left |= (u64)bit << (rows - row);
            right |= (u64)bit << row;
            number = number << 1 | (bit & looked_at ? 1u : 0u);
        }
        // The diagonals as seen from the row below the quarter, and from its first row.
        u64 below = (left & full) | right >> rows << 32;
        u64 above = left >> rows | (right & full) << 32;
        meets[i] = is_lower_quarter ? above : below;
        fars[i] = is_lower_quarter ? below : (left << lower_rows & full) | right >> rows >> lower_rows << 32;
        numbers[i] = is_lower_quarter ? number : number << lower_rows;
        u32 diagonals = ONES((u32)left) + ONES((u32)(left >> 32)) + ONES((u32)right) + ONES((u32)(right >> 32));
        u32 is_kept = at < len && diagonals == 2u * rows && !((u32)(fars[i] | fars[i] >> 32) & centre);
        are_kept |= is_kept << i;
    }
    u32 place = sum_before(scan, LANES, ONES(are_kept), &all);
#pragma unroll
    for (u32 i = 0; i < TRIES; i++) {
        if (are_kept >> i & 1u) {
            quarters->meets[place] = meets[i];
            quarters->fars[place] = fars[i];
            quarters->numbers[place] = numbers[i];
            place++;
        }
    }
    BARRIER;
    return all;
}

// Lists half-boards. A segment of `segments` has the first key of a half, choice and chunk, the
// number of half-boards that are no ties, and the number of ties. The ties follow the others.
KERNEL(256) list_halves(
    GLOBAL const Split *splits, GLOBAL const u32 *choices, GLOBAL const u32 *orders, GLOBAL u32 *segments,
    GLOBAL u64 *keys, GLOBAL u32 *counters, u32 n, u32 most_choices, u32 upper_orders, u32 lower_orders, u32 room) {
    SHARED Quarters upper, lower;
    SHARED u32 scan[2 * LANES];
    SHARED u32 columns[16];
    SHARED u32 start;
    u32 lower_chunks = (lower_orders + TRIED - 1u) / TRIED;
    u32 chunks = (upper_orders + TRIED - 1u) / TRIED * lower_chunks;
    u32 me = THREAD, chunk = GROUP % chunks, choice = GROUP / chunks % most_choices, at = GROUP / chunks / most_choices;
    GLOBAL const Split *split = splits + (at >> 1);
    GLOBAL const Half *mine = split->halves + (at & 1u);
    GLOBAL u32 *segment = segments + 3u * GROUP;
    u32 is_wanted = 0, chosen = 0, slice = 0;
    if (choice < mine->choices) {
        chosen = choices[mine->first_choice + choice];
        slice = slice_of(chosen, mine->modulus);
        is_wanted = mine->residues >> slice & 1u;
    }
    if (!is_wanted) {
        if (me < 3u) segment[me] = 0;
        return;
    }
    if (me < 16u) {
        u32 ranks = me < 8u ? chosen : ~chosen & ((1u << n / 2u) - 1u);
        columns[me] = deposit(1u << (me & 7u), deposit(ranks, mine->columns));
    }
    BARRIER;
    u32 first = chunk / lower_chunks * TRIED, len = upper_orders - first < TRIED ? upper_orders - first : TRIED;
    u32 upper_len = place_quarters(&upper, scan, columns, orders + first, len, split, n, 0);
    first = chunk % lower_chunks * TRIED, len = lower_orders - first < TRIED ? lower_orders - first : TRIED;
    u32 lower_len = place_quarters(&lower, scan, columns + 8, orders + first, len, split, n, 1);

    u32 lowest = mine->lowest, span = mine->highest - lowest;
    u32 tie_low = mine->tie_low, tie_high = mine->tie_high;
    u32 whole = 0, ties = 0, whole_place = 0, tie_place = 0, all_whole = 0, all_ties = 0;
    for (u32 pass = 0; pass < 2; pass++) {
        // Each of 64 threads takes lower quarters, and four such sets of threads share the upper
        // ones.
        for (u32 i = me % SMALL; i < lower_len; i += SMALL) {
            u64 lower_meet = lower.meets[i], lower_far = lower.fars[i];
            u32 lower_number = lower.numbers[i];
            for (u32 j = me / SMALL * 8u; j < upper_len; j += LANES / SMALL * 8u) {
                u32 fit = 0;
#pragma unroll
                for (u32 k = 0; k < 8; k++) fit |= (upper.meets[j + k] & lower_meet ? 0u : 1u) << k;
                if (upper_len - j < 8u) fit &= (1u << (upper_len - j)) - 1u;
                for (; fit; fit &= fit - 1u) {
                    u32 k = j + ONES((fit & (0u - fit)) - 1u), number = upper.numbers[k] | lower_number;
                    if (number - lowest > span) continue;
                    u32 is_tie = number == tie_low || number == tie_high;
                    if (pass) keys[is_tie ? tie_place : whole_place] = upper.fars[k] | lower_far;
                    whole_place += 1u - is_tie;
                    tie_place += is_tie;
                }
            }
        }
        if (pass == 0) {
            whole = whole_place, ties = tie_place;
            whole_place = sum_before(scan, LANES, whole, &all_whole);
            tie_place = sum_before(scan, LANES, ties, &all_ties);
            if (me == 0) {
                u32 found = all_whole + all_ties, from = ATOMIC_ADD(counters + KEYS, found);
                // The host sees from the counter that there was too little room.
                start = from <= room && found <= room - from ? from : ~0u;
                segment[0] = start;
                segment[1] = start == ~0u ? 0u : all_whole;
                segment[2] = start == ~0u ? 0u : all_ties;
                ATOMIC_ADD(counters + LENGTHS + mine->lists + 2u * slice, all_whole);
                ATOMIC_ADD(counters + LENGTHS + mine->lists + 2u * slice + 1u, all_ties);
            }
            BARRIER;
            if (start == ~0u) return;
            whole_place += start;
            tie_place += start + all_whole;
        }
    }
}

// Takes `len` keys from all over the lists of both halves of the splits `sampled`. If there are
// fewer keys, it takes all of them, and zeros follow.
KERNEL(256) sample_keys(
    GLOBAL const u32 *sampled, GLOBAL const u32 *segments, GLOBAL const u64 *keys, GLOBAL u64 *samples,
    u32 most_segments, u32 len) {
    SHARED u32 scan[2 * LANES];
    SHARED u32 before[LANES];
    u32 me = THREAD;
    GLOBAL const u32 *mine = segments + 3u * (2u * sampled[GROUP >> 1] + (GROUP & 1u)) * most_segments;
    GLOBAL u64 *to = samples + (u64)GROUP * len;
    u32 all = 0, total = 0;
    for (u32 i = 0; i < most_segments; i += LANES) {
        u32 segment = i + me;
        sum_before(scan, LANES, segment < most_segments ? mine[3u * segment + 1u] + mine[3u * segment + 2u] : 0u, &total);
        all += total;
    }
    for (u32 i = me; i < len; i += LANES)
        if (i >= all) to[i] = 0;
    u32 taken = all < len ? all : len, begun = 0;
    for (u32 i = 0; i < most_segments; i += LANES) {
        u32 segment = i + me;
        u32 keys_of_segment = segment < most_segments ? mine[3u * segment + 1u] + mine[3u * segment + 2u] : 0u;
        before[me] = sum_before(scan, LANES, keys_of_segment, &total);
        BARRIER;
        for (u32 j = me; j < taken; j += LANES) {
            u32 place = (u32)((u64)all * j / taken);
            if (place < begun || place - begun >= total) continue;
            u32 at = 0;
            for (u32 step = LANES / 2u; step; step >>= 1)
                if (before[at + step] <= place - begun) at += step;
            to[j] = keys[mine[3u * (i + at)] + (place - begun - before[at])];
        }
        begun += total;
        BARRIER;
    }
}

// Replaces keys by records, which have a bucket's number above an item, and counts the half-boards
// of each bucket. A view has the bits of a record for each four bits of a key.
KERNEL(64) number_buckets(
    GLOBAL const Split *splits, GLOBAL const u32 *choices, GLOBAL const u32 *segments, GLOBAL const List *lists,
    GLOBAL const u64 *views, GLOBAL u64 *keys, GLOBAL u32 *ranks, GLOBAL u32 *starts, u32 most_choices,
    u32 chunks) {
    u32 choice = GROUP / chunks % most_choices, at = GROUP / chunks / most_choices;
    GLOBAL const Half *mine = splits[at >> 1].halves + (at & 1u);
    u32 first = segments[3u * GROUP], whole = segments[3u * GROUP + 1u], len = whole + segments[3u * GROUP + 2u];
    if (len == 0) return;
    GLOBAL const List *list = lists + mine->lists + 2u * slice_of(choices[mine->first_choice + choice], mine->modulus);
    GLOBAL const u64 *view = views + 256u * mine->view;
    for (u32 i = THREAD; i < len; i += SMALL) {
        u64 key = keys[first + i], record = 0;
        for (u32 i = 0; i < 16; i++) record |= view[16u * i + (u32)(key >> 4u * i & 15u)];
        keys[first + i] = record;
        u32 bucket = list[i < whole ? 0 : 1].starts + (u32)(record >> 32);
        ranks[first + i] = ATOMIC_ADD(starts + bucket, 1u);
    }
}

// Replaces each number by the sum of those before it, with 256 threads, and returns the sum of all.
// `room` has two words for each thread.
FUNCTION u32 running_sums(GLOBAL u32 *numbers, u32 len, SHARED_POINTER u32 *room) {
    u32 begun = 0, total = 0;
    for (u32 first = 0; first < len; first += LANES) {
        u32 i = first + THREAD, before = sum_before(room, LANES, i < len ? numbers[i] : 0u, &total);
        if (i < len) numbers[i] = begun + before;
        begun += total;
    }
    return begun;
}

// Turns the lengths of a list's buckets into their starts. One more start follows, the list's
// length.
KERNEL(256) find_starts(GLOBAL const List *lists, GLOBAL u32 *starts, u32 bits) {
    SHARED u32 scan[2 * LANES];
    GLOBAL u32 *mine = starts + lists[GROUP].starts;
    u32 len = running_sums(mine, 1u << bits, scan);
    if (THREAD == 0) mine[1u << bits] = len;
}

// Puts items into their buckets.
KERNEL(64) fill_buckets(
    GLOBAL const Split *splits, GLOBAL const u32 *choices, GLOBAL const u32 *segments, GLOBAL const List *lists,
    GLOBAL const u64 *records, GLOBAL const u32 *ranks, GLOBAL const u32 *starts, GLOBAL u32 *items,
    u32 most_choices,
    u32 chunks) {
    u32 choice = GROUP / chunks % most_choices, at = GROUP / chunks / most_choices;
    GLOBAL const Half *mine = splits[at >> 1].halves + (at & 1u);
    u32 first = segments[3u * GROUP], whole = segments[3u * GROUP + 1u], len = whole + segments[3u * GROUP + 2u];
    if (len == 0) return;
    GLOBAL const List *list = lists + mine->lists + 2u * slice_of(choices[mine->first_choice + choice], mine->modulus);
    for (u32 i = THREAD; i < len; i += SMALL) {
        u64 record = records[first + i];
        List to = list[i < whole ? 0 : 1];
        items[to.items + starts[to.starts + (u32)(record >> 32)] + ranks[first + i]] = (u32)record;
    }
}

// Counts the half-boards of each high part of a build list that have no bit in common with each low
// part of the probe lists. This is a sum over subsets. Row c of `opened` is for the low part whose
// bits are the complement of c.
KERNEL(256) count_open(
    GLOBAL const Build *builds, GLOBAL const List *lists, GLOBAL const u32 *starts, GLOBAL u32 *opened, u32 low_bits,
    u32 high_bits) {
    u32 highs = 1u << high_bits, lows = 1u << low_bits, stride = highs + 1u;
    u32 groups = (highs + LANES - 1u) / LANES, build = GROUP / groups, high = GROUP % groups * LANES + THREAD;
    if (high >= highs) return;
    GLOBAL const u32 *mine = starts + lists[builds[build].list].starts;
    GLOBAL u32 *to = opened + (u64)build * lows * stride + high;
    for (u32 low = 0; low < lows; low++) {
        u32 bucket = high << low_bits | low;
        to[(u64)low * stride] = mine[bucket + 1u] - mine[bucket];
    }
    for (u32 bit = 1; bit < lows; bit <<= 1)
        for (u32 low = 0; low < lows; low++)
            if (low & bit) to[(u64)low * stride] += to[(u64)(low ^ bit) * stride];
}

// Turns a row of `opened` into running sums, and computes the number of blocks of the low part. It
// has no blocks if no probe list contains it.
KERNEL(256) sum_rows(
    GLOBAL const Build *builds, GLOBAL const List *lists, GLOBAL const u32 *starts, GLOBAL u32 *opened,
    GLOBAL u32 *first_block, GLOBAL u32 *counters, u32 low_bits, u32 high_bits) {
    SHARED u32 scan[2 * LANES];
    u32 highs = 1u << high_bits, lows = 1u << low_bits, build = GROUP >> low_bits, low = GROUP & (lows - 1u);
    GLOBAL u32 *row = opened + ((u64)build * lows + (lows - 1u ^ low)) * (highs + 1u);
    u32 len = running_sums(row, highs, scan);
    if (THREAD == 0) {
        row[highs] = len;
        u32 is_looked_up = 0;
        for (u32 i = 0; i < builds[build].len; i++) {
            GLOBAL const u32 *probe = starts + lists[builds[build].probes + i].starts;
            u32 probes = probe[(low + 1u) << high_bits] - probe[low << high_bits];
            is_looked_up |= probes;
            if (probes >= MOST_PROBES) counters[TOO_LONG] = 1;
        }
        first_block[GROUP] = is_looked_up ? len / LANES + (len % LANES ? 1u : 0u) : 0u;
    }
}

// Turns numbers of blocks into the numbers of first blocks. One more number follows, that of all
// blocks.
KERNEL(256) sum_blocks(GLOBAL u32 *first_block, u32 all_rows) {
    SHARED u32 scan[2 * LANES];
    u32 blocks = running_sums(first_block, all_rows, scan);
    if (THREAD == 0) first_block[all_rows] = blocks;
}

// Finds the last of `len` running sums that does not exceed `place` and is less than the next one.
// It takes 256 threads and two steps. One more sum follows, which exceeds `place`. `len` is at most
// 256 * 256.
FUNCTION u32 find(GLOBAL const u32 *sums, u32 len, u32 place, SHARED_POINTER u32 *found) {
    u32 step = (len + LANES - 1u) / LANES, from = THREAD * step, to = from + step < len ? from + step : len;
    if (from < to && sums[from] <= place && place < sums[to]) *found = from;
    BARRIER;
    from = *found + THREAD;
    BARRIER;
    if (THREAD < step && from < len && sums[from] <= place && place < sums[from + 1u]) *found = from;
    BARRIER;
    from = *found;
    BARRIER;
    return from;
}

// Joins build and probe lists, block by block.
//
// A group takes 256 half-boards of a build list, *lanes*, that are open to one low part of the
// probe lists. It tabulates them: an entry has, for one byte of an item and one value of this byte,
// the lanes that have none of its bits. A row of 128 bytes has the entries of all four bytes for
// one value:
//
//   [byte 0: 256 lanes][byte 1][byte 2][byte 3]
//
// Two threads look up a half-board of a probe list, each in 128 lanes. They load 16 bytes for each
// byte of its item. Shared memory serves four pairs of threads at a time. These begin with
// different bytes, so their loads never use the same bank, whatever the items are.
//
// Half-boards of one high part are a *run*. A lane that has a bit of the high part is closed to it.
JOIN_KERNEL join_lists(
    GLOBAL const Build *builds, GLOBAL const List *lists, GLOBAL const u32 *starts, GLOBAL const u32 *items,
    GLOBAL const u32 *opened, GLOBAL const u32 *first_block, GLOBAL u32 *sums, GLOBAL u32 *counters, u32 low_bits,
    u32 high_bits, u32 all_builds) {
    SHARED u32x4 table[2048];         // 32 KiB
    SHARED u32 planes[32 * 8];        // lanes that have a bit of an item: [bit of a byte][byte][word]
    SHARED u32x4 having[16 * 2];      // lanes that have a bit of the high part: [bit][half of the lanes]
    SHARED u32x4 opening[2 * 16 * 2]; // lanes that are open to four bits of a run's number: [which four][bits][half]
    SHARED u32 words[2 * LANES];      // for sums
    SHARED u32 run_from[LANES];       // a run's first item, less the number of those of the runs before
    SHARED u32 run_before[LANES + 1]; // the number of items of the runs before
    SHARED u32x4 run_open[2 * LANES]; // the lanes that are open to a run
    SHARED u32 next, found, last_high;
    SHARED u32 any_bits, lacking_bits; // bits of high parts that some lanes have, and that some lack
    SHARED_POINTER u32 *having_words = (SHARED_POINTER u32 *)having;
    u32 me = THREAD, lows = 1u << low_bits, highs = 1u << high_bits, stride = highs + 1u;
    u32 all_rows = all_builds << low_bits, all_blocks = first_block[all_rows];
    u32 warp = me >> 5, bit = me & 31u, pair = me >> 1, side = me & 1u;
    // The byte with which this thread begins, and the offsets of the entries of this and the
    // following bytes in a row.
    u32 turn = pair & 3u, column = side * 16u;
    u32 column0 = turn * 32u + column, column1 = (turn + 1u & 3u) * 32u + column;
    u32 column2 = (turn + 2u & 3u) * 32u + column, column3 = (turn + 3u & 3u) * 32u + column;
    u64 looked_up = 0;

    // The sums of runs would not fit into their bits.
    if (counters[TOO_LONG]) return;
    if (me == 0) next = ATOMIC_ADD(counters + NEXT, TAKEN);
    BARRIER;
    u32 taken = next;
    while (taken < all_blocks) {
        // The row and the high part in which the first of these blocks begins.
        u32 row = find(first_block, all_rows, taken, &found);
        u32 high0 = find(
            opened + ((u64)(row >> low_bits) * lows + (lows - 1u ^ row & lows - 1u)) * stride, highs,
            (taken - first_block[row]) * LANES, &found);
        u32 end_of_blocks = taken + TAKEN < all_blocks ? taken + TAKEN : all_blocks;
        for (u32 block = taken; block < end_of_blocks; block++) {
            // The lanes of the block begin with half-board number `first` of those that are open to
            // `low`, in the high part `high0` or a later one.
            while (first_block[row + 1u] <= block) row++;
            u32 low = row & (lows - 1u);
            GLOBAL const Build *build = builds + (row >> low_bits);
            GLOBAL const u32 *build_starts = starts + lists[build->list].starts;
            GLOBAL const u32 *build_items = items + lists[build->list].items;
            GLOBAL const u32 *before = opened + ((u64)(row >> low_bits) * lows + (lows - 1u ^ low)) * stride;
            u32 first = (block - first_block[row]) * LANES;
            u32 len = before[highs] - first < LANES ? before[highs] - first : LANES;
            if (first == 0) high0 = 0;
            if (me == 0) {
                any_bits = 0;
                lacking_bits = 0;
            }

            // Each thread finds its lane among the buckets of `high0` and the following high parts.
            u32 open_bits = lows - 1u & ~low, subset_bits = ONES(open_bits);
            u32 place = first - before[high0] + me, covered = 0, last = first - before[high0] + len;
            u32 subset = spread(me & (1u << subset_bits) - 1u, low);
            u32 item = ~0u, high = 0;
            while (covered < last) {
                u32 high_here = high0 + (me >> subset_bits), bucket_len = 0, bucket_first = 0, total = 0;
                if (high_here < highs) {
                    u32 bucket = high_here << low_bits | subset;
                    bucket_first = build_starts[bucket];
                    bucket_len = build_starts[bucket + 1u] - bucket_first;
                }
                run_before[me] = sum_before(words, LANES, bucket_len, &total);
                run_from[me] = bucket_first;
                BARRIER;
                if (me < len && place >= covered && place - covered < total) {
                    u32 at = 0;
                    for (u32 step = LANES / 2u; step; step >>= 1)
                        if (run_before[at + step] <= place - covered) at += step;
                    item = build_items[run_from[at] + (place - covered - run_before[at])];
                    high = high0 + (at >> subset_bits);
                }
                BARRIER;
                covered += total;
                high0 += LANES >> subset_bits;
            }
            if (me == LANES - 1u) last_high = high;
            // Planes: the thread has one bit of the 32 lanes of one word.
            planes[((bit & 7u) * 4u + (bit >> 3)) * 8u + warp] = transposed(words, item);
            u32 has = transposed(words, high), lanes_of_warp = lanes_in_use(len, warp);
            if (bit < high_bits) {
                having_words[bit * 8u + warp] = has;
                if (has) ATOMIC_OR(&any_bits, 1u << bit);
                if (lanes_of_warp & ~has) ATOMIC_OR(&lacking_bits, 1u << bit);
            }
            BARRIER;
            // A run can be open to a lane only if the bits of its number are among `free_bits`. One
            // turn handles the first eight of them.
            u32 varying = any_bits & lacking_bits, free_bits = highs - 1u & lacking_bits, holes = highs - 1u & ~free_bits;
            u32 my_high = spread(me, holes), later_bits = free_bits & ~spread(LANES - 1u, holes);
            u32 is_run = me >> ONES(free_bits) == 0;
            {
                u32 entry = me >> 3, word = me & 7u;
                u32 lanes = entry < 16u ? lanes_in_use(len, word) : ~0u;
                u32 bits = spread(entry < 16u ? entry : (entry & 15u) << 4, holes) & varying;
                for (; bits; bits &= bits - 1u) lanes &= ~having_words[ONES((bits & (0u - bits)) - 1u) * 8u + word];
                ((SHARED_POINTER u32 *)opening)[me] = lanes;
            }
            // Tables: the thread has one word of the rows of 32 values.
            {
                SHARED_POINTER u32 *entries = (SHARED_POINTER u32 *)table + warp * 1024u + bit;
                u32 base = ~0u, entry[32];
                for (u32 i = 0; i < 3; i++)
                    if (warp >> i & 1u) base &= ~planes[(5u + i) * 32u + bit];
                u32 without0 = ~planes[bit], without1 = ~planes[32u + bit], without2 = ~planes[64u + bit];
                u32 without3 = ~planes[96u + bit], without4 = ~planes[128u + bit];
                entry[0] = base;
#pragma unroll
                for (u32 i = 1; i < 32; i++)
                    entry[i] = entry[i & i - 1u]
                        & (i & 1u ? without0 : i & 2u ? without1 : i & 4u ? without2 : i & 8u ? without3 : without4);
#pragma unroll
                for (u32 i = 0; i < 32; i++) entries[i * 32u] = entry[i];
            }
            BARRIER;

            for (u32 probe = 0; probe < build->len; probe++) {
                GLOBAL const List *list = lists + build->probes + probe;
                GLOBAL const u32 *probe_starts = starts + list->starts + (low << high_bits);
                GLOBAL const u32 *probe_items = items + list->items;
                u32 count = 0, later = 0;
                do {
                    u32 from = 0, run_len = 0;
                    u32x4 one, two;
                    if (is_run) {
                        from = probe_starts[later | my_high];
                        run_len = probe_starts[(later | my_high) + 1u] - from;
                        one = opening[2u * (me & 15u)], two = opening[2u * (me & 15u) + 1u];
                        both(&one, opening[32u + 2u * (me >> 4)]);
                        both(&two, opening[33u + 2u * (me >> 4)]);
                        for (u32 bits = later & varying; bits; bits &= bits - 1u) {
                            u32 closing = ONES((bits & (0u - bits)) - 1u);
                            without(&one, having[2u * closing]);
                            without(&two, having[2u * closing + 1u]);
                        }
                        if (!(one.x | one.y | one.z | one.w | two.x | two.y | two.z | two.w)) run_len = 0;
                    }
                    // The number of runs is above the number of their items.
                    u32 all = 0, mine = run_len ? MOST_PROBES | run_len : 0u;
                    u32 before_me = sum_before(words, LANES, mine, &all);
                    u32 runs = all / MOST_PROBES, run_items = all % MOST_PROBES, run = before_me / MOST_PROBES;
                    if (run_len) {
                        run_before[run] = before_me % MOST_PROBES;
                        run_from[run] = from - before_me % MOST_PROBES;
                        run_open[2u * run] = one;
                        run_open[2u * run + 1u] = two;
                    }
                    if (me == 0) {
                        run_before[runs] = run_items;
                        looked_up += run_items;
                    }
                    BARRIER;
                    // Warps take equal shares of all runs' items, 16 at a time.
                    u32 shares = run_items / 16u + (run_items % 16u ? 1u : 0u);
                    u32 at = (shares * warp >> 3) * 16u + (pair & 15u), end = (shares * (warp + 1u) >> 3) * 16u;
                    if (end > run_items) end = run_items;
                    if (at < end) {
                        run = 0;
                        for (u32 step = LANES / 2u; step; step >>= 1)
                            if (run + step < runs && run_before[run + step] <= at) run += step;
                        u32 run_end = run_before[run + 1u];
                        from = run_from[run];
                        u32x4 open_lanes = run_open[2u * run + side];
                        u32 item = probe_items[from + at];
                        for (;;) {
                            u32 w = ROTATE_RIGHT(item, 8u * turn);
                            u32x4 now = open_lanes;
                            at += 16u;
                            u32 is_last = at >= end;
                            if (!is_last) {
                                if (at >= run_end) {
                                    do {
                                        run++;
                                        run_end = run_before[run + 1u];
                                    } while (at >= run_end);
                                    from = run_from[run];
                                    open_lanes = run_open[2u * run + side];
                                }
                                item = probe_items[from + at];
                            }
                            SHARED_POINTER const char *bytes = (SHARED_POINTER const char *)table;
                            u32x4 x0 = *(SHARED_POINTER const u32x4 *)(bytes + (w << 7 & 0x7f80u | column0));
                            u32x4 x1 = *(SHARED_POINTER const u32x4 *)(bytes + (w >> 1 & 0x7f80u | column1));
                            u32x4 x2 = *(SHARED_POINTER const u32x4 *)(bytes + (w >> 9 & 0x7f80u | column2));
                            u32x4 x3 = *(SHARED_POINTER const u32x4 *)(bytes + (w >> 17 & 0x7f80u | column3));
                            count += ONES(now.x & x0.x & x1.x & x2.x & x3.x);
                            count += ONES(now.y & x0.y & x1.y & x2.y & x3.y);
                            count += ONES(now.z & x0.z & x1.z & x2.z & x3.z);
                            count += ONES(now.w & x0.w & x1.w & x2.w & x3.w);
                            if (is_last) break;
                        }
                    }
                    BARRIER;
                    later = later - later_bits & later_bits;
                } while (later);
                // The sum is less than 2^32, because it is over 256 lanes and less than MOST_PROBES
                // half-boards.
                u32 fits = 0;
                sum_before(words, LANES, count, &fits);
                if (me == 0 && fits) add_to_sum(sums + 2u * (build->sums + probe), fits);
            }
            high0 = last_high;
        }
        if (me == 0) next = ATOMIC_ADD(counters + NEXT, TAKEN);
        BARRIER;
        taken = next;
    }
    if (me == 0) add_to_sum(counters + LOOKED_UP, looked_up);
}
