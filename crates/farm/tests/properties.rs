//! Properties that hold for whatever the machine thinks of, against naive models.

use std::collections::{BTreeMap, BTreeSet};

use farm::rules::{self, MemoryStore, Store};
use farm::{
    Ack, Across, Agent, AgentConfig, AuditPolicy, Author, Check, Config, Counted, CountedRange,
    Digest, Effect, Event, Farm, Fingerprint, Hello, IntervalSet, JobId, JobState, KernelName,
    Known, LeaseId, LedgerAnswer, LedgerCommand, LedgerId, Loan, LoanKey, LoanKind, LoanProof,
    LoanTerms, Maker, Method, Millis, Origin, Part, Plan, Problem, PublicKey, Range, Report,
    RequestId, Restored, Row, SessionId, Signature, Signatures, Signed, SignedPart, Signer, Slice,
    Stretch, Tally, TaskCounts, Verdict, WorkerMessage,
};
use proptest::collection::vec;
use proptest::prelude::*;

const UNIVERSE: u64 = 64;

/// The plan of rows that are joined.
const PLAN: Plan =
    Plan { problem: Problem::Total { n: 8 }, method: Method::Rows { rows: 2 }, tasks: 1_000 };

/// A job that is cancelled, with a row for each length, worker, lease, check and whether its count is large; a check
/// beyond those that there are is a gap before the row. The rows are those that a policy does not choose, or that are
/// waited for or confirmed.
fn job_of_rows(
    rows: &[(u64, u8, u64, u8, bool)],
    policy: AuditPolicy,
) -> (MemoryStore, Vec<CountedRange>) {
    let (mut store, id) = (MemoryStore::default(), JobId(1));
    let (origin, slice) = (Origin::default(), Slice::ALL);
    store.add_job(id, &origin, &PLAN, slice, 0).expect("it is the first");
    store.add_policy(id, policy, "").expect("the job is there");
    let (mut at, mut all) = (0, Vec::new());
    for &(length, worker, lease, check, is_large) in rows {
        at += u64::from(check == 5);
        let range = Range::new(at, at + length).expect("not empty");
        at += length;
        let count = if is_large { u64::MAX - 7 } else { at };
        let tally = Tally::EMPTY.with(PLAN.fingerprint(), range.start(), count);
        let machine = format!("w{worker}");
        let author = Author {
            maker: Maker { owner: "lab".into(), machine: machine.clone() },
            worker: machine,
            build: "1.0".into(),
        };
        let check = match check {
            0 => Check::Wanted,
            1 => Check::Agreed,
            _ if policy.chooses(PLAN.fingerprint(), range) => Check::Agreed,
            _ => Check::NotChosen,
        };
        let tally = tally.expect("one count");
        let Tally { count, digest, .. } = tally;
        let part = SignedPart { range, count, digest, signature: Signature([0; 64]) };
        let row = Row {
            range,
            tally,
            kernel: KernelName::new("avx2").expect("there is such a kernel"),
            author,
            lease: LeaseId(lease),
            busy_us: at,
            signatures: Some(Signatures { signer: signer(), parts: vec![part] }),
        };
        let counted = CountedRange { row, check };
        store.insert(id, &counted).expect("it does not overlap");
        all.push(counted);
    }
    store.set_state(id, JobState::Cancelled, None).expect("it is there");
    (store, all)
}

