// Counts splits of a board on a device, from their columns to the numbers of pairs that fit. One
// text for OpenCL C 1.2 and for CUDA; tests compile it as plain C, too.
//
//   place_quarters   quarter-boards in the columns of a choice             a group for each quarter of each choice
//   pair_quarters    pairs of quarters that do not attack each other:      a group for each half and choice
//                    half-boards, as keys of their diagonals
//   sample_keys      keys from all over the lists, by which the host       a group for each half
//                    chooses the diagonals of codes
//   number_buckets   keys become records, a bucket's number and an item;   a group for each half and choice
//                    each gets its rank in the bucket
//   find_starts      where each bucket starts                              a group for each list
//   fill_buckets     items, bucket by bucket                               a group for each half and choice
//   count_open       how many half-boards of each high part are open to    a thread for each high part
//                    each low part
//   sum_rows         the same as running sums, and how many blocks of      a group for each low part
//                    256 they fill
//   sum_blocks       the first block of each low part                      one group
//   join_lists       tables of 256 half-boards of a build list, in which   groups that take one block after the
//                    those of the probe lists are looked up                other
//
// A *choice* says which of a half's columns its upper quarter takes. A *list* has the half-boards
// of one half and one slice, without ties or ties alone. Nothing here depends on the order in which
// threads come to add to a counter, except for the order of quarters, keys and items.

#ifdef __OPENCL_VERSION__
#define KERNEL(threads) __kernel __attribute__((reqd_work_group_size(threads, 1, 1))) void
#define JOIN_KERNEL KERNEL(256)
// PoCL lets threads of several groups take turns in a function that it does not inline. No barrier
// may stand in an `if`: version 3.1 miscompiled one whose condition was the same for all threads.
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
// Four groups of 48 KiB of shared memory fit a multiprocessor of data centres.
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
// Neighbouring threads tell each other values without shared memory.
#define HAS_WARPS
#define FROM_BEFORE(value, threads) __shfl_up_sync(~0u, value, threads)
#define BALLOT(bit) __ballot_sync(~0u, bit)
typedef unsigned int u32;
typedef unsigned long long u64;
typedef uint4 u32x4;
#else
// Plain C, for tests without a driver: emulate.c says what these words mean.
#endif

#define LANES 256u
// One low part of a probe list has fewer half-boards than this.
#define MOST_PROBES (1u << 23)
// The blocks that a group takes at a time.
#define TAKEN 4u
// The threads of a group that makes lists.
#define SMALL 64u

// What `counters` has.
#define QUARTERS 0 // the quarters of all choices
#define KEYS 1     // the half-boards of all lists
#define NEXT 2     // the blocks that groups have taken
#define LOOKED_UP 3 // the half-boards that were looked up in a block, in two words
#define TOO_LONG 5 // whether a low part has too many half-boards to be counted in 32 bits
#define LENGTHS 6  // the length of each list

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

// Where a sorted list is: its first start and its first item.
typedef struct {
    u32 starts, items;
} List;

// One list whose half-boards are tabulated.
typedef struct {
    u32 list;   // its number
    u32 probes; // the first list that is looked up in it
    u32 len;    // how many lists are looked up
    u32 sums;   // the first of as many sums
} Build;

// The sum of the values of all threads before this one; `total` is that of all. `room` has two
// words for each thread.
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

// Of the first `bits` bits of the values of this thread and its 31 neighbours, the one with the
// thread's own number among them: bit i is that of the i-th thread. `room` has a word for each
// thread.
FUNCTION u32 transposed(SHARED_POINTER u32 *room, u32 value, u32 bits) {
    u32 mine = THREAD & 31u, plane = 0;
#ifdef HAS_WARPS
    for (u32 bit = 0; bit < bits; bit++) {
        u32 all = BALLOT(value >> bit & 1u);
        if (bit == mine) plane = all;
    }
#else
    room[THREAD] = value;
    BARRIER;
    for (u32 i = 0; i < 32u; i++) plane |= (room[THREAD - mine + i] >> mine & 1u) << i;
    BARRIER;
#endif
    return plane;
}

