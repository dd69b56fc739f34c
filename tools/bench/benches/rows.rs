//! How fast a plan is made, and its tasks are enumerated, from ranges large and small.

use std::hint::black_box;

use board::Tasks;
use board::rows::RowsPlan;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// (N, M): a laptop's, a cluster's, and one whose tasks lie deep below the index.
const PLANS: [(u32, u32); 3] = [(16, 4), (27, 6), (17, 10)];

/// A step through the ordinals without a common factor with any plan's length.
const STRIDE: u64 = 1_000_000_007;

fn new(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("new");
    group.sample_size(10);
    for (n, rows) in PLANS {
        group.bench_function(format!("N={n} M={rows}"), |bencher| {
            bencher.iter(|| RowsPlan::new(black_box(n), rows));
        });
    }
    group.finish();
}

fn fill(criterion: &mut Criterion) {
    for length in [40, 8192] {
        let mut group = criterion.benchmark_group(format!("fill {length} anywhere"));
        group.throughput(Throughput::Elements(length));
        for (n, rows) in PLANS {
            let plan = RowsPlan::new(n, rows).expect("the plan is within the limit");
            let mut tasks = Tasks::new();
            let mut at = 0;
            group.bench_function(format!("N={n} M={rows}"), |bencher| {
                bencher.iter(|| {
                    at = (at + STRIDE) % (plan.len() - length + 1);
                    tasks.clear();
                    plan.fill(at..at + length, &mut tasks).expect("the plan has the range");
                    black_box(tasks.len())
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, new, fill);
criterion_main!(benches);
