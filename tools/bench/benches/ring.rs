//! How fast a plan is made, and its tasks are enumerated, from ranges large and small.

use std::hint::black_box;

use board::Tasks;
use board::ring::RingPlan;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// (N, width): a laptop's, a cluster's, and the largest.
const PLANS: [(u32, u32); 4] = [(20, 1), (24, 2), (27, 2), (32, 2)];

/// A step through the ordinals without a common factor with any plan's length.
const STRIDE: u64 = 1_000_000_007;

fn new(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("new");
    group.sample_size(10);
    for (n, width) in PLANS {
        group.bench_function(format!("N={n} width={width}"), |bencher| {
            bencher.iter(|| RingPlan::new(black_box(n), width));
        });
    }
    group.finish();
}

fn fill(criterion: &mut Criterion) {
    for length in [40, 8192] {
        let mut group = criterion.benchmark_group(format!("fill {length} anywhere"));
        group.throughput(Throughput::Elements(length));
        for (n, width) in PLANS {
            let plan = RingPlan::new(n, width).expect("the board has such a ring");
            let mut tasks = Tasks::new();
            let mut at = 0;
            group.bench_function(format!("N={n} width={width}"), |bencher| {
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
