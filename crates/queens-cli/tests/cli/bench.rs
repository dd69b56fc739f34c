//! Tests of `queens bench`.

use crate::support::process::{queens, run};

#[test]
fn several_numbers_of_threads_print_how_a_loop_scales() {
    let several =
        ["bench", "--n", "10", "--sample-ms", "60s", "--backend", "portable", "--threads"];
    let table = run(queens(&several).arg("1,2")).success();
    let of = |threads: &str| {
        let cells = table.lines().skip(2).map(|line| line.split_whitespace().collect::<Vec<_>>());
        let mut lines = cells.filter(|cells| cells.contains(&threads));
        lines.next().unwrap_or_else(|| panic!("{threads} threads: {table}"))
    };
    assert!(of("1").contains(&"1.00"), "{table}");
    assert!(of("2").starts_with(&["portable"]), "{table}");
}
