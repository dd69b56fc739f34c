//! Tests of whose counts decide a dispute: those of two owners, those of one owner about its own
//! machine, or those of a worker that the operator trusts.

use farm::{
    AuditPolicy, AuditScope, Dismissal, Effect, Event, JobId, JobState, Known, Party, Report,
    Request, RequestId, SessionId, Verdict,
};

use crate::scene::{
    AUDIT_ALL, Scene, asked, asked_again, audit, audits, change, checked_count, hello, kernel,
    plan, proven, range, report, spec,
};

/// A job of 4 tasks, all of which are counted again.
struct Case {
    scene: Scene,
    job: JobId,
}

impl Case {
    fn new(across: AuditScope) -> Case {
        let mut scene = Scene::new();
        let policy = AuditPolicy { across, ..AUDIT_ALL };
        let job = scene.submit_spec(spec(plan(4)), Some(policy), Known::nothing());
        Case { scene, job }
    }

    fn join(&mut self, owner: &str, worker: &str, is_trusted: bool, credit: u64) -> SessionId {
        let hello = hello(worker, credit);
        let session = SessionId(hello.instance);
        self.scene.act(Event::Joined { session, owner: owner.into(), is_trusted, hello });
        session
    }

    /// A machine of `owner` reports a count of the range that is `more` too high: the first count,
    /// or a recount with another kernel.
    fn says(&mut self, owner: &str, worker: &str, more: u64) -> Option<Verdict> {
        let is_first = self.scene.state(self.job).1 == 0;
        let session = self.join(owner, worker, false, 0);
        self.count(session, owner, more, is_first)
    }

    fn count(
        &mut self,
        session: SessionId,
        owner: &str,
        more: u64,
        is_first: bool,
    ) -> Option<Verdict> {
        let of = report(self.job, plan(4), range(0, 4));
        let checked_count = checked_count(plan(4), range(0, 4), more);
        let kernel = kernel(if is_first { "portable" } else { "reference" });
        let of = Report { checked_count, kernel, ..of };
        let of = if is_first { of } else { asked_again(of) };
        self.scene.report_as_is(session, proven(of, owner))
    }

    fn total(&self) -> (JobState, u128) {
        self.scene.state(self.job)
    }

    fn disputed(&self) -> String {
        self.scene.farm.job(self.job).and_then(|job| job.disputed).expect("it is disputed")
    }

    fn distrusted(&self) -> Vec<String> {
        self.scene.farm.distrusted().map(Party::to_string).collect()
    }

    /// Whether a new machine of this owner is leased the disputed range.
    fn asks(&mut self, owner: &str, worker: &str, is_trusted: bool) -> bool {
        let session = self.join(owner, worker, is_trusted, 10);
        let asked = self.scene.leases(session).iter().any(|lease| lease.recount.is_some());
        self.scene.act(Event::Left(session));
        asked
    }
}

#[test]
fn machines_of_one_owner_only_open_a_dispute_with_another_owner() {
    for across in [AuditScope::Machines, AuditScope::Owners] {
        // Given two invented machines that contradict another owner's count
        let mut case = Case::new(across);
        case.says("rack7", "w1", 0);
        assert_eq!(case.says("mallory", "w2", 8), Some(Verdict::Disputed));
        assert_eq!(case.says("mallory", "w3", 8), Some(Verdict::Disputed));

        // Then nobody is distrusted, and a third machine of this owner is neither asked nor heard.
        assert_eq!((case.total(), case.distrusted()), ((JobState::Running, 4), vec![]));
        assert!(!case.asks("mallory", "w4", false), "{across:?}");
        assert_eq!(case.says("mallory", "w5", 8), Some(Verdict::Superseded));
        assert!(case.asks("rack7", "w6", false) && case.asks("rack8", "w7", false));
        let said = case.disputed();
        let asked = "a worker of another owner, of another machine of rack7, or one with a trusted \
                     credential: `queens token create --role worker --trusted`";
        assert!(said.ends_with(asked), "{said}");
        assert!(said.contains("by rack7/w1, mallory/w2, mallory/w3;"), "{said}");

        // When a second owner agrees with the first, even after the audit was withdrawn
        let nothing = AuditPolicy { share_ppm: 0, ..AUDIT_ALL };
        case.scene.act(change(RequestId(9), case.job, audit(nothing)));
        case.says("rack8", "w8", 0);

        // Then the dispute is settled, and the liars are distrusted.
        let machines = ["mallory/w2", "mallory/w3"].map(String::from).to_vec();
        let wrong = if across == AuditScope::Owners { vec!["mallory".into()] } else { machines };
        assert_eq!((case.total(), case.distrusted()), ((JobState::Done, 4), wrong));
    }
}

