//! What one end says, the other end reads; and nothing that arrives can bring it down.

use board::{Given, MethodChoice, Square, Tasks};
use farm::{
    Ack, Across, AuditPolicy, AuditView, Beacon, Digest, Fingerprint, Held, Hello, Holding, JobId,
    JobState, JobView, KernelName, LeaseId, LedgerId, Loan, LoanKind, LoanProof, LostWorkers,
    Maker, Method, Origin, Pace, Plan, Problem, PublicKey, Range, Recount, Report, RowsRoot,
    Signature, Slice, Suspect, Tally, TaskCounts, TasksBlock, Times, Verdict, WorkerMessage,
    WorkerOrder,
};
use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message as _;
use wire::{MAX_MESSAGE_BYTES, MAX_TASKS_PER_MESSAGE, v1};

proptest! {
    #[test]
    fn what_a_worker_says_arrives(message in message()) {
        let bytes = v1::WorkRequest::from(message.clone()).encode_to_vec();
        let read = v1::WorkRequest::decode(bytes.as_slice()).expect("it was just encoded");
        prop_assert_eq!(WorkerMessage::try_from(read), Ok(message));
    }

    #[test]
    fn what_a_worker_is_told_arrives(order in order()) {
        let bytes = v1::WorkResponse::from(order.clone()).encode_to_vec();
        let read = v1::WorkResponse::decode(bytes.as_slice()).expect("it was just encoded");
        prop_assert_eq!(WorkerOrder::try_from(read), Ok(order));
    }

    #[test]
    fn what_a_client_is_told_arrives(job in job()) {
        let bytes = v1::Job::from(job.clone()).encode_to_vec();
        let read = v1::Job::decode(bytes.as_slice()).expect("it was just encoded");
        prop_assert_eq!(JobView::try_from(read), Ok(job));
    }

    #[test]
    fn noise_is_an_error_at_worst(bytes in vec(any::<u8>(), 0..200)) {
        read_all(&bytes);
    }

    /// Closer to home: almost a message.
    #[test]
    fn a_damaged_message_is_an_error_at_worst(
        message in message(),
        order in order(),
        at in any::<prop::sample::Index>(),
        damage in any::<u8>(),
    ) {
        let encoded =
            [v1::WorkRequest::from(message).encode_to_vec(), v1::WorkResponse::from(order).encode_to_vec()];
        for mut bytes in encoded {
            let at = at.index(bytes.len());
            bytes[at] = damage;
            read_all(&bytes);
            read_all(&bytes[..at]);
        }
    }

    /// The fingerprint covers every field of a plan: none can change unnoticed.
    #[test]
    fn a_plan_that_was_altered_is_refused(plan in plan(), other in plan()) {
        let mut altered = v1::Plan::from(&plan);
        let other = v1::Plan::from(&other);
        (altered.problem, altered.method, altered.tasks) = (other.problem, other.method, other.tasks);
        if let Ok(read) = Plan::try_from(altered) {
            prop_assert_eq!(read, plan);
        }
    }
}

#[test]
fn a_plan_that_cuts_what_is_not_there_is_refused() {
    let cuts = [
        (8, v1::plan::Method::Rows(v1::RowsMethod { rows: 9 }), "rows"),
        (8, v1::plan::Method::Ring(v1::RingMethod { width: 0 }), "width"),
        (8, v1::plan::Method::Ring(v1::RingMethod { width: 3 }), "width"),
        (3, v1::plan::Method::Ring(v1::RingMethod { width: 2 }), "width"),
        (3, v1::plan::Method::Halves(v1::HalvesMethod {}), "n"),
    ];
    for (n, method, field) in cuts {
        let plan = v1::Plan {
            problem: Some(Problem::Total { n }.into()),
            method: Some(method),
            tasks: 1,
            fingerprint: vec![0; 32],
        };
        let refused = Plan::try_from(plan).expect_err("there is no such cut");
        assert!(refused.to_string().contains(field), "{refused}");
    }
}

