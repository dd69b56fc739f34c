//! `halves` on an evenly spread sample of tasks of each board, beside the search by rows.
//!
//! Rates are Q/s: the sample's weighted boards by its time. The reference of `rows`, measured in the
//! same run, is what to divide them by on a machine that is shared.

use std::hint::black_box;

use board::halves::HalvesPlan;
use board::rows::RowsPlan;
use board::{Method, Tasks};
use count::{Backend, Kernel};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// (N, one task in so many): at most half a second for AVX2. Samples of odd boards are of the centre
/// column's tasks alone, because the others share lists or tables with many neighbours.
const SAMPLES: [(u32, u64); 7] =
    [(16, 20), (17, 20), (18, 50), (19, 50), (20, 1_000), (21, 1_500), (22, 12_000)];

fn reference(criterion: &mut Criterion) {
    let plan = RowsPlan::new(16, 4).expect("the plan is within the limit");
    let mut tasks = Tasks::new();
    for ordinal in (0..plan.len()).step_by(400) {
        plan.fill(ordinal..ordinal + 1, &mut tasks).expect("the plan has the range");
    }
    let mut kernel = Kernel::new(Backend::Reference, 16, Method::Rows { rows: 4 })
        .expect("there is such a kernel");
    let mut count = || kernel.count(black_box(tasks.as_slice())).expect("tasks are good");
    let mut group = criterion.benchmark_group("rows N=16");
    group.sample_size(20).throughput(Throughput::Elements(count()));
    group.bench_function("reference", |bencher| bencher.iter(&mut count));
    group.finish();
}

fn halves(criterion: &mut Criterion) {
    for (n, step) in SAMPLES {
        let tasks = sample(n, step);
        let mut group = criterion.benchmark_group(format!("halves N={n}"));
        group.sample_size(10);
        for backend in Backend::available().filter(|backend| *backend != Backend::Reference) {
            let mut kernel =
                Kernel::new(backend, n, Method::Halves).expect("there is such a kernel");
            let mut count = || kernel.count(black_box(tasks.as_slice())).expect("tasks are good");
            group.throughput(Throughput::Elements(count()));
            group.bench_function(BenchmarkId::from_parameter(backend), |bencher| {
                bencher.iter(&mut count);
            });
        }
        group.finish();
    }
}

fn sample(n: u32, step: u64) -> Tasks {
    let plan = HalvesPlan::new(n).expect("the size is in range");
    let centre =
        if n % 2 == 1 { HalvesPlan::new(n - 1).expect("is in range").len() } else { plan.len() };
    let mut tasks = Tasks::new();
    for ordinal in (plan.len() - centre + step / 2..plan.len()).step_by(step as usize) {
        plan.fill(ordinal..ordinal + 1, &mut tasks).expect("the plan has the range");
    }
    tasks
}

criterion_group!(benches, reference, halves);
criterion_main!(benches);