// Those of the 32 lanes of a word that `len` lanes use.
FUNCTION u32 lanes_in_use(u32 len, u32 word) {
    return len >= 32u * word + 32u ? ~0u : len <= 32u * word ? 0u : (1u << (len - 32u * word)) - 1u;
}

FUNCTION void both(u32x4 *lanes, u32x4 others) {
    lanes->x &= others.x, lanes->y &= others.y, lanes->z &= others.z, lanes->w &= others.w;
}

FUNCTION void without(u32x4 *lanes, u32x4 others) {
    lanes->x &= ~others.x, lanes->y &= ~others.y, lanes->z &= ~others.z, lanes->w &= ~others.w;
}

// The bits of `among` that the lowest bits of `chosen` say: bit i of `chosen` stands for the i-th
// bit of `among`.
FUNCTION u32 deposit(u32 chosen, u32 among) {
    u32 bits = 0;
    for (; chosen; chosen >>= 1, among &= among - 1u)
        if (chosen & 1u) bits |= among & (0u - among);
    return bits;
}

// The slice of half-boards whose outer queens take these of their columns: see
// board::halves::Slice.
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

// A quarter-board under construction. For a queen in column c of row r, of `rows` rows, `left` has
// bit c + rows - r and `right` has bit c + r.
typedef struct {
    u64 left, right;
    u32 free;   // the columns without a queen
    u32 number; // whether the columns of the rows' queens are looked at, the last row lowest
} Placing;

// Places a queen, or takes it away.
FUNCTION void toggle(Placing *placing, u32 bit, u32 row, u32 rows, u32 looked_at) {
    placing->left ^= (u64)bit << (rows - row);
    placing->right ^= (u64)bit << row;
    placing->free ^= bit;
    placing->number ^= (bit & looked_at ? 1u : 0u) << (rows - 1u - row);
}

FUNCTION u32 open_columns(const Placing *placing, u32 row, u32 rows) {
    return placing->free & ~(u32)(placing->left >> (rows - row) | placing->right >> row);
}