#[test]
fn a_choice_of_a_method_comes_back() {
    let choices = [None, Some(0), Some(2)].into_iter().flat_map(|value| {
        [MethodChoice::Rows { rows: value }, MethodChoice::Ring { width: value }]
    });
    for choice in choices.chain([MethodChoice::Halves]) {
        assert_eq!(MethodChoice::from(v1::submit_request::Method::from(choice)), choice);
    }
}

/// Reads `bytes` as everything that an end may be sent.
fn read_all(bytes: &[u8]) {
    let _ = v1::WorkRequest::decode(bytes).map(WorkerMessage::try_from);
    let _ = v1::WorkResponse::decode(bytes).map(WorkerOrder::try_from);
    let _ = v1::Job::decode(bytes).map(JobView::try_from);
}

#[test]
fn the_largest_messages_fit_the_limit() {
    let range = Range::new(u64::MAX - 1, u64::MAX).expect("not empty");
    let fingerprint = Fingerprint([0xff; 32]);
    let proof = LoanProof { range, kind: LoanKind::Recount, seal: [0xff; 16] };
    let (lease, job) = (LeaseId(u64::MAX), JobId(u64::MAX));
    let holding = Holding { lease, job, fingerprint, range, proof };
    let hello = WorkerMessage::Hello(Hello {
        worker: "w".repeat(128),
        machine: "m".repeat(128),
        build: "b".repeat(128),
        backend: "k".repeat(128),
        instance: u64::MAX,
        threads: 4096,
        memory: u64::MAX,
        memory_kills: u64::MAX,
        credit: u64::MAX,
        holding: vec![holding; Hello::MAX_HOLDINGS],
        mark: Some(vec![0xff; Hello::MAX_MARK]),
        key: Some(PublicKey([0xff; 32])),
        is_paced: true,
        numbers_tasks: true,
    });
    let tasks = MAX_TASKS_PER_MESSAGE;
    let masks = || vec![u32::MAX; tasks];
    let block = WorkerOrder::Tasks(TasksBlock {
        lease: LeaseId(u64::MAX),
        start: u64::MAX - tasks as u64,
        tasks: Tasks { left: masks(), down: masks(), right: masks(), weight: vec![8; tasks] },
    });
    assert!(v1::WorkRequest::from(hello).encoded_len() <= MAX_MESSAGE_BYTES);
    assert!(v1::WorkResponse::from(block).encoded_len() <= MAX_MESSAGE_BYTES);
}

#[test]
fn numbers_that_no_ledger_can_hold_are_refused() {
    let range = Some(v1::OrdinalRange { start: 0, end: 1 });
    let fits = v1::Report {
        lease: 1,
        job: 1,
        fingerprint: vec![0; 32],
        range,
        digest: vec![0; 16],
        kernel: "portable".into(),
        proof: proof_bytes(),
        ..Default::default()
    };
    assert!(Report::try_from(fits.clone()).is_ok());
    for report in [
        v1::Report { lease: 1 << 63, ..fits.clone() },
        v1::Report { residue: 1 << 63, ..fits.clone() },
        v1::Report { job: u64::MAX, ..fits.clone() },
        v1::Report { task_counts: vec![1; TaskCounts::MOST + 1], ..fits },
    ] {
        let error = Report::try_from(report).expect_err("it is too large");
        assert!(error.to_string().contains("out of bounds"), "{error}");
    }
}

#[test]
fn a_mark_that_is_too_long_is_refused() {
    let mark = |len| v1::work_response::Message::Mark(v1::Mark { mark: vec![0; len] });
    let read = |len| WorkerOrder::try_from(v1::WorkResponse { message: Some(mark(len)) });
    read(Hello::MAX_MARK).expect("it is short enough");
    read(Hello::MAX_MARK + 1).expect_err("it is too long");
}

