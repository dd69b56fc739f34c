//! Checks that each end reads what the other end writes, and that no input crashes it.

mod messages;

use board::{Prefix, Task};
use farm::{
    CoordinatorMessage, Fingerprint, Hello, Holding, JobId, Lease, LeaseId, LeaseKind, LeaseToken,
    Plan, Problem, Range, Report, TaskCounts, TasksBlock, WorkerMessage,
};
use proptest::prelude::*;
use prost::Message as _;
use service::wire::{MAX_MESSAGE_BYTES, MAX_TASKS_PER_MESSAGE, PROTOCOL, v1};

use messages::*;

proptest! {
    #[test]
    fn messages_of_a_worker_arrive(message in message()) {
        let bytes = v1::WorkRequest::from(message.clone()).encode_to_vec();
        let read = v1::WorkRequest::decode(bytes.as_slice()).expect("it was just encoded");
        prop_assert_eq!(WorkerMessage::try_from(read), Ok(message));
    }

    #[test]
    fn messages_to_a_worker_arrive(order in order()) {
        let bytes = v1::WorkResponse::from(order.clone()).encode_to_vec();
        let read = v1::WorkResponse::decode(bytes.as_slice()).expect("it was just encoded");
        prop_assert_eq!(CoordinatorMessage::try_from(read), Ok(order));
    }

    /// The bytes are almost a message.
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

    /// The fingerprint covers every field of a plan, so no field can change unnoticed.
    #[test]
    fn an_altered_plan_is_refused(plan in plan(), other in plan()) {
        let mut altered = v1::Plan::from(&plan);
        let other = v1::Plan::from(&other);
        (altered.problem, altered.method, altered.tasks) = (other.problem, other.method, other.tasks);
        if let Ok(read) = Plan::try_from(altered) {
            prop_assert_eq!(read, plan);
        }
    }
}

#[test]
fn a_plan_that_does_not_suit_its_problem_is_refused() {
    let cuts = [
        (8, "rows", Some(9), "rows"),
        (8, "rows", None, "method"),
        (8, "prefixes", Some(9), "rows"),
        (3, "colours", None, "n"),
        (33, "colours", None, "n"),
        (8, "colours", Some(1), "method"),
        (8, "columns", None, "method"),
    ];
    for (n, method, parameter, field) in cuts {
        let plan = v1::Plan {
            problem: Some(Problem::Total { n }.into()),
            method: Some(v1::Method { name: method.into(), parameter }),
            tasks: 1,
            fingerprint: vec![0; 32],
        };
        let refused = Plan::try_from(plan).expect_err("there is no such cut");
        assert!(refused.to_string().contains(field), "{refused}");
    }
}

/// Decodes `bytes` as each message that an end may receive.
fn read_all(bytes: &[u8]) {
    let _ = v1::WorkRequest::decode(bytes).map(WorkerMessage::try_from);
    let _ = v1::WorkResponse::decode(bytes).map(CoordinatorMessage::try_from);
}

#[test]
fn the_largest_messages_fit_the_limit() {
    let range = Range::new(u64::MAX - 1, u64::MAX).expect("not empty");
    let fingerprint = Fingerprint([0xff; 32]);
    let token = LeaseToken::new(range, LeaseKind::Recount, [0xff; 16]);
    let (lease, job) = (LeaseId(u64::MAX), JobId(u64::MAX));
    let holding = Holding { lease, job, fingerprint, range, token };
    let hello = WorkerMessage::Hello(Hello {
        worker: "w".repeat(128),
        machine: "m".repeat(128),
        build: "b".repeat(128),
        backend: "k".repeat(128),
        instance: u64::MAX,
        threads: 4096,
        credit: u64::MAX,
        holding: vec![holding; Hello::MAX_HOLDINGS],
        methods: board::MethodChoice::all().collect(),
    });
    let tasks = MAX_TASKS_PER_MESSAGE;
    let record = Prefix { left: u32::MAX, down: u32::MAX, right: u32::MAX };
    let block = CoordinatorMessage::Tasks(TasksBlock {
        lease: LeaseId(u64::MAX),
        start: u64::MAX - tasks as u64,
        tasks: vec![Task { record, weight: 8 }; tasks],
    });
    assert!(v1::WorkRequest::from(hello).encoded_len() <= MAX_MESSAGE_BYTES);
    assert!(v1::WorkResponse::from(block).encoded_len() <= MAX_MESSAGE_BYTES);
}