// Places the queens of quarters. A thread takes the columns of the first two rows, and searches for
// those of the others.
//
// `tables` has the first quarter of each quarter of each choice, and their number. A quarter has
// three words in `quarters`: the diagonals that the other quarter's must not meet, those of the
// half-board, and its number.
KERNEL(64) place_quarters(
    GLOBAL const Split *splits, GLOBAL const u32 *choices, GLOBAL u32 *tables, GLOBAL u64 *quarters,
    GLOBAL u32 *counters, u32 n, u32 most_choices, u32 room) {
    SHARED u32 scan[2 * SMALL];
    SHARED u32 start;
    u32 me = THREAD, full = (1u << n) - 1u;
    u32 choice = GROUP % most_choices, at = GROUP / most_choices;
    u32 is_lower_quarter = at & 1u, half_rows = n / 2u;
    GLOBAL const Split *split = splits + (at >> 2);
    GLOBAL const Half *part = split->halves + (at >> 1 & 1u);
    if (choice >= part->choices) return;
    u32 upper_rows = half_rows / 2u, lower_rows = half_rows - upper_rows;
    u32 rows = is_lower_quarter ? lower_rows : upper_rows;
    u32 chosen = choices[part->first_choice + choice], looked_at = split->looked_at, centre = split->centre;
    u32 columns = deposit(is_lower_quarter ? ~chosen & ((1u << half_rows) - 1u) : chosen, part->columns);

    // The queens of the first two rows, if there are two.
    Placing begun = {0, 0, columns, 0};
    u32 given = rows > 1u ? 2u : 1u, is_used = me < (rows > 1u ? rows * rows : 1u);
    for (u32 row = 0; row < given; row++) {
        u32 bit = deposit(1u << (row + 1u < given ? me / rows : me % rows), columns);
        is_used &= (open_columns(&begun, row, rows) & bit) != 0;
        toggle(&begun, bit, row, rows, looked_at);
    }

    u32 found = 0, place = 0, total = 0;
    for (u32 pass = 0; pass < 2; pass++) {
        Placing now = begun;
        // The columns of the queens that were placed, five bits each, and those that are left to
        // try in this row.
        u64 placed = 0;
        u32 row = given, left_to_try = ~0u, is_done = !is_used;
        while (!is_done) {
            u32 open = row < rows ? open_columns(&now, row, rows) & left_to_try : 0u;
            if (open) {
                u32 bit = open & (0u - open);
                toggle(&now, bit, row, rows, looked_at);
                placed = placed << 5 | ONES(bit - 1u);
                row++;
                left_to_try = ~0u;
                continue;
            }
            if (row == rows) {
                // The diagonals as the row after the quarter sees them, and as its first row does.
                u64 below = (now.left & full) | now.right >> rows << 32;
                u64 above = now.left >> rows | (now.right & full) << 32;
                u64 far = is_lower_quarter
                    ? below
                    : (now.left << lower_rows & full) | now.right >> rows >> lower_rows << 32;
                if ((u32)(far | far >> 32) & centre) {
                    // It attacks the centre's queen.
                } else if (pass == 0) {
                    found++;
                } else {
                    quarters[3 * (u64)place] = is_lower_quarter ? above : below;
                    quarters[3 * (u64)place + 1u] = far;
                    quarters[3 * (u64)place + 2u] = now.number;
                    place++;
                }
            }
            is_done = row == given;
            if (!is_done) {
                u32 bit = 1u << (u32)(placed & 31u);
                placed >>= 5;
                row--;
                toggle(&now, bit, row, rows, looked_at);
                left_to_try = 0u - 2u * bit;
            }
        }
        if (pass == 0) {
            place = sum_before(scan, SMALL, found, &total);
            if (me == 0) {
                u32 from = ATOMIC_ADD(counters + QUARTERS, total);
                // The host sees by the counter that there was too little room.
                start = from <= room && total <= room - from ? from : ~0u;
                tables[2u * GROUP] = start;
                tables[2u * GROUP + 1u] = start == ~0u ? 0u : total;
            }
            BARRIER;
            if (start == ~0u) return;
            place += start;
        }
    }
}