/// What a worker calls itself goes into logs, tables and ledgers.
#[test]
fn a_text_that_a_terminal_would_obey_is_refused() {
    let hello = v1::Hello {
        protocol: wire::PROTOCOL,
        worker: "rack7-0042".into(),
        machine: "rack7".into(),
        threads: 1,
        build: "1.2.3+dirty".into(),
        backend: "avx512".into(),
        ..Default::default()
    };
    assert!(Hello::try_from(hello.clone()).is_ok());
    let too_long = "w".repeat(wire::MAX_TEXT + 1);
    for text in ["\x1b[2J", "a\nb", "a\rb", "a b", "Zoë", "\u{202e}drow", "\0", "\x7f", &too_long]
    {
        let text = || text.to_string();
        for (field, hello) in [
            ("worker", v1::Hello { worker: text(), ..hello.clone() }),
            ("machine", v1::Hello { machine: text(), ..hello.clone() }),
            ("build", v1::Hello { build: text(), ..hello.clone() }),
            ("backend", v1::Hello { backend: text(), ..hello.clone() }),
        ] {
            let refused = Hello::try_from(hello).expect_err(field).to_string();
            assert!(refused.contains(field) && refused.is_ascii(), "{refused}");
        }
    }
    assert!(Hello::try_from(v1::Hello { worker: String::new(), ..hello.clone() }).is_err());
    assert!(Hello::try_from(v1::Hello { machine: String::new(), ..hello }).is_err());
}

fn proof_bytes() -> Vec<u8> {
    let range = Range::new(0, 1).expect("not empty");
    LoanProof { range, kind: LoanKind::Count, seal: [0; 16] }.to_bytes().to_vec()
}

#[test]
fn a_proof_of_another_form_is_refused() {
    for proof in [Vec::new(), vec![0; 32], vec![0; 33], vec![255; 33], vec![1; 34]] {
        let report = v1::Report {
            fingerprint: vec![0; 32],
            range: Some(v1::OrdinalRange { start: 0, end: 1 }),
            digest: vec![0; 16],
            kernel: "portable".into(),
            proof,
            ..Default::default()
        };
        let refused = Report::try_from(report).expect_err("it is no proof").to_string();
        assert!(refused.contains("`proof`"), "{refused}");
    }
}

#[test]
fn a_kernel_that_nobody_has_is_refused_and_its_name_is_harmless() {
    let report = |kernel: &str| v1::Report {
        lease: 1,
        job: 1,
        fingerprint: vec![0; 32],
        range: Some(v1::OrdinalRange { start: 0, end: 1 }),
        digest: vec![0; 16],
        kernel: kernel.into(),
        proof: proof_bytes(),
        ..Default::default()
    };
    let endless = "k".repeat(1 << 16);
    for name in ["", "avx9", "AVX2", "avx2 ", "\x1b]0;owned\x07", "avx2\nforged", &endless] {
        let refused = Report::try_from(report(name)).expect_err(name).to_string();
        let is_harmless = |c: char| c.is_ascii() && !c.is_ascii_control();
        assert!(refused.chars().all(is_harmless) && refused.len() < 300, "{refused}");
        assert!(refused.contains("the kernel \""), "{refused}");
    }
}

#[test]
fn a_task_of_a_weight_that_no_symmetry_gives_is_refused() {
    for weight in 0..=u8::MAX {
        let masks = || vec![0];
        let (left, down, right) = (masks(), masks(), masks());
        let tasks = v1::Tasks { lease: 1, start: 0, left, down, right, weight: vec![weight] };
        assert_eq!(TasksBlock::try_from(tasks).is_ok(), (1..=64).contains(&weight), "{weight}");
    }
}

fn message() -> impl Strategy<Value = WorkerMessage> {
    prop_oneof![
        hello().prop_map(WorkerMessage::Hello),
        any::<u64>().prop_map(WorkerMessage::Credit),
        report().prop_map(WorkerMessage::Report),
        (report(), any::<[u8; 32]>()).prop_map(|(report, half)| {
            let signature = [half, half].concat().try_into().expect("two halves");
            WorkerMessage::SignedReport(report, Signature(signature))
        }),
        any::<u64>().prop_map(|lease| WorkerMessage::Working(LeaseId(lease))),
        any::<u64>().prop_map(|lease| WorkerMessage::Decline(LeaseId(lease))),
        Just(WorkerMessage::Leaving),
    ]
}

