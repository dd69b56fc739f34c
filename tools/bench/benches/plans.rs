//! How fast a plan is made, and its tasks are enumerated, from ranges large and small.

use std::hint::black_box;

use board::{Cut, Method, Problem, Tasks};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// Plans of a laptop and of a cluster, the largest board, and one whose tasks lie deep below the index.
const PLANS: [(u32, Method); 7] = [
    (16, Method::Rows { rows: 4 }),
    (27, Method::Rows { rows: 6 }),
    (17, Method::Rows { rows: 10 }),
    (20, Method::Ring { width: 1 }),
    (24, Method::Ring { width: 2 }),
    (27, Method::Ring { width: 2 }),
    (32, Method::Ring { width: 2 }),
];

/// A step through the ordinals without a common factor with any plan's length.
const STRIDE: u64 = 1_000_000_007;

fn new(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("new");
    group.sample_size(10);
    for (n, method) in PLANS {
        group.bench_function(format!("N={n} {method}"), |bencher| {
            bencher.iter(|| Cut::new(Problem::Total { n: black_box(n) }, method));
        });
    }
    group.finish();
}

fn fill(criterion: &mut Criterion) {
    for length in [40, 8192] {
        let mut group = criterion.benchmark_group(format!("fill {length} anywhere"));
        group.throughput(Throughput::Elements(length));
        for (n, method) in PLANS {
            let cut = Cut::new(Problem::Total { n }, method).expect("such a plan exists");
            let mut tasks = Tasks::new();
            let mut at = 0;
            group.bench_function(format!("N={n} {method}"), |bencher| {
                bencher.iter(|| {
                    at = (at + STRIDE) % (cut.len() - length + 1);
                    tasks.clear();
                    cut.fill(at..at + length, &mut tasks).expect("the plan has the range");
                    black_box(tasks.len())
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, new, fill);
criterion_main!(benches);