// Pairs the quarters of a choice. 64 threads take lower quarters, and four times as many share the
// upper ones. `segments` has the first key of each half and choice, how many are no ties, and how
// many are; the ties follow.
KERNEL(256) pair_quarters(
    GLOBAL const Split *splits, GLOBAL const u32 *choices, GLOBAL const u32 *tables, GLOBAL const u64 *quarters,
    GLOBAL u32 *segments, GLOBAL u64 *keys, GLOBAL u32 *counters, u32 n, u32 most_choices, u32 room) {
    SHARED u64 upper_meets[LANES], upper_fars[LANES];
    SHARED u32 upper_numbers[LANES], scan[2 * LANES];
    SHARED u32 start;
    u32 me = THREAD, choice = GROUP % most_choices, at = GROUP / most_choices;
    GLOBAL const Half *part = splits[at >> 1].halves + (at & 1u);
    GLOBAL u32 *segment = segments + 3u * GROUP;
    u32 is_wanted = 0, slice = 0;
    if (choice < part->choices) {
        slice = slice_of(choices[part->first_choice + choice], part->modulus);
        is_wanted = part->residues >> slice & 1u;
    }
    if (!is_wanted) {
        if (me < 3u) segment[me] = 0;
        return;
    }
    u32 half_rows = n / 2u, lower_rows = half_rows - half_rows / 2u;
    u32 lowest = part->lowest, span = part->highest - lowest;
    u32 tie_low = part->tie_low, tie_high = part->tie_high;
    GLOBAL const u32 *above = tables + 2u * (2u * at * most_choices + choice);
    GLOBAL const u32 *below = above + 2u * most_choices;
    GLOBAL const u64 *upper = quarters + 3 * (u64)above[0], *lower = quarters + 3 * (u64)below[0];
    u32 upper_len = above[1], lower_len = below[1];

    u32 whole = 0, ties = 0, whole_place = 0, tie_place = 0, all_whole = 0, all_ties = 0;
    for (u32 pass = 0; pass < 2; pass++) {
        for (u32 first = 0; first < upper_len; first += LANES) {
            u32 len = upper_len - first < LANES ? upper_len - first : LANES;
            if (me < len) {
                upper_meets[me] = upper[3u * (first + me)];
                upper_fars[me] = upper[3u * (first + me) + 1u];
                upper_numbers[me] = (u32)upper[3u * (first + me) + 2u] << lower_rows;
            }
            BARRIER;
            for (u32 i = me % SMALL; i < lower_len; i += SMALL) {
                u64 lower_meet = lower[3u * i], lower_far = lower[3u * i + 1u];
                u32 lower_number = (u32)lower[3u * i + 2u];
                for (u32 j = me / SMALL; j < len; j += LANES / SMALL) {
                    u32 number = upper_numbers[j] | lower_number;
                    if (upper_meets[j] & lower_meet || number - lowest > span) continue;
                    u32 is_tie = number == tie_low || number == tie_high;
                    if (pass == 0) {
                        whole += 1u - is_tie;
                        ties += is_tie;
                    } else {
                        keys[is_tie ? tie_place : whole_place] = upper_fars[j] | lower_far;
                        whole_place += 1u - is_tie;
                        tie_place += is_tie;
                    }
                }
            }
            BARRIER;
        }
        if (pass == 0) {
            whole_place = sum_before(scan, LANES, whole, &all_whole);
            tie_place = sum_before(scan, LANES, ties, &all_ties);
            if (me == 0) {
                u32 len = all_whole + all_ties, from = ATOMIC_ADD(counters + KEYS, len);
                start = from <= room && len <= room - from ? from : ~0u;
                segment[0] = start;
                segment[1] = start == ~0u ? 0u : all_whole;
                segment[2] = start == ~0u ? 0u : all_ties;
                ATOMIC_ADD(counters + LENGTHS + part->lists + 2u * slice, all_whole);
                ATOMIC_ADD(counters + LENGTHS + part->lists + 2u * slice + 1u, all_ties);
            }
            BARRIER;
            if (start == ~0u) return;
            whole_place += start;
            tie_place += start + all_whole;
        }
    }
}