fn hello() -> impl Strategy<Value = Hello> {
    let names = ("[!-~]{1,128}", "[!-~]{1,128}", "[!-~]{0,128}", "[!-~]{0,128}");
    let memory = (any::<u64>(), any::<u64>());
    let numbers = (any::<u64>(), 1..=4096u32, memory, any::<u64>());
    let key = prop::option::of(any::<[u8; 32]>().prop_map(PublicKey));
    (names, numbers, vec(holding(), 0..5), prop::option::of(mark()), key).prop_map(
        |(
            (worker, machine, build, backend),
            (instance, threads, memory, credit),
            holding,
            mark,
            key,
        )| Hello {
            is_paced: instance % 2 == 0,
            numbers_tasks: instance % 3 == 0,
            worker,
            machine,
            build,
            backend,
            instance,
            threads,
            memory: memory.0,
            memory_kills: memory.1,
            credit,
            holding,
            mark,
            key,
        },
    )
}

fn mark() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..=Hello::MAX_MARK)
}

fn holding() -> impl Strategy<Value = Holding> {
    (0..1u64 << 63, 0..1u64 << 63, fingerprint(), range(), proof()).prop_map(
        |(lease, job, fingerprint, range, proof)| Holding {
            lease: LeaseId(lease),
            job: JobId(job),
            fingerprint,
            range,
            proof,
        },
    )
}

fn proof() -> impl Strategy<Value = LoanProof> {
    let kind = prop_oneof![Just(LoanKind::Count), Just(LoanKind::Recount)];
    (range(), kind, any::<[u8; 16]>()).prop_map(|(range, kind, seal)| LoanProof {
        range,
        kind,
        seal,
    })
}

fn report() -> impl Strategy<Value = Report> {
    let tally = (any::<u64>(), 0..1u64 << 61, any::<u128>());
    let tally = tally.prop_map(|(count, residue, digest)| {
        // Whether it is sound is the farm's to say.
        Tally { count, residue, digest: Digest(digest) }
    });
    let told = vec(any::<u64>(), 0..4).prop_map(|counts| TaskCounts::new(&counts));
    let all = (holding(), tally, told, kernel(), any::<u64>());
    all.prop_map(|(holding, tally, task_counts, kernel, busy_us)| Report {
        job: holding.job,
        fingerprint: holding.fingerprint,
        lease: holding.lease,
        proof: holding.proof,
        range: holding.range,
        tally,
        task_counts,
        kernel,
        busy_us,
        signed: None,
    })
}

fn kernel() -> impl Strategy<Value = KernelName> {
    prop::sample::select(KernelName::ALL.to_vec())
}

fn recount() -> impl Strategy<Value = Recount> {
    // Several kernels may have counted what is counted again.
    let unlike = prop::option::of(kernel()).prop_map(Option::unwrap_or_default);
    (unlike, any::<bool>()).prop_map(|(unlike, by_search)| Recount { unlike, by_search })
}

fn order() -> impl Strategy<Value = WorkerOrder> {
    prop_oneof![
        (prop::option::of(any::<[u8; 16]>().prop_map(LedgerId)), any::<bool>())
            .prop_map(|(ledger, without_tasks)| WorkerOrder::Welcome { ledger, without_tasks }),
        loan().prop_map(WorkerOrder::Loan),
        tasks().prop_map(WorkerOrder::Tasks),
        (holding(), verdict()).prop_map(|(holding, verdict)| WorkerOrder::Ack(Ack {
            job: holding.job,
            fingerprint: holding.fingerprint,
            range: holding.range,
            verdict,
        })),
        any::<u64>().prop_map(|lease| WorkerOrder::Revoke(LeaseId(lease))),
        mark().prop_map(WorkerOrder::Mark),
        (0..=200_000usize).prop_map(|workers| WorkerOrder::Pace(Pace::of(workers))),
    ]
}

