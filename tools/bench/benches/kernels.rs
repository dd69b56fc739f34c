//! Every backend on the same tasks, in one block and a few at a time.

use std::hint::black_box;

use board::{Cut, Method, Problem, Tasks};
use count::{Backend, Kernel};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// Tasks that are taken together: neighbours share work by `ring`.
const RUN: u64 = 16;

/// (N, method, one run in so many): a few tens of milliseconds for the slowest backend.
const SAMPLES: [(u32, Method, usize); 4] = [
    (14, Method::Rows { rows: 4 }, 8),
    (16, Method::Rows { rows: 4 }, 200),
    (14, Method::Rows { rows: 9 }, 100),
    (16, Method::Ring { width: 1 }, 100),
];

fn kernels(criterion: &mut Criterion) {
    for (n, method, step) in SAMPLES {
        let tasks = sample(n, method, step);
        for block in [10, tasks.len()] {
            let mut group = criterion.benchmark_group(format!("N={n} {method} by {block}"));
            group.sample_size(20);
            // Solutions as elements: the rate is Q/s, all symmetries counted.
            let total = count(Backend::detect(), n, method, &tasks, block);
            group.throughput(Throughput::Elements(total));
            for backend in Backend::available() {
                group.bench_function(BenchmarkId::from_parameter(backend), |bencher| {
                    bencher.iter(|| count(backend, n, method, black_box(&tasks), block));
                });
            }
            group.finish();
        }
    }
}

fn sample(n: u32, method: Method, step: usize) -> Tasks {
    let cut = Cut::new(Problem::Total { n }, method).expect("the board can be cut so");
    let mut tasks = Tasks::new();
    for start in (0..cut.len()).step_by(step * RUN as usize) {
        cut.fill(start..cut.len().min(start + RUN), &mut tasks).expect("the plan has the range");
    }
    tasks
}

fn count(backend: Backend, n: u32, method: Method, tasks: &Tasks, block: usize) -> u64 {
    let mut kernel = Kernel::new(backend, n, method).expect("there is such a kernel");
    (0..tasks.len())
        .step_by(block)
        .map(|start| tasks.slice(start..tasks.len().min(start + block)))
        .map(|slice| kernel.count(slice).expect("tasks are good"))
        .sum()
}

criterion_group!(benches, kernels);
criterion_main!(benches);