// Takes `len` keys from all over both halves' lists of the splits `sampled`: all keys, if there are
// fewer, and then zeros.
KERNEL(256) sample_keys(
    GLOBAL const u32 *sampled, GLOBAL const u32 *segments, GLOBAL const u64 *keys, GLOBAL u64 *samples,
    u32 most_choices, u32 len) {
    SHARED u32 scan[2 * LANES];
    SHARED u32 before[LANES];
    u32 me = THREAD;
    GLOBAL const u32 *mine = segments + 3u * (2u * sampled[GROUP >> 1] + (GROUP & 1u)) * most_choices;
    GLOBAL u64 *to = samples + (u64)GROUP * len;
    u32 all = 0, total = 0;
    for (u32 i = 0; i < most_choices; i += LANES) {
        u32 choice = i + me;
        sum_before(scan, LANES, choice < most_choices ? mine[3u * choice + 1u] + mine[3u * choice + 2u] : 0u, &total);
        all += total;
    }
    for (u32 i = me; i < len; i += LANES)
        if (i >= all) to[i] = 0;
    u32 taken = all < len ? all : len, begun = 0;
    for (u32 i = 0; i < most_choices; i += LANES) {
        u32 choice = i + me;
        u32 keys_of_choice = choice < most_choices ? mine[3u * choice + 1u] + mine[3u * choice + 2u] : 0u;
        before[me] = sum_before(scan, LANES, keys_of_choice, &total);
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

// Replaces keys by records, a bucket's number above an item, and counts the half-boards of each
// bucket. A view has the bits of a record for each byte of a key.
KERNEL(64) number_buckets(
    GLOBAL const Split *splits, GLOBAL const u32 *choices, GLOBAL const u32 *segments, GLOBAL const List *lists,
    GLOBAL const u64 *views, GLOBAL u64 *keys, GLOBAL u32 *ranks, GLOBAL u32 *starts, u32 most_choices) {
    u32 choice = GROUP % most_choices, at = GROUP / most_choices;
    GLOBAL const Half *part = splits[at >> 1].halves + (at & 1u);
    u32 first = segments[3u * GROUP], whole = segments[3u * GROUP + 1u], len = whole + segments[3u * GROUP + 2u];
    if (len == 0) return;
    GLOBAL const List *list = lists + part->lists + 2u * slice_of(choices[part->first_choice + choice], part->modulus);
    GLOBAL const u64 *view = views + 2048u * part->view;
    for (u32 i = THREAD; i < len; i += SMALL) {
        u64 key = keys[first + i], record = 0;
        for (u32 byte = 0; byte < 8; byte++) record |= view[256u * byte + (u32)(key >> 8u * byte & 255u)];
        keys[first + i] = record;
        u32 bucket = list[i < whole ? 0 : 1].starts + (u32)(record >> 32);
        ranks[first + i] = ATOMIC_ADD(starts + bucket, 1u);
    }
}

// Replaces numbers by the sums of those before each, by 256 threads, and returns the sum of all.
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

// Turns the lengths of a list's buckets into their starts. There is one more start, the list's
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
    u32 most_choices) {
    u32 choice = GROUP % most_choices, at = GROUP / most_choices;
    GLOBAL const Half *part = splits[at >> 1].halves + (at & 1u);
    u32 first = segments[3u * GROUP], whole = segments[3u * GROUP + 1u], len = whole + segments[3u * GROUP + 2u];
    if (len == 0) return;
    GLOBAL const List *list = lists + part->lists + 2u * slice_of(choices[part->first_choice + choice], part->modulus);
    for (u32 i = THREAD; i < len; i += SMALL) {
        u64 record = records[first + i];
        List to = list[i < whole ? 0 : 1];
        items[to.items + starts[to.starts + (u32)(record >> 32)] + ranks[first + i]] = (u32)record;
    }
}

// For each low part of the probe lists and each high part of a build list, how many of its
// half-boards have no bit in common with the low part. A sum over subsets: row c of `opened` is for
// the low part with the other bits than c.
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

// Turns a row of `opened` into running sums, and tells how many blocks the low part has: none, if
// no probe list has it.
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

// Turns numbers of blocks into the numbers of first blocks. There is one more, of all blocks.
KERNEL(256) sum_blocks(GLOBAL u32 *first_block, u32 all_rows) {
    SHARED u32 scan[2 * LANES];
    u32 blocks = running_sums(first_block, all_rows, scan);
    if (THREAD == 0) first_block[all_rows] = blocks;
}

// Which of `len` running sums is the last that does not exceed `place`, and is less than the next:
// by 256 threads, in two steps. There is one more sum than `len`, which exceeds `place`; there are
// at most 256 * 256.
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
// probe lists. It tabulates them: for each byte of an item and each value of it, the lanes that
// have none of its bits. A row of 128 bytes holds the entries of all four bytes for one value:
//
//   [byte 0: 256 lanes][byte 1][byte 2][byte 3]
//
// Two threads look a half-board of a probe list up, each in 128 lanes, with a load of 16 bytes for
// each byte of its item. The four pairs of threads that one wavefront of shared memory serves begin
// with different bytes, so that their loads never meet in a bank, whatever the items are.
//
// Half-boards of one high part are a *run*. Lanes with a bit of the high part are closed to it.
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
    // The byte with which this thread begins, and where the entries of that and the following bytes
    // are in a row.
    u32 turn = pair & 3u, column = side * 16u;
    u32 column0 = turn * 32u + column, column1 = (turn + 1u & 3u) * 32u + column;
    u32 column2 = (turn + 2u & 3u) * 32u + column, column3 = (turn + 3u & 3u) * 32u + column;
    u64 looked_up = 0;

    // The sums of runs would pass their bits.
    if (counters[TOO_LONG]) return;
    if (me == 0) next = ATOMIC_ADD(counters + NEXT, TAKEN);
    BARRIER;
    u32 taken = next;
    while (taken < all_blocks) {
        // Where the first of these blocks begins.
        u32 row = find(first_block, all_rows, taken, &found);
        u32 high0 = find(
            opened + ((u64)(row >> low_bits) * lows + (lows - 1u ^ row & lows - 1u)) * stride, highs,
            (taken - first_block[row]) * LANES, &found);
        u32 end_of_blocks = taken + TAKEN < all_blocks ? taken + TAKEN : all_blocks;
        for (u32 block = taken; block < end_of_blocks; block++) {
            // The lanes of the block begin with the `first` half-board that is open to `low`, in the
            // high part `high0` or a later one.
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
            u32 subset = deposit(me & (1u << subset_bits) - 1u, open_bits);
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
            planes[((bit & 7u) * 4u + (bit >> 3)) * 8u + warp] = transposed(words, item, 32);
            u32 has = transposed(words, high, high_bits), lanes_of_warp = lanes_in_use(len, warp);
            if (bit < high_bits) {
                having_words[bit * 8u + warp] = has;
                if (has) ATOMIC_OR(&any_bits, 1u << bit);
                if (lanes_of_warp & ~has) ATOMIC_OR(&lacking_bits, 1u << bit);
            }
            BARRIER;
            // The runs that can be open to a lane have their numbers' bits among `free_bits`, the
            // first eight of them in one turn.
            u32 varying = any_bits & lacking_bits, free_bits = highs - 1u & lacking_bits;
            u32 my_high = deposit(me, free_bits), later_bits = free_bits & ~deposit(LANES - 1u, free_bits);
            u32 is_run = me >> ONES(free_bits) == 0;
            {
                u32 entry = me >> 3, word = me & 7u;
                u32 lanes = entry < 16u ? lanes_in_use(len, word) : ~0u;
                u32 bits = deposit(entry < 16u ? entry : (entry & 15u) << 4, free_bits) & varying;
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
                    // The number of runs, above that of their items.
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
                        for (;;) {
                            u32 w = ROTATE_RIGHT(probe_items[from + at], 8u * turn);
                            SHARED_POINTER const char *bytes = (SHARED_POINTER const char *)table;
                            u32x4 x0 = *(SHARED_POINTER const u32x4 *)(bytes + (w << 7 & 0x7f80u | column0));
                            u32x4 x1 = *(SHARED_POINTER const u32x4 *)(bytes + (w >> 1 & 0x7f80u | column1));
                            u32x4 x2 = *(SHARED_POINTER const u32x4 *)(bytes + (w >> 9 & 0x7f80u | column2));
                            u32x4 x3 = *(SHARED_POINTER const u32x4 *)(bytes + (w >> 17 & 0x7f80u | column3));
                            count += ONES(open_lanes.x & x0.x & x1.x & x2.x & x3.x);
                            count += ONES(open_lanes.y & x0.y & x1.y & x2.y & x3.y);
                            count += ONES(open_lanes.z & x0.z & x1.z & x2.z & x3.z);
                            count += ONES(open_lanes.w & x0.w & x1.w & x2.w & x3.w);
                            at += 16u;
                            if (at >= end) break;
                            if (at >= run_end) {
                                do {
                                    run++;
                                    run_end = run_before[run + 1u];
                                } while (at >= run_end);
                                from = run_from[run];
                                open_lanes = run_open[2u * run + side];
                            }
                        }
                    }
                    BARRIER;
                    later = later - later_bits & later_bits;
                } while (later);
                // A sum of less than 2^32: it is of 256 lanes and less than MOST_PROBES half-boards.
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
