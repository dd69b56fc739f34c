//! The threads that count: they take tasks from one queue and send finished parts back.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use board::Task;
use count::{Backend, Stop, pool};
use farm::{CheckedCount, KernelName, Lease, LeaseId, Plan, Recount, Report, TaskCounts};
use gpu::Counter;

use crate::devices::{Devices, Feeder};
use crate::kernel::{NamedKernel, add_up, device_name};
use crate::queue::{Chunk, Queue};
use crate::stopwatch::Stopwatch;

/// How long a thread should take to count one chunk: long enough that taking chunks costs nothing,
/// short enough that all threads end together and a stop is quick.
const CHUNK: Duration = Duration::from_millis(10);

/// How long a device should take to count one chunk. It is longer, because each chunk has to be
/// sent to the device.
const CHUNK_OF_DEVICE: Duration = Duration::from_millis(100);

/// Counting threads and their queue.
#[derive(Debug)]
pub struct Executor {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    threads: NonZero<usize>,
    backend: Backend,
    devices: Devices,
}

#[derive(Debug)]
struct State {
    queue: Queue,
    /// The threads that are counting, each with the lease that it counts, and how it is stopped.
    busy: BTreeMap<usize, (LeaseId, Stop)>,
    closed: bool,
}

/// A thread and its kernel.
#[derive(Debug)]
struct CountingThread {
    /// The device that the thread feeds.
    feeder: Option<Feeder>,
    kernel: Option<(KernelFor, LoadedKernel)>,
}

/// What decides which kernel counts a lease.
type KernelFor = (Plan, Option<Recount>);

#[derive(Debug)]
enum LoadedKernel {
    Processor(NamedKernel),
    Device(Counter),
}

/// What counting a chunk gave.
struct Counted {
    sum: CheckedCount,
    of_tasks: TaskCounts,
    by: KernelName,
}

impl CountingThread {
    /// Counts a chunk. If a device fails that is not required, the processor counts this chunk and
    /// all that follow.
    fn count(
        &mut self,
        shared: &Shared,
        chunk: &Chunk,
        stop: &Stop,
    ) -> Result<Counted, gpu::Error> {
        match self.try_count(shared, chunk, stop) {
            Err(gpu::Error::Device(error)) if !shared.devices.are_required => {
                tracing::error!(%error, "a device failed: counting goes on without it");
                self.feeder.iter().for_each(|feeder| feeder.used.lose());
                self.kernel = None;
                // All threads may now count what was left to the device.
                shared.changed.notify_all();
                self.try_count(shared, chunk, stop)
            }
            result => result,
        }
    }

    fn try_count(
        &mut self,
        shared: &Shared,
        chunk: &Chunk,
        stop: &Stop,
    ) -> Result<Counted, gpu::Error> {
        let Shared { devices, backend, .. } = shared;
        let Lease { plan, fingerprint, recount, .. } = chunk.lease;
        if self.kernel.as_ref().is_none_or(|(of, _)| *of != (plan, recount)) {
            let feeder = self.feeder.as_ref().filter(|feeder| devices.count_by(&feeder.used, plan));
            let kernel = match feeder.filter(|_| devices.take(&chunk.lease)) {
                Some(feeder) => LoadedKernel::Device(feeder.used.counter(plan)?),
                None => {
                    let feeder = self.feeder.iter();
                    feeder.for_each(|feeder| devices.tell_if_too_large(&feeder.used, plan));
                    LoadedKernel::Processor(NamedKernel::new(*backend, plan, recount))
                }
            };
            self.kernel = Some(((plan, recount), kernel));
        }
        let (_, kernel) = self.kernel.as_mut().expect("it is there now");
        let tasks = &chunk.tasks[chunk.at.clone()];
        let start = chunk.range.start();
        let ((sum, of_tasks), by) = match kernel {
            LoadedKernel::Processor(kernel) => {
                kernel.stop_at(stop.clone());
                (kernel.count(fingerprint, start, tasks)?, kernel.name())
            }
            LoadedKernel::Device(counter) => {
                let count = |add: &mut dyn FnMut(u64)| counter.count_each(tasks, add);
                (add_up(fingerprint, start, plan.reports_tasks(), count)?, device_name())
            }
        };
        Ok(Counted { sum, of_tasks, by })
    }
}