#[test]
fn only_the_corrected_machine_of_an_owner_is_distrusted() {
    for across in [AuditScope::Machines, AuditScope::Owners] {
        let mut case = Case::new(across);
        case.says("rack7", "w1", 5);
        case.says("rack8", "w2", 0);

        case.says("rack7", "w3", 0);

        assert_eq!(case.total(), (JobState::Done, 4), "{across:?}");
        assert_eq!(case.distrusted(), ["rack7/w1"]);
    }
}

#[test]
fn an_owner_alone_decides_about_its_own_machine() {
    let mut case = Case::new(AuditScope::Machines);
    for (worker, more) in [("w1", 5), ("w2", 6), ("w3", 0)] {
        case.says("rack7", worker, more);
        assert!(case.distrusted().is_empty(), "no two machines agree");
    }

    case.says("rack7", "w4", 0);

    assert_eq!(case.total(), (JobState::Done, 4));
    assert_eq!(case.distrusted(), ["rack7/w1", "rack7/w2"]);
}

#[test]
fn one_owner_alone_invalidates_no_count_of_two_owners() {
    // Given: machines of two owners have confirmed each other, and mallory's machine has also
    // counted a job that no other owner has confirmed.
    let mut case = Case::new(AuditScope::Machines);
    case.says("rack7", "w1", 0);
    case.says("mallory", "w2", 0);
    let theirs = std::mem::replace(&mut case.job, case.scene.submit_audited(4));
    case.says("mallory", "w3", 0);
    case.says("rack7", "w4", 0);
    let alone = std::mem::replace(&mut case.job, case.scene.submit(4, 0));
    case.says("mallory", "w2", 0);
    case.says("mallory", "w3", 0);
    let first = std::mem::replace(&mut case.job, case.scene.submit_audited(4));
    assert_eq!(case.scene.state(first).0, JobState::Done);

    // When mallory's machines prove one of themselves wrong
    case.says("mallory", "w2", 1);
    case.says("mallory", "w5", 0);
    case.says("mallory", "w6", 0);
    assert_eq!(case.distrusted(), ["mallory/w2"]);

    // Then only the counts that rest on mallory's word alone are invalidated.
    for agreed in [theirs, alone] {
        assert_eq!(
            (case.scene.state(agreed).0, audits(&case.scene, agreed)),
            (JobState::Done, (0, 1))
        );
    }
    assert_eq!(case.scene.state(first), (JobState::Running, 0));
}

#[test]
fn a_recount_by_a_trusted_worker_settles_a_dispute_alone() {
    for trusted_owner in ["admin", "mallory"] {
        let mut case = Case::new(AuditScope::Owners);
        case.says("rack7", "w1", 0);
        for worker in ["w2", "w3"] {
            case.says("mallory", worker, 8);
        }
        assert!(case.asks(trusted_owner, "w4", true), "{trusted_owner}");
        let judge = case.join(trusted_owner, "w5", true, 0);

        case.count(judge, trusted_owner, 0, false);

        let wrong = if trusted_owner == "admin" {
            vec!["mallory".to_string()]
        } else {
            vec!["mallory/w2".to_string(), "mallory/w3".to_string()]
        };
        assert_eq!((case.total(), case.distrusted()), ((JobState::Done, 4), wrong));
    }
}