proptest! {
    /// Every method of the interval set, against a set of single ordinals.
    #[test]
    fn interval_set_is_a_set(changes in vec(change(), 0..40), probe in range()) {
        let (mut set, mut model) = (IntervalSet::new(), BTreeSet::new());
        for change in changes {
            match change {
                Change::Insert(range) => {
                    set.insert(range);
                    model.extend(ordinals(range));
                }
                Change::Remove(range) => {
                    set.remove(range);
                    model.retain(|ordinal| !contains(range, *ordinal));
                }
                Change::TakeFirst(tasks) => {
                    let first = intervals(&model).first().map(|range| range.first(tasks));
                    prop_assert_eq!(set.take_first(tasks), first);
                    model.retain(|ordinal| !first.is_some_and(|range| contains(range, *ordinal)));
                }
            }
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), intervals(&model));
            prop_assert_eq!(set.len(), model.len() as u64);
            prop_assert_eq!(set.fragments(), intervals(&model).len());
            prop_assert_eq!(set.is_empty(), model.is_empty());
        }
        let within: BTreeSet<u64> = model.iter().copied().filter(|&o| contains(probe, o)).collect();
        prop_assert_eq!(set.within(probe).collect::<Vec<_>>(), intervals(&within));
        prop_assert_eq!(set.intersects(probe), !within.is_empty());
        prop_assert_eq!(set.contains(probe), within.len() as u64 == probe.len());
        prop_assert_eq!(intervals(&model).into_iter().collect::<IntervalSet>(), set);
    }

    /// Whatever rows a job has, joining changes neither what they say together nor who says it, whatever an audit
    /// chooses of them stays what two parties have counted, and a sum that passes 64 bits is not made.
    #[test]
    fn joined_rows_say_what_the_rows_said(
        rows in vec((1..4u64, 0..2u8, 0..2u64, 0..6u8, any::<bool>()), 1..30),
        (seed, share_ppm, most) in (any::<u64>(), 0..=AuditPolicy::ALL, 2..40usize),
        disputed in any::<prop::sample::Index>(),
    ) {
        let policy =
            AuditPolicy { share_ppm, seed, salt: 0, by_search: false, across: Across::Machines, beacon: None };
        let (mut store, before) = job_of_rows(&rows, policy);
        let id = JobId(1);
        let open = before[disputed.index(before.len())].row.clone();
        store.add_claim(id, &Row { lease: LeaseId(77), ..open.clone() }).expect("it is kept");

        store.archive(id, &Counted::default()).expect("it is over");

        let mut from = Some(0);
        while let Some(at) = from {
            let join = LedgerCommand::Join { job: id, from: at, most };
            let answer = rules::execute(&mut store, &join);
            let Ok(LedgerAnswer::Joined { next }) = answer else { panic!("{answer:?}") };
            from = next;
        }

        say_the_same(&before, &store, policy, &open)?;
    }

    /// A report that lengthens a stretch joins the rows of it under the same conditions, whatever its worker says of it. If
    /// nothing forbids it, they are one row, with the signature of the stretch alone.
    #[test]
    fn a_stretch_says_what_its_rows_said(
        rows in vec((1..4u64, seldom(9), seldom(9), 0..60u8, prop::bool::weighted(0.05)), 1..80),
        (seed, share_ppm, is_wrong) in (any::<u64>(), 0..=AuditPolicy::ALL, 0..4u8),
        (from, disputed) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        at_most in prop::sample::select(vec![3, 100]),
    ) {
        let share_ppm = share_ppm / 20;
        let policy =
            AuditPolicy { share_ppm, seed, salt: 0, by_search: false, across: Across::Machines, beacon: None };
        let (mut store, mut before) = job_of_rows(&rows, policy);
        let id = JobId(1);
        let open = before[disputed.index(before.len())].row.clone();
        store.add_claim(id, &Row { lease: LeaseId(77), ..open.clone() }).expect("it is kept");
        let last = before.pop().expect("there is one");
        store.jobs.get_mut(&id).expect("it is there").rows.remove(&last.row.range.start());
        let first = before.len() - from.index(before.len() + 1).min(at_most);
        let parts: Vec<&CountedRange> = before[first..].iter().chain([&last]).collect();
        let sum = parts.iter().map(|part| u128::from(part.row.tally.count)).sum::<u128>();
        let digest = parts.iter().map(|part| part.row.tally.digest).reduce(Digest::join);
        let range = Range::new(parts[0].row.range.start(), last.row.range.end()).expect("not empty");
        let stretch = Stretch {
            range,
            count: (sum as u64).wrapping_add(u64::from(is_wrong == 1)),
            digest: Digest(digest.expect("there is one").0 ^ u128::from(is_wrong == 2)),
            signature: Some(Signature([1; 64])).filter(|_| is_wrong != 3),
        };
        let Row { range: reported, tally, kernel, lease, busy_us, .. } = last.row;
        let report = Report {
            job: id,
            fingerprint: PLAN.fingerprint(),
            lease,
            proof: LoanProof { range, kind: LoanKind::Count, seal: [0; 16] },
            range: reported,
            tally,
            task_counts: TaskCounts::default(),
            kernel,
            busy_us,
            signed: Some(Signed { signer: signer(), signature: Signature([0; 64]) }),
            stretches: vec![stretch],
        };
        let author = last.row.author.clone();
        let accept = LedgerCommand::Accept { report, author, audit: last.check != Check::NotChosen };

        rules::execute(&mut store, &accept).expect("nobody has counted it");

        let is_alike = |part: &&CountedRange| {
            (&part.row.author, part.row.lease, part.check) == (&last.row.author, lease, Check::NotChosen)
        };
        let tiles = parts.windows(2).all(|two| two[0].row.range.end() == two[1].row.range.start());
        let is_one = tiles
            && parts.len() <= 8
            && parts.iter().all(is_alike)
            && u64::try_from(sum).is_ok()
            && !policy.chooses(PLAN.fingerprint(), range)
            && open.range.intersect(range).is_none();
        if is_one && is_wrong == 0 && parts.len() > 1 {
            let row = &store.jobs[&id].rows[&range.start()].row;
            prop_assert_eq!(row.range, range);
            let signed = row.signatures.as_ref().expect("all are signed");
            let by: Vec<Signature> = signed.parts.iter().map(|part| part.signature).collect();
            prop_assert_eq!(by, vec![Signature([1; 64])]);
        }
        // The row that the store made of the last one itself may not be confirmed yet.
        let check = if last.check == Check::NotChosen { Check::NotChosen } else { Check::Wanted };
        before.push(CountedRange { check, ..last });
        say_the_same(&before, &store, policy, &open)?;
    }

    /// However a loan is cut and in whatever order its parts are finished, the reports tile it and
    /// sum to the same, also if neighbouring sums do not fit 64 bits.
    #[test]
    fn agent_reports_tile_the_loan(
        tasks in 1..50u64,
        cuts in vec(0..50u64, 0..20),
        order in any::<u64>(),
        huge in any::<bool>(),
        polls in any::<u64>(),
    ) {
        let count = |range: Range| -> u64 {
            ordinals(range).map(|o| if huge { 1 << 61 } else { o * o }).sum()
        };
        let most = if huge { 4 } else { tasks };
        let mut parts: Vec<Range> =
            split(tasks, &cuts).into_iter().flat_map(|range| pieces(range, most)).collect();
        shuffle(&mut parts, order);
        let mut agent = agent();
        let loan = loan(LeaseId(1), tasks);
        agent.lent(loan);
        let mut reports = Vec::new();
        for (turn, &range) in parts.iter().enumerate() {
            agent.finished(Millis(1), part(loan, range, count(range)));
            let late = polls >> (turn % 64) & 1 == 1;
            reports.extend(reported(agent.poll(Millis(if late { 1_000 } else { 1 }))));
        }
        let mut covered = IntervalSet::new();
        for report in &reports {
            prop_assert!(!covered.intersects(report.range), "sent twice: {:?}", report);
            covered.insert(report.range);
            let sum: u128 = pieces(report.range, 1).into_iter().map(|r| u128::from(count(r))).sum();
            prop_assert_eq!(u128::from(report.tally.count), sum);
            for stretch in &report.stretches {
                prop_assert!(covered.contains(stretch.range), "more than was reported");
                prop_assert!(stretch.range.intersect(report.range) == Some(report.range));
                prop_assert!(stretch.range != report.range, "it says nothing more");
                let sum: u128 = pieces(stretch.range, 1).into_iter().map(|r| u128::from(count(r))).sum();
                prop_assert_eq!(u128::from(stretch.count), sum);
            }
            agent.acked(&Ack::of(report, Verdict::Accepted));
        }
        prop_assert_eq!(covered.iter().collect::<Vec<_>>(), vec![loan.range]);
        let last = reports.last().expect("there is a part");
        let whole = last.stretches.last().map_or(last.range, |stretch| stretch.range);
        prop_assert!(huge || whole == loan.range, "the last report closes every gap: {:?}", whole);
        prop_assert!(agent.is_settled());
    }

    /// What is not acknowledged is sent again after a reconnection, with the same boundaries.
    #[test]
    fn agent_repeats_itself_exactly(tasks in 1..30u64, cuts in vec(0..30u64, 0..10)) {
        let mut agent = agent();
        let loan = loan(LeaseId(1), tasks);
        agent.lent(loan);
        let mut sent = BTreeMap::new();
        for (turn, range) in split(tasks, &cuts).into_iter().enumerate() {
            agent.finished(Millis(1), part(loan, range, range.start()));
            let messages = agent.poll(Millis(1 + 400 * turn as u64));
            sent.extend(reported(messages).into_iter().map(|report| (report.range, report)));
        }
        agent.disconnected();
        let WorkerMessage::Hello(Hello { holding, .. }) = agent.connected() else { panic!("first words") };
        let held: IntervalSet = holding.into_iter().map(|holding| holding.range).collect();
        prop_assert_eq!(held.iter().collect::<Vec<_>>(), vec![loan.range]);
        let again = reported(agent.poll(Millis(100_000)));
        let again: BTreeMap<Range, Report> = again.into_iter().map(|r| (r.range, r)).collect();
        prop_assert_eq!(again, sent);
    }

    /// Every split of a plan into reports, in any order and under any lease, sums to the same.
    #[test]
    fn every_split_sums_to_the_same(
        tasks in 1..200u64,
        cuts in vec(0..200u64, 0..40),
        order in any::<u64>(),
        leases in vec(0..10u64, 40),
    ) {
        let count = |ordinal: u64| u64::MAX / 50 - ordinal * ordinal;
        let truth: u128 = (0..tasks).map(|ordinal| u128::from(count(ordinal))).sum();
        let key = LoanKey::new([9; 32]);
        let mut farm = Farm::restore(Config::default(), key, Millis(0), Restored::default());
        let plan = plan(tasks);
        let request = RequestId(1);
        let (slice, audit) = (Slice::ALL, None);
        act(
            &mut farm,
            Event::Submitted {
                request,
                origin: Origin::default(),
                plan,
                slice,
                priority: 0,
                audit,
                thread_memory: 0,
                known: Known::nothing(),
            },
        );
        let hello = Hello {
            worker: "w".into(),
            machine: "w".into(),
            build: "1.0".into(),
            backend: "portable".into(),
            instance: 1,
            threads: 2,
            memory: 0,
            memory_kills: 0,
            credit: 100,
            holding: Vec::new(),
            mark: None,
            key: None,
            is_paced: false,
            numbers_tasks: false,
        };
        act(&mut farm, Event::Joined { session: SessionId(1), owner: "o".into(), hello });
        let mut reports: Vec<Range> =
            split(tasks, &cuts).into_iter().flat_map(|range| pieces(range, 40)).collect();
        shuffle(&mut reports, order);
        for (index, range) in reports.into_iter().enumerate() {
            let (job, lease) = (JobId(1), LeaseId(leases[index % leases.len()]));
            let terms = LoanTerms { job, plan: plan.fingerprint(), lease, owner: "o" };
            let report = Report {
                job,
                fingerprint: plan.fingerprint(),
                lease,
                proof: key.prove(&terms, range, LoanKind::Count),
                range,
                tally: tally(range, ordinals(range).map(count).sum()),
                task_counts: TaskCounts::default(),
                kernel: KernelName::default(),
                busy_us: 1_000,
                signed: None,
                stretches: Vec::new(),
            };
            let verdicts = act(&mut farm, Event::Reported { session: SessionId(1), report });
            prop_assert_eq!(verdicts, vec![Verdict::Accepted]);
        }
        let job = farm.job(JobId(1)).expect("it was submitted");
        prop_assert_eq!((job.state, job.total, job.tasks_done), (JobState::Done, truth, tasks));
    }
}