impl Executor {
    /// Starts `threads` threads. Each passes its finished parts to `deliver`, in any order, and
    /// ends when `deliver` returns `false`. A part of a lease that was dropped may be
    /// [`CountError::Stopped`](count::CountError::Stopped). The first threads feed the `devices`.
    /// `deliver` must neither wait nor use the executor. Panics if the system refuses to start the
    /// threads.
    pub fn start(
        threads: NonZero<usize>,
        backend: Backend,
        devices: Devices,
        deliver: impl Fn(Result<Report, gpu::Error>) -> bool + Send + Sync + 'static,
    ) -> Executor {
        let devices = devices.within(threads.get());
        let state =
            Mutex::new(State { queue: Queue::default(), busy: BTreeMap::new(), closed: false });
        let changed = Condvar::new();
        let shared = Arc::new(Shared { state, changed, threads, backend, devices });
        let of_threads = shared.clone();
        pool::start(threads, move |index| count_until_closed(&of_threads, index, &deliver))
            .expect("failed to spawn thread");
        Executor { shared }
    }

    /// Adds tasks of a lease. The first of them has the ordinal `start`.
    pub fn push(&self, lease: Lease, start: u64, tasks: Vec<Task>) {
        self.shared.change(|state| state.queue.push(lease, start, tasks));
    }

    /// Removes the tasks of `lease`, and stops the threads that count some of them: a task may take
    /// longer than anybody waits. A device ends its chunk first.
    pub fn drop_lease(&self, lease: LeaseId) {
        self.shared.change(|state| {
            state.queue.retain(|held| held.id != lease);
            state.stop(|counted| counted == lease);
        });
    }

    /// Removes all tasks, and stops the threads that count some of them.
    pub fn drop_all(&self) {
        self.shared.change(|state| {
            state.queue.retain(|_| false);
            state.stop(|_| true);
        });
    }

    /// Removes all tasks that no thread has begun.
    pub fn clear(&self) {
        self.shared.change(|state| state.queue.retain(|_| false));
    }

    /// Number of tasks that wait for a thread, without those of the lease `besides`.
    pub fn waiting_tasks(&self, besides: Option<LeaseId>) -> usize {
        self.shared.lock().queue.tasks_besides(besides)
    }

    /// Whether no task is waiting or being counted.
    pub fn is_idle(&self) -> bool {
        let state = self.shared.lock();
        state.queue.tasks() == 0 && state.busy.is_empty()
    }
}

impl Drop for Executor {
    /// Ends the threads, without waiting for them.
    fn drop(&mut self) {
        self.drop_all();
        self.shared.change(|state| state.closed = true);
    }
}

impl State {
    /// Stops the threads that count leases which are `unwanted`.
    fn stop(&self, unwanted: impl Fn(LeaseId) -> bool) {
        let counted = self.busy.values().filter(|(lease, _)| unwanted(*lease));
        counted.for_each(|(_, stop)| stop.ask());
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics while holding it")
    }

    /// Changes the state and wakes all waiting threads.
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Waits for tasks that the thread with this index may count, and that it counts until it is
    /// asked to stop. Returns `None` once the executor is dropped.
    fn take(&self, most: usize, index: usize, thread: &CountingThread) -> Option<(Chunk, Stop)> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return None;
            }
            // What a device counts is left to the threads that feed one.
            let feeds = thread.feeder.as_ref().is_some_and(|feeder| !feeder.used.is_lost());
            let is_for = |lease: &Lease| feeds || !self.devices.take(lease);
            if let Some(chunk) = state.queue.take(is_for, most, self.threads.get()) {
                let stop = Stop::default();
                state.busy.insert(index, (chunk.lease.id, stop.clone()));
                return Some((chunk, stop));
            }
            state = self.changed.wait(state).expect("no thread panics while holding it");
        }
    }
}