fn loan() -> impl Strategy<Value = Loan> {
    (any::<u64>(), any::<u64>(), plan(), range(), proof(), prop::option::of(recount())).prop_map(
        |(lease, job, plan, range, proof, recount)| {
            let plan = Plan { tasks: plan.tasks.max(range.end()), ..plan };
            Loan {
                lease: LeaseId(lease),
                job: JobId(job),
                plan,
                fingerprint: plan.fingerprint(),
                range,
                proof,
                recount,
            }
        },
    )
}

fn tasks() -> impl Strategy<Value = TasksBlock> {
    let weight = 1..=64u8;
    let task = (any::<u32>(), any::<u32>(), any::<u32>(), weight);
    (any::<u64>(), 0..1u64 << 60, vec(task, 1..20)).prop_map(|(lease, start, rows)| {
        let mut tasks = Tasks::with_capacity(rows.len());
        for (left, down, right, weight) in rows {
            tasks.left.push(left);
            tasks.down.push(down);
            tasks.right.push(right);
            tasks.weight.push(weight);
        }
        TasksBlock { lease: LeaseId(lease), start, tasks }
    })
}

fn job() -> impl Strategy<Value = JobView> {
    let state = prop_oneof![
        Just(JobState::Running),
        Just(JobState::Paused),
        Just(JobState::Cancelled),
        Just(JobState::Held),
        Just(JobState::Done),
    ];
    let numbers = (any::<u64>(), any::<u64>(), any::<u128>(), any::<u64>());
    let sizes = (any::<u64>(), any::<u16>(), any::<u16>(), any::<u16>());
    let poison = (any::<u64>(), vec(any::<u64>(), 0..=JobView::POISONED_NAMED), lost());
    let origin = ("[!-~]{0,20}", prop::option::of("[!-~]{1,20}"))
        .prop_map(|(owner, key)| Origin { owner, key });
    let who = (origin, any::<i32>());
    let ends = (held(), prop::option::of(rows_root()));
    (plan(), state, numbers, who, sizes, audits(), poison, ends).prop_map(
        |(plan, state, (id, tasks_done, total, speed), who, sizes, audits, poison, ends)| {
            let ((origin, priority), (held, committed)) = (who, ends);
            JobView {
                id: JobId(id),
                origin,
                plan,
                slice: audits.0,
                audit: audits.1.map(|policy| AuditView::of(policy, state)),
                held: (state == JobState::Held).then_some(held),
                committed,
                audits_wanted: audits.2,
                audits_agreed: audits.3,
                priority,
                state,
                tasks_done,
                total,
                thread_memory: sizes.0,
                workers: sizes.1.into(),
                able_workers: sizes.2.into(),
                busy_us_left: (speed > u64::MAX / 4).then_some(speed),
                threads: (speed >> 32) as u32,
                disputes: sizes.3.into(),
                poisoned: poison.0,
                poisoned_first: poison.1,
                lost: poison.2,
                times: Times {
                    submitted_at_ms: (id > 9).then_some(id as i64),
                    ended_at_ms: (id > 99).then_some(tasks_done as i64),
                },
                is_archived: state.is_over() && id % 2 == 0,
            }
        },
    )
}

fn lost() -> impl Strategy<Value = Vec<LostWorkers>> {
    let maker =
        ("[!-~]{1,128}", "[!-~]{1,128}").prop_map(|(owner, machine)| Maker { owner, machine });
    let numbers = (any::<u32>(), any::<u32>(), any::<u64>(), any::<u64>());
    let one = (maker, numbers).prop_map(|(maker, (processes, threads, memory, memory_kills))| {
        LostWorkers { maker, processes, threads, memory, memory_kills }
    });
    vec(one, 0..=JobView::LOST_NAMED)
}