/// Whether the rows of a store say together what the rows before said, and those that must stay are there.
fn say_the_same(
    before: &[CountedRange],
    store: &MemoryStore,
    policy: AuditPolicy,
    disputed: &Row,
) -> Result<(), TestCaseError> {
    let mut rest = before.iter();
    for CountedRange { row, check } in store.jobs[&JobId(1)].rows.values() {
        let mut parts = Vec::new();
        while parts.last().is_none_or(|last: &&CountedRange| last.row.range.end() < row.range.end())
        {
            parts.push(rest.next().expect("nothing was added"));
        }
        let range = Range::new(parts[0].row.range.start(), row.range.end());
        prop_assert_eq!(range, Some(row.range));
        for part in &parts {
            prop_assert_eq!((&part.row.author, part.row.kernel), (&row.author, row.kernel));
            prop_assert_eq!((part.row.lease, part.check), (row.lease, *check));
        }
        let sum = parts.iter().map(|part| u128::from(part.row.tally.count)).sum::<u128>();
        prop_assert_eq!(sum, u128::from(row.tally.count));
        let busy = parts.iter().map(|part| part.row.busy_us).sum::<u64>();
        prop_assert_eq!(busy, row.busy_us);
        let digests = parts.iter().map(|part| part.row.tally.digest);
        prop_assert_eq!(digests.reduce(Digest::join), Some(row.tally.digest));
        prop_assert!(row.tally.is_sound());
        let signed = row.signatures.as_ref().expect("all are signed");
        prop_assert!(signed.add_up_to(row), "{:?}", signed);
        if parts.len() > 1 {
            prop_assert_eq!(*check, Check::NotChosen);
            prop_assert!(!policy.chooses(PLAN.fingerprint(), row.range), "{}", row.range);
            prop_assert!(disputed.range.intersect(row.range).is_none(), "it is disputed");
        }
    }
    prop_assert!(rest.next().is_none(), "a row is lost");
    Ok(())
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Insert(Range),
    Remove(Range),
    TakeFirst(u64),
}

