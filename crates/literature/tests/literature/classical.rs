//! Compares the work of textbook algorithms with the figures of the literature and with each other.

use literature::classical::{
    Searched, arrays, direct, flip, ladder, masks, mirror, permutations, stack,
};

type Count = fn(u32) -> Searched;

const ALL: [(&str, Count); 8] = [
    ("direct", direct::count),
    ("arrays", arrays::count),
    ("stack", stack::count),
    ("permutations", permutations::count),
    ("masks", masks::count),
    ("mirror", mirror::count),
    ("flip", flip::count),
    ("mirror-flip", flip::count_with_mirror),
];

#[test]
fn the_tries_of_the_eight_queens_are_those_of_the_literature() {
    let found = ALL.map(|(_, count)| (count(8).tries, count(8).nodes));
    let every_square = (15_720, 2_056);
    let free_squares = (2_056, 2_056);
    let reductions = [(1_028, 1_028), (2_010, 2_010), (1_009, 1_009)];
    let whole = [every_square, every_square, every_square, (5_508, 2_056), free_squares];
    assert_eq!(found.as_slice(), [&whole[..], &reductions].concat());
}

#[test]
fn the_horizontal_axis_saves_half_of_the_last_row() {
    for n in 2..=10 {
        let all = direct::count(n);
        let flipped = flip::count(n);
        assert_eq!(flipped.nodes, all.nodes - all.total / 2, "N = {n}");
    }
}

#[test]
fn the_ladder_looks_at_every_board_of_its_kind() {
    let kinds: [(Count, [u64; 7]); 3] = [
        (ladder::combinations, [1, 1, 6, 84, 1_820, 53_130, 1_947_792]),
        (ladder::rooks, [1, 1, 4, 27, 256, 3_125, 46_656]),
        (ladder::permutations, [1, 1, 2, 6, 24, 120, 720]),
    ];
    for (count, boards) in kinds {
        for (n, boards) in (0..).zip(boards) {
            let found = count(n);
            assert_eq!(u128::from(found.total), testkit::vectors::total(n), "N = {n}");
            assert_eq!(found.tries, boards, "N = {n}");
        }
    }
}

#[test]
fn searches_place_equally_many_queens_and_mirror_about_half() {
    for n in 2..=10 {
        let nodes = direct::count(n).nodes;
        for (name, count) in ALL.into_iter().take(5) {
            assert_eq!(count(n).nodes, nodes, "{name}, N = {n}");
        }
        // On an odd board the queen in the middle of the first row is its own mirror image.
        let mirrored = mirror::count(n).nodes;
        assert_eq!(mirrored, nodes / 2 + nodes % 2, "N = {n}");
    }
}