fn count_until_closed(
    shared: &Shared,
    index: usize,
    deliver: impl Fn(Result<Report, gpu::Error>) -> bool,
) {
    let feeder = shared.devices.feeder(index, shared.threads.get());
    let feeders = feeder.as_ref().map_or(1, |feeder| feeder.threads);
    let mut thread = CountingThread { feeder, kernel: None };
    let mut most = 1;
    while let Some((chunk, stop)) = shared.take(most, index, &thread) {
        let (begun, watch) = (Instant::now(), Stopwatch::start());
        let counted = thread.count(shared, &chunk, &stop);
        let elapsed = begun.elapsed();
        let by_device = counted.as_ref().is_ok_and(|counted| counted.by.is_of_device());
        // A thread that feeds a device sleeps while the device counts, for this thread or for the
        // other one. All of the time on the wall is the device's, because nobody else could use it,
        // even between kernels and while data are copied to it. Its threads share this time. When
        // few tasks are left, one of them may be alone, and half of its time is then missing.
        let (aim, busy) = match by_device {
            true => (CHUNK_OF_DEVICE, elapsed / feeders),
            false => (CHUNK, watch.elapsed()),
        };
        most = pool::next_chunk(chunk.at.len(), elapsed, aim);
        let part = counted.map(|Counted { sum, of_tasks, by }| {
            let busy_us = u64::try_from(busy.as_micros()).unwrap_or(u64::MAX);
            Report::new(&chunk.lease, chunk.range, sum, of_tasks, by, busy_us)
        });
        // The thread is free at the moment at which the part is delivered: `is_idle` promises that
        // all is sent, and whoever gets the last part may ask at once.
        let mut state = shared.lock();
        let is_wanted = deliver(part);
        state.busy.remove(&index);
        drop(state);
        if !is_wanted {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use board::PlanIndex;
    use count::{CountError, Kernel};
    use farm::{JobId, LeaseKind, LeaseToken, Method, Plan, Problem, Range};

    use super::*;

    type Parts = mpsc::Receiver<Result<Report, gpu::Error>>;

    fn start(threads: usize, backend: Backend) -> (Executor, Parts) {
        start_with(Devices::default(), threads, backend)
    }

    fn start_with(devices: Devices, threads: usize, backend: Backend) -> (Executor, Parts) {
        let threads = NonZero::new(threads).expect("it is not 0");
        let (sender, parts) = mpsc::channel();
        let deliver = move |report| sender.send(report).is_ok();
        (Executor::start(threads, backend, devices, deliver), parts)
    }

    /// The next parts, until they have this many tasks.
    fn next_parts(parts: &Parts, mut tasks: u64) -> Vec<Report> {
        let mut all = Vec::new();
        while tasks > 0 {
            let part = parts.recv().expect("threads run").expect("tasks are right");
            tasks -= part.range.len();
            all.push(part);
        }
        all
    }

    fn lease(lease: u64, plan: Plan) -> Lease {
        let range = Range::new(0, plan.tasks).expect("it has tasks");
        let fingerprint = plan.fingerprint();
        let token = LeaseToken::new(range, LeaseKind::Count, [0; 16]);
        Lease { id: LeaseId(lease), job: JobId(1), plan, fingerprint, range, token, recount: None }
    }

    fn all_tasks(n: u32, method: Method) -> (Plan, Vec<Task>) {
        let index = PlanIndex::new(Problem::Total { n }, method).expect("such a plan exists");
        let tasks = index.tasks(0..index.len()).expect("it is the whole plan");
        (Plan { problem: Problem::Total { n }, method, tasks: index.len() }, tasks)
    }

    fn push(executor: &Executor, lease: Lease, tasks: Vec<Task>) {
        executor.push(lease, 0, tasks);
    }

    #[test]
    fn parts_tile_the_lease_sum_to_the_total_and_tell_what_each_task_counts() {
        let rows = Method::Rows { rows: 3 };
        for (method, is_reported) in
            [(Method::Colours, true), (Method::Colours, true), (rows, false)]
        {
            let (plan, tasks) = all_tasks(10, method);
            let (executor, parts) = start(3, Backend::detect());
            push(&executor, lease(1, plan), tasks);

            let mut counted = next_parts(&parts, plan.tasks);

            counted.sort_by_key(|part| part.range.start());
            let ends = counted.iter().map(|part| part.range.end());
            let starts = counted.iter().map(|part| part.range.start());
            assert!(starts.skip(1).eq(ends.take(counted.len() - 1)), "no gap, no overlap");
            let total: u64 = counted.iter().map(|part| part.checked_count.count).sum();
            assert_eq!(u128::from(total), testkit::vectors::total(10));
            for part in counted {
                assert_eq!(!part.task_counts.are_omitted(), is_reported, "{part:?}");
                let Report { range, checked_count, .. } = part;
                let add_up = part.task_counts.add_up_to(plan.fingerprint(), range, checked_count);
                assert!(add_up, "{part:?}");
            }
        }
    }

    /// Devices that this machine does not have, so that they fail when they are opened.
    fn missing_devices(are_required: bool) -> Devices {
        let device = |index| gpu::Device {
            driver: gpu::Driver::OpenCl,
            index,
            name: "missing".into(),
            version: String::new(),
            memory: 1 << 30,
            shared: 48 << 10,
            clock_mhz: 1000,
            units: 1,
            is_processor: false,
        };
        Devices::new(vec![device(98), device(99)], are_required)
    }

    #[test]
    fn what_a_lost_device_was_to_count_is_counted_by_the_processor() {
        let index =
            PlanIndex::new(Problem::Total { n: 20 }, Method::Colours).expect("such a plan exists");
        let tasks = index.tasks(100..112).expect("the plan has the range");
        let plan =
            Plan { problem: Problem::Total { n: 20 }, method: Method::Colours, tasks: index.len() };
        let kernel = Kernel::new(Backend::detect(), 20, Method::Colours);
        let sum = kernel.expect("there is such a kernel").count(&tasks);
        // With one thread the second device has none, and nothing waits for it.
        for threads in [1, 3, 6] {
            let (executor, parts) = start_with(missing_devices(false), threads, Backend::detect());
            executor.push(lease(1, plan), 100, tasks.clone());
            let counted = next_parts(&parts, 12).iter().map(|part| part.checked_count.count).sum();
            assert_eq!(Ok(counted), sum, "{threads} threads");
        }
    }

    /// Two threads that count for an hour with one device have used the device for an hour.
    #[test]
    fn threads_know_how_many_of_them_feed_their_device() {
        for (threads, expected) in [(1, [1, 0, 0]), (2, [1, 1, 0]), (3, [2, 1, 2]), (9, [2, 2, 2])]
        {
            let devices = missing_devices(true).within(threads);
            let of = |thread| devices.feeder(thread, threads).map_or(0, |feeder| feeder.threads);
            let found = [0, 1, 2].map(|thread| if thread < threads { of(thread) } else { 0 });
            assert_eq!(found, expected, "{threads} threads");
        }
    }

    #[test]
    fn a_device_that_is_required_and_fails_counts_nothing() {
        let (executor, parts) = start_with(missing_devices(true), 2, Backend::detect());
        let (plan, tasks) = all_tasks(10, Method::Colours);
        push(&executor, lease(1, plan), tasks);
        let failure = parts.recv().expect("threads run").expect_err("there is no device");
        assert!(matches!(failure, gpu::Error::Device(_)), "{failure}");
        // The processor counts the tasks that devices do not count.
        let (plan, tasks) = all_tasks(9, Method::Rows { rows: 2 });
        push(&executor, lease(2, plan), tasks);
        let is_counted = |part: Result<Report, _>| part.is_ok_and(|part| part.lease == LeaseId(2));
        while !is_counted(parts.recv().expect("threads run")) {}
    }

    #[test]
    fn a_dropped_lease_leaves_the_queue_and_others_stay() {
        let (long, long_tasks) = all_tasks(18, Method::Rows { rows: 3 });
        let (short, short_tasks) = all_tasks(6, Method::Rows { rows: 2 });
        let (executor, parts) = start(1, Backend::detect());
        push(&executor, lease(1, long), long_tasks);
        push(&executor, lease(2, short), short_tasks);

        executor.drop_lease(LeaseId(1));

        let of_short = |part: Report| part.lease == LeaseId(2);
        while !of_short(parts.recv().expect("it runs").expect("tasks are right")) {}
        assert!(executor.waiting_tasks(None) < short.tasks as usize);
    }

    #[test]
    fn a_dropped_lease_frees_the_thread_that_counts_a_task_of_it() {
        // Given a task that takes years
        let (endless, tasks) = all_tasks(32, Method::Prefixes { rows: 1 });
        let (short, short_tasks) = all_tasks(6, Method::Rows { rows: 2 });
        let (executor, parts) = start(1, Backend::detect());
        push(&executor, lease(1, endless), tasks);
        while executor.waiting_tasks(None) == endless.tasks as usize {
            std::thread::yield_now();
        }

        executor.drop_lease(LeaseId(1));
        push(&executor, lease(2, short), short_tasks);

        let stopped = parts.recv().expect("it runs").expect_err("its lease was dropped");
        assert!(matches!(stopped, gpu::Error::Count(CountError::Stopped)), "{stopped}");
        let counted = next_parts(&parts, short.tasks);
        assert!(counted.iter().all(|part| part.lease == LeaseId(2)), "{counted:?}");
    }

    #[test]
    fn all_threads_are_freed_when_everything_is_dropped() {
        let (endless, tasks) = all_tasks(32, Method::Prefixes { rows: 1 });
        let (executor, parts) = start(2, Backend::detect());
        push(&executor, lease(1, endless), tasks);
        while executor.shared.lock().busy.len() < 2 {
            std::thread::yield_now();
        }
        executor.drop_all();
        for _ in 0..2 {
            parts.recv().expect("it runs").expect_err("all leases were dropped");
        }
        assert!(executor.is_idle());
    }

    #[test]
    fn whoever_has_the_last_part_finds_the_executor_idle() {
        let (plan, tasks) = all_tasks(4, Method::Rows { rows: 1 });
        let (executor, parts) = start(1, Backend::Portable);
        for id in 0..2_000 {
            push(&executor, lease(id, plan), tasks.clone());
            next_parts(&parts, plan.tasks);
            assert!(executor.is_idle(), "nothing would wake who waits for that");
        }
    }

    /// Threads that wait for a processor are not busy. The clock of Windows is too coarse for parts
    /// this short.
    #[cfg(unix)]
    #[test]
    fn threads_are_no_longer_busy_than_processors_are() {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let (plan, tasks) = all_tasks(14, Method::Rows { rows: 3 });
        let (executor, parts) = start(8 * processors, Backend::Portable);
        let begun = Instant::now();
        push(&executor, lease(1, plan), tasks);
        let busy_us = next_parts(&parts, plan.tasks).iter().map(|part| part.busy_us).sum();
        let (busy, elapsed) = (Duration::from_micros(busy_us), begun.elapsed());
        assert!(busy <= elapsed * processors as u32, "{busy:?} of {processors} x {elapsed:?}");
    }
}