fn rows_root() -> impl Strategy<Value = RowsRoot> {
    any::<[u8; 32]>().prop_map(RowsRoot)
}

fn audits() -> impl Strategy<Value = (Slice, Option<AuditPolicy>, u64, u64)> {
    let slice = (1..=Slice::MOST, 1..=Slice::MOST)
        .prop_map(|(a, b)| Slice::new(a.min(b), a.max(b)).expect("it is a part"));
    let across = prop_oneof![Just(Across::Machines), Just(Across::Owners)];
    let secrets = (0..1u64 << 63, any::<u128>());
    let policy = (0..=AuditPolicy::ALL, secrets, any::<bool>(), across).prop_map(
        |(share_ppm, (seed, salt), by_search, across)| AuditPolicy {
            share_ppm,
            seed,
            salt,
            by_search,
            across,
            beacon: None,
        },
    );
    let policy =
        (policy, prop::option::of((rows_root(), "[!-~]{1,128}"))).prop_map(|(policy, beacon)| {
            match beacon {
                Some((root, value)) => {
                    let value = value.parse().expect("it is visible");
                    policy.drawn_by(Beacon { root, value })
                }
                None => policy,
            }
        });
    (slice, prop::option::of(policy), any::<u64>(), any::<u64>())
}

fn held() -> impl Strategy<Value = Held> {
    let names = [".{0,20}", ".{0,20}", ".{0,20}"];
    let suspect = (range(), any::<u64>(), names).prop_map(|(range, count, names)| {
        let [worker, owner, machine] = names;
        Suspect { range, count, worker, maker: Maker { owner, machine } }
    });
    (".{0,40}", vec(suspect, 0..=Suspect::NAMED)).prop_map(|(reason, worst)| Held { reason, worst })
}

fn plan() -> impl Strategy<Value = Plan> {
    let rows = |n| (0..=n).prop_map(|rows| Method::Rows { rows });
    let ring = |n| (1..=2u32.min(n / 2)).prop_map(|width| Method::Ring { width });
    let rows = (0..=32u32).prop_flat_map(move |n| (Just(n), rows(n)));
    let ring = (2..=32u32).prop_flat_map(move |n| (Just(n), ring(n)));
    let halves = (4..=29u32).prop_map(|n| (n, Method::Halves));
    let total = prop_oneof![rows, ring, halves].prop_flat_map(|(n, method)| {
        let problems = vec![Problem::Total { n }, Problem::Fundamental { n }];
        (prop::sample::select(problems), Just(method))
    });
    let others = (0..=32u32, 0..=5u32, any::<bool>()).prop_map(|(n, rows, torus)| {
        let method = Method::Rows { rows: rows.min(n) };
        (if torus { Problem::Toroidal { n } } else { Problem::Superqueens { n } }, method)
    });
    let given = (6..=64u32, 0..64u32, 0..64u32).prop_map(|(n, column, row)| {
        let queen = Square { column: column % n, row: row % n };
        let given = Given::new(n, &[queen]).expect("a single queen can stand anywhere");
        (Problem::Completions(given), Method::Rows { rows: 5 })
    });
    (prop_oneof![total, others, given], any::<u64>()).prop_map(|((problem, method), tasks)| Plan {
        problem,
        method,
        tasks,
    })
}

fn verdict() -> impl Strategy<Value = Verdict> {
    prop::sample::select(vec![
        Verdict::Accepted,
        Verdict::Agreed,
        Verdict::Superseded,
        Verdict::Disputed,
        Verdict::Obsolete,
        Verdict::Foreign,
        Verdict::Invalid,
    ])
}

fn fingerprint() -> impl Strategy<Value = Fingerprint> {
    any::<[u8; 32]>().prop_map(Fingerprint)
}

fn range() -> impl Strategy<Value = Range> {
    (0..u64::MAX, 1..=u64::MAX).prop_map(|(start, length)| {
        Range::new(start, start.saturating_add(length)).expect("not empty")
    })
}