#[test]
fn a_trusted_contradiction_settles_and_awaits_a_second_count() {
    let mut case = Case::new(AuditScope::Owners);
    case.says("rack7", "w1", 8);
    let judge = case.join("admin", "w2", true, 0);

    case.count(judge, "admin", 0, false);

    assert_eq!(
        (case.total(), case.distrusted()),
        ((JobState::Running, 4), vec!["rack7/w1".into()])
    );
    assert_eq!(audits(&case.scene, case.job), (1, 0));
    let dismissed = Effect::Dismiss(SessionId(1), Dismissal::Distrusted);
    assert!(case.scene.sent.contains(&dismissed));
    let second = case.join("rack8", "w3", false, 0);
    let of = report(case.job, plan(4), range(0, 4));
    case.scene.report_as_is(second, proven(asked_again(of), "rack8"));
    assert_eq!(case.total(), (JobState::Done, 4));
}

#[test]
fn a_restart_does_not_change_how_a_dispute_is_decided() {
    let mut case = Case::new(AuditScope::Owners);
    case.says("rack7", "w1", 0);
    case.says("mallory", "w2", 8);
    let said = case.disputed();

    case.scene.restart();

    assert_eq!(case.disputed(), said);
    case.says("mallory", "w3", 8);
    assert_eq!((case.total(), case.distrusted()), ((JobState::Running, 4), vec![]));
    case.says("rack7", "w4", 0);
    assert_eq!(case.total(), (JobState::Running, 4), "one owner against another");
    case.says("rack8", "w5", 0);
    assert_eq!((case.total(), case.distrusted()), ((JobState::Done, 4), vec!["mallory".into()]));
}

#[test]
fn a_row_whose_two_authors_are_distrusted_is_invalidated() {
    for machines in [[None, None], [Some("w1"), Some("w2")]] {
        let mut case = Case::new(AuditScope::Owners);
        case.says("rack7", "w1", 0);
        case.says("rack8", "w2", 0);
        let first = std::mem::replace(&mut case.job, case.scene.submit_audited(4));
        for (owner, machine) in ["rack7", "rack8"].into_iter().zip(machines) {
            assert_eq!(
                case.scene.state(first),
                (JobState::Done, 4),
                "before {owner} is distrusted"
            );
            let party = Party { owner: owner.into(), machine: machine.map(String::from) };
            let (request, reason) = (RequestId(5), "a trial".into());
            case.scene.act(asked(request, Request::Trust { party, trusted: false, reason }));
        }
        assert_eq!(case.scene.state(first), (JobState::Running, 0), "{machines:?}");
    }
}

#[test]
fn an_owner_with_two_wrong_machines_is_distrusted() {
    let mut case = Case::new(AuditScope::Owners);
    for (wrong, worker) in [("rack7/w1", "w1"), ("rack7", "w4")] {
        case.says("rack7", worker, 5);
        case.says("rack8", "w2", 0);
        case.says("rack9", "w3", 0);
        assert_eq!(case.total(), (JobState::Done, 4));
        assert!(case.distrusted().contains(&wrong.into()), "{:?}", case.distrusted());
        let policy = AuditPolicy { across: AuditScope::Owners, ..AUDIT_ALL };
        case.job = case.scene.submit_spec(spec(plan(4)), Some(policy), Known::nothing());
    }
}

#[test]
fn what_is_left_of_a_wrong_machine_waits_even_if_the_audit_is_withdrawn() {
    // Given: two machines of one owner agree, then one of them is distrusted.
    let mut case = Case::new(AuditScope::Machines);
    case.says("rack7", "w1", 0);
    assert_eq!(case.says("rack7", "w2", 0), Some(Verdict::Agreed));
    let party = Party { owner: "rack7".into(), machine: Some("w1".into()) };
    let (trusted, reason) = (false, "broken memory".into());
    case.scene.act(asked(RequestId(7), Request::Trust { party, trusted, reason }));
    assert_eq!(case.total(), (JobState::Done, 4), "the other machine agreed");

    // When an audit across owners is asked for, and then none
    let across = AuditPolicy { across: AuditScope::Owners, ..AUDIT_ALL };
    for (request, policy) in [(8, across), (9, AuditPolicy { share_ppm: 0, ..across })] {
        case.scene.act(change(RequestId(request), case.job, audit(policy)));
        assert_eq!(case.total().0, JobState::Done);
        assert_eq!(audits(&case.scene, case.job), (1, 0), "the count does not stand by itself");
    }

    // Then another owner counts it again.
    assert!(case.asks("rack8", "w3", false));
    assert_eq!(case.says("rack8", "w4", 0), Some(Verdict::Agreed));
    assert_eq!((case.total(), audits(&case.scene, case.job)), ((JobState::Done, 4), (0, 1)));
}

