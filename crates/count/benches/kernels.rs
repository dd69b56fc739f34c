//! Every backend on the same tasks, in one block and a few at a time.

use std::hint::black_box;

use board::rows::RowsPlan;
use board::{Method, Tasks};
use count::{Backend, Kernel};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// (N, M, one task in so many): a few tens of milliseconds for the slowest backend.
const SAMPLES: [(u32, u32, usize); 3] = [(14, 4, 8), (16, 4, 400), (14, 9, 100)];

fn kernels(criterion: &mut Criterion) {
    for (n, rows, step) in SAMPLES {
        let tasks = sample(n, rows, step);
        for block in [10, tasks.len()] {
            let mut group = criterion.benchmark_group(format!("N={n} M={rows} by {block}"));
            group.sample_size(20);
            // Completions as elements: the rate is Q/s, mirror images counted.
            let total = count(Backend::detect(), n, rows, &tasks, block);
            group.throughput(Throughput::Elements(total));
            for backend in Backend::available() {
                group.bench_function(BenchmarkId::from_parameter(backend), |bencher| {
                    bencher.iter(|| count(backend, n, rows, black_box(&tasks), block));
                });
            }
            group.finish();
        }
    }
}

fn sample(n: u32, rows: u32, step: usize) -> Tasks {
    let plan = RowsPlan::new(n, rows).expect("the plan is within the limit");
    let mut tasks = Tasks::new();
    for ordinal in (0..plan.len()).step_by(step) {
        plan.fill(ordinal..ordinal + 1, &mut tasks);
    }
    tasks
}

fn count(backend: Backend, n: u32, rows: u32, tasks: &Tasks, block: usize) -> u64 {
    let mut kernel = Kernel::new(backend, n, Method::Rows { rows });
    (0..tasks.len())
        .step_by(block)
        .map(|start| tasks.slice(start..tasks.len().min(start + block)))
        .map(|slice| kernel.count(slice).expect("tasks are good"))
        .sum()
}

criterion_group!(benches, kernels);
criterion_main!(benches);