fn range() -> impl Strategy<Value = Range> {
    (0..UNIVERSE, 1..=16u64).prop_map(|(start, len)| {
        Range::new(start, (start + len).min(UNIVERSE)).expect("the universe goes on")
    })
}

/// 1 in one of so many cases, and 0 otherwise.
fn seldom<T: From<bool> + std::fmt::Debug>(one_in: u32) -> impl Strategy<Value = T> {
    (0..one_in).prop_map(|number| T::from(number == 0))
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => range().prop_map(Change::Insert),
        2 => range().prop_map(Change::Remove),
        1 => (1..20u64).prop_map(Change::TakeFirst),
    ]
}

fn ordinals(range: Range) -> std::ops::Range<u64> {
    range.start()..range.end()
}

fn contains(range: Range, ordinal: u64) -> bool {
    ordinals(range).contains(&ordinal)
}

/// The maximal intervals of a set of ordinals.
fn intervals(set: &BTreeSet<u64>) -> Vec<Range> {
    let mut intervals: Vec<Range> = Vec::new();
    for &ordinal in set {
        let start = match intervals.last() {
            Some(last) if last.end() == ordinal => intervals.pop().expect("it is there").start(),
            _ => ordinal,
        };
        intervals.extend(Range::new(start, ordinal + 1));
    }
    intervals
}