/// An owner sees from its reports of single tasks which ranges a sampling audit chooses.
#[test]
fn an_owner_of_whom_a_machine_was_wrong_is_audited_completely() {
    const TASKS: u64 = 40;
    let mut scene = Scene::new();
    let across = AuditScope::Owners;
    let policy = AuditPolicy { share_ppm: AuditPolicy::ALL / 4, across, ..AUDIT_ALL };
    let job = scene.submit_spec(spec(plan(TASKS)), Some(policy), Known::nothing());
    let one = |task| range(task, task + 1);
    let chosen: Vec<u64> =
        (0..TASKS).filter(|&task| policy.chooses(plan(TASKS).fingerprint(), one(task))).collect();
    assert!((1..TASKS / 2).contains(&(chosen.len() as u64)), "{chosen:?}");
    let join = |scene: &mut Scene, owner: &str, worker: &str| {
        let session = SessionId(worker[1..].parse().expect("w1, w2, …"));
        scene.join_as(session, owner, hello(worker, 0));
        session
    };
    let says = |scene: &mut Scene, (owner, worker): (&str, &str), task, more| {
        let checked_count = checked_count(plan(TASKS), one(task), more);
        let of = Report { checked_count, ..report(job, plan(TASKS), one(task)) };
        let session = join(scene, owner, worker);
        scene.report_as_is(session, proven(of, owner))
    };
    let wanted = |scene: &Scene| audits(scene, job).0;

    // Given: a machine of mallory's reports wrong counts, and two owners prove it wrong.
    for task in 0..TASKS {
        says(&mut scene, ("mallory", "w1"), task, 1);
    }
    assert_eq!(wanted(&scene), chosen.len() as u64);
    for (owner, worker) in [("rack7", "w2"), ("rack8", "w3")] {
        let of = Report { kernel: kernel("reference"), ..report(job, plan(TASKS), one(chosen[0])) };
        let session = join(&mut scene, owner, worker);
        scene.report_as_is(session, proven(asked_again(of), owner));
    }
    assert_eq!(scene.farm.distrusted().map(Party::to_string).collect::<Vec<_>>(), ["mallory/w1"]);
    assert_eq!(wanted(&scene), 0, "mallory's other counts are taken back");

    // When another machine of mallory's reports ranges that the policy does not choose, also after
    // a restart
    let mut others = (0..TASKS).filter(|task| !chosen.contains(task));
    let mut next = || others.next().expect("most are not chosen");
    for _ in 0..4 {
        let task = next();
        assert_eq!(says(&mut scene, ("mallory", "w4"), task, 1), Some(Verdict::Accepted));
    }
    scene.restart();
    says(&mut scene, ("mallory", "w5"), next(), 1);

    // Then each of them is counted again, and none was joined with another. What others report is
    // chosen by the policy alone.
    assert_eq!(wanted(&scene), 5);
    says(&mut scene, ("rack7", "w6"), next(), 0);
    says(&mut scene, ("mallory2", "w7"), next(), 0);
    assert_eq!(wanted(&scene), 5);

    // When the machine is trusted again, mallory's counts are sampled again.
    let party = Party { owner: "mallory".into(), machine: Some("w1".into()) };
    let trust = Request::Trust { party, trusted: true, reason: "repaired".into() };
    scene.act(asked(RequestId(8), trust));
    says(&mut scene, ("mallory", "w8"), next(), 0);
    assert_eq!(wanted(&scene), 5);
}