/// The name of a worker appears in logs, tables and ledgers.
#[test]
fn impossible_names_of_a_worker_are_refused() {
    let hello = v1::Hello {
        protocol: PROTOCOL,
        worker: "rack7-0042".into(),
        machine: "rack7".into(),
        threads: 1,
        build: "1.2.3+dirty".into(),
        backend: "avx512".into(),
        ..Default::default()
    };
    assert!(Hello::try_from(hello.clone()).is_ok());
    let too_long = "w".repeat(farm::MAX_TEXT + 1);
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

/// A report of one task that counts nothing.
fn encoded_report() -> v1::Report {
    let range = Range::new(0, 1).expect("not empty");
    let token = LeaseToken::new(range, LeaseKind::Count, [0; 16]);
    v1::Report {
        lease: 1,
        job: 1,
        fingerprint: vec![0; 32],
        range: Some(range.into()),
        digest: vec![0; 16],
        kernel: "portable".into(),
        token: token.bytes.to_vec(),
        ..Default::default()
    }
}

#[test]
fn an_impossible_report_is_refused_and_its_texts_are_escaped() {
    assert!(Report::try_from(encoded_report()).is_ok());
    let report = encoded_report;
    let numbers = [
        v1::Report { lease: 1 << 63, ..report() },
        v1::Report { residue: 1 << 63, ..report() },
        v1::Report { job: u64::MAX, ..report() },
        v1::Report { task_counts: vec![1; TaskCounts::MOST + 1], ..report() },
    ];
    let tokens = [Vec::new(), vec![0; 32], vec![1; 34]];
    let tokens = tokens.map(|token| v1::Report { token, ..report() });
    let sums = [&[4][..], &[0, 0], &[2, 3]];
    let sums = sums.map(|counts| v1::Report { task_counts: counts.to_vec(), ..report() });
    let endless = "k".repeat(1 << 16);
    let kernels = ["", "avx9", "AVX2", "avx2 ", "\x1b]0;owned\x07", "avx2\nforged", &endless];
    let kernels = kernels.map(|kernel| v1::Report { kernel: kernel.into(), ..report() });
    for (wrong, said) in [
        (&numbers[..], "out of bounds"),
        (&sums, "with the counts of its tasks"),
        (&tokens, "`token`"),
        (&kernels, "the kernel \""),
    ] {
        for report in wrong {
            let refused = Report::try_from(report.clone()).expect_err(said).to_string();
            let is_harmless = |c: char| c.is_ascii() && !c.is_ascii_control();
            assert!(refused.chars().all(is_harmless) && refused.len() < 300, "{refused}");
            assert!(refused.contains(said), "{refused}");
        }
    }
}

#[test]
fn an_impossible_weight_of_a_task_is_refused() {
    for weight in 0..=u8::MAX {
        let masks = || vec![0];
        let (left, down, right) = (masks(), masks(), masks());
        let tasks = v1::Tasks { lease: 1, start: 0, left, down, right, weight: vec![weight] };
        assert_eq!(TasksBlock::try_from(tasks).is_ok(), (1..=64).contains(&weight), "{weight}");
    }
}

/// Others write coordinators, whose tokens have another form.
#[test]
fn a_worker_takes_any_33_bytes_for_a_token_and_repeats_them() {
    let plan = Plan { problem: Problem::Total { n: 8 }, method: board::Method::Colours, tasks: 35 };
    let range = Range::new(3, 9).expect("not empty");
    for token in [vec![0; 33], vec![255; 33], (1..=33).collect()] {
        for recount in [None, Some(v1::Recount { unlike: String::new(), by_reference: false })] {
            let is_recount = recount.is_some();
            let (plan, ordinals) = (Some((&plan).into()), Some(range.into()));
            let (id, job, token) = (1, 1, token.clone());
            let lease = v1::Lease { id, job, plan, range: ordinals, token: token.clone(), recount };
            let lease = Lease::try_from(lease).expect("it need not understand the token");
            assert_eq!((lease.token.range, lease.token.is_recount()), (range, is_recount));
            let held = v1::Holding::from(Holding::of_lease(&lease));
            assert_eq!(held.token, token);
        }
    }
}

#[test]
fn a_worker_that_knows_a_method_which_does_not_exist_is_refused() {
    let methods = |methods: &[&str]| {
        let methods = methods.iter().map(ToString::to_string).collect();
        let (worker, machine) = ("w".into(), "m".into());
        let (protocol, threads) = (PROTOCOL, 1);
        let hello = v1::Hello { protocol, worker, machine, threads, methods, ..Default::default() };
        Hello::try_from(hello)
    };
    assert!(methods(&[]).is_ok() && methods(&["rows", "prefixes", "colours"]).is_ok());
    for wrong in [&["columns"][..], &["Rows"], &["rows", ""], &["rows"; 4]] {
        let refused = methods(wrong).expect_err("there is no such method").to_string();
        assert!(refused.contains("`methods`"), "{refused}");
    }
}

/// Others write workers from the text of the protocol.
#[test]
fn the_text_of_the_protocol_names_its_version() {
    let text = include_str!("../../../../proto/queens/v1/farm.proto");
    let version = format!("This is version {} of the protocol.", PROTOCOL);
    assert!(text.contains(&version), "farm.proto does not say: {version}");
}