/// Who signs all rows.
fn signer() -> Signer {
    let (key, ledger) = (PublicKey([1; 32]), LedgerId([2; 16]));
    Signer { key, ledger, job: JobId(1), kind: LoanKind::Count }
}

/// `[0, tasks)`, cut there.
fn split(tasks: u64, cuts: &[u64]) -> Vec<Range> {
    let mut ends: BTreeSet<u64> = cuts.iter().map(|cut| cut % tasks).collect();
    ends.extend([0, tasks]);
    let ends: Vec<u64> = ends.into_iter().collect();
    ends.windows(2).filter_map(|pair| Range::new(pair[0], pair[1])).collect()
}

/// A range in pieces of at most `most` tasks.
fn pieces(range: Range, most: u64) -> Vec<Range> {
    let starts = ordinals(range).step_by(most as usize);
    starts.filter_map(|start| Range::new(start, (start + most).min(range.end()))).collect()
}

/// A permutation, the same for the same `order`.
fn shuffle<T>(items: &mut [T], mut order: u64) {
    for index in (1..items.len()).rev() {
        order =
            order.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        items.swap(index, (order >> 33) as usize % (index + 1));
    }
}

fn plan(tasks: u64) -> Plan {
    Plan { problem: Problem::Total { n: 8 }, method: Method::Rows { rows: 2 }, tasks }
}

fn loan(lease: LeaseId, tasks: u64) -> Loan {
    let (plan, range) = (plan(tasks), Range::new(0, tasks).expect("some tasks"));
    let proof = LoanProof { range, kind: LoanKind::Count, seal: [7; 16] };
    let fingerprint = plan.fingerprint();
    Loan { lease, job: JobId(1), plan, fingerprint, range, proof, recount: None }
}

fn part(loan: Loan, range: Range, count: u64) -> Part {
    let (tally, kernel) = (tally(range, count), KernelName::default());
    Part { loan, range, tally, task_counts: TaskCounts::default(), kernel, busy_us: 1 }
}

/// The tally of a range whose first task counts everything.
fn tally(range: Range, count: u64) -> Tally {
    let plan = Fingerprint([1; 32]);
    Tally::EMPTY.with(plan, range.start(), count).expect("it is one task")
}

fn agent() -> Agent {
    let mut agent = Agent::new(AgentConfig {
        worker: "w".into(),
        machine: "w".into(),
        build: "1.0".into(),
        backend: "portable".into(),
        instance: 1,
        threads: 2,
        memory: 0,
        memory_kills: 0,
        credit: 100,
        report_ms: 500,
        resend_ms: 50_000,
    });
    agent.connected();
    agent
}

fn reported(messages: Vec<WorkerMessage>) -> Vec<Report> {
    let report = |message| match message {
        WorkerMessage::Report(report) => Some(report),
        _ => None,
    };
    messages.into_iter().filter_map(report).collect()
}

/// A step, and all that follows from it with a ledger that writes at once. Returns the verdicts.
fn act(farm: &mut Farm, event: Event) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    let mut events = vec![event];
    while let Some(event) = events.pop() {
        for effect in farm.step(Millis(1), event) {
            match effect {
                Effect::Ledger { ticket, command } => {
                    if let LedgerCommand::Finish { tasks, .. } = command {
                        assert!(tasks > 0, "every plan here has tasks");
                    }
                    if !matches!(command, LedgerCommand::Compare { .. }) {
                        events.push(Event::Ledger { ticket, answer: LedgerAnswer::Written });
                    }
                }
                Effect::Ack { ack, .. } => verdicts.push(ack.verdict),
                _ => {}
            }
        }
    }
    verdicts
}
