//! What workers and clients make a coordinator write: a random batch that fits what the ledger holds.

use disk::{Batch, State};
use farm::rules::{MemoryJob, execute};
use farm::{
    Across, AuditPolicy, Check, Counted, DisputeState, JobId, JobState, LedgerCommand, Origin,
    Range, Slice,
};
use histories::Random;
use ledger::{Credential, CredentialChange, Role};

use crate::counts::{TASKS, author, maker, plan, range, report, truth};

/// Who settles disputes.
pub const JUDGE: &str = "judge";
/// Who counts again.
pub const CHECKER: &str = "checker";
const MOST_JOBS: usize = 3;

/// Something that fits the state.
pub fn batch(random: &mut Random, state: &State) -> Batch {
    if random.percent(6) {
        return Batch::Credential(credential(random, state));
    }
    let mut store = state.store.clone();
    let mut commands = Vec::new();
    let wanted = random.scaled(1, 8) as usize;
    for _ in 0..200 {
        if commands.len() == wanted {
            break;
        }
        let job = store.jobs.values().nth(random.below(MOST_JOBS as u64) as usize);
        let Some(command) = command(random, job, store.jobs.len(), store.last_job) else {
            continue;
        };
        let mut changed = store.clone();
        if execute(&mut changed, &command).is_ok() {
            store = changed;
            commands.push(command);
        }
    }
    Batch::Commands(commands)
}

fn credential(random: &mut Random, state: &State) -> CredentialChange {
    let id = state.credentials.len() as u64 + 1;
    if id > 1 && random.percent(50) {
        return CredentialChange::Revoke { id: random.between(1, id - 1), at_ms: 77 };
    }
    CredentialChange::Add(Credential {
        id,
        owner: format!("owner {id}"),
        role: random.pick(&Role::ALL),
        hash: [id as u8; 32],
        created_at_ms: 5,
        expires_at_ms: random.percent(50).then_some(9),
        revoked_at_ms: None,
    })
}

fn command(
    random: &mut Random,
    job: Option<&MemoryJob>,
    jobs: usize,
    last_job: u64,
) -> Option<LedgerCommand> {
    let Some(job) = job else {
        return (jobs < MOST_JOBS).then(|| create(random, JobId(last_job + 1)));
    };
    let (id, by) = (job.job.id, "client".to_string());
    if job.job.state.is_over() {
        return over(random, job);
    }
    let party = maker(&format!("machine {}", random.below(4))).party(Across::Machines);
    let command = match random.below(100) {
        0..60 => accept(random, job)?,
        60..75 => confirm(random, job)?,
        75..83 => dispute_or_settle(random, job)?,
        83..87 => {
            let running = job.job.state == JobState::Running;
            let state = if running { JobState::Paused } else { JobState::Running };
            LedgerCommand::SetState { job: id, state, by }
        }
        87..90 => LedgerCommand::SetPriority { job: id, priority: random.below(9) as i32 - 4, by },
        90..92 => LedgerCommand::RequestAudit { job: id, policy: policy(random), by },
        92 => LedgerCommand::Distrust { party, reason: "it is old".into() },
        93 => LedgerCommand::Trust { party, reason: "it is new".into() },
        94 if random.percent(30) => {
            LedgerCommand::SetState { job: id, state: JobState::Cancelled, by }
        }
        _ => finish(job)?,
    };
    Some(command)
}

fn create(random: &mut Random, job: JobId) -> LedgerCommand {
    LedgerCommand::CreateJob {
        job,
        origin: Origin { owner: "lab".into(), key: Some(format!("job {job}")) },
        plan: plan(),
        slice: Slice::ALL,
        priority: 3,
        audit: random.percent(30).then(|| policy(random)),
    }
}

fn policy(random: &mut Random) -> AuditPolicy {
    AuditPolicy {
        share_ppm: random.pick(&[100_000, 300_000, AuditPolicy::ALL]),
        seed: random.below(1_000),
        salt: 9,
        by_search: false,
        across: Across::Machines,
        beacon: None,
    }
}

fn over(random: &mut Random, job: &MemoryJob) -> Option<LedgerCommand> {
    let id = job.job.id;
    Some(match random.below(20) {
        0 => LedgerCommand::Commit { job: id, by: "client".into() },
        1 => LedgerCommand::Unarchive { job: id },
        2 => LedgerCommand::Join { job: id, from: 0, most: 10 },
        3 => LedgerCommand::RequestAudit { job: id, policy: policy(random), by: "client".into() },
        4 => LedgerCommand::Archive { job: id, counted: Counted::default() },
        5 if job.job.state == JobState::Cancelled => {
            LedgerCommand::Remove { job: id, most: 1 + random.below(8) as usize }
        }
        _ => return None,
    })
}

/// A range of a job that nobody has counted, the truth about it or a lie.
fn accept(random: &mut Random, job: &MemoryJob) -> Option<LedgerCommand> {
    let start = random.below(TASKS);
    let covers = |range: Range, ordinal| (range.start()..range.end()).contains(&ordinal);
    let is_free = |ordinal| !job.rows.values().any(|counted| covers(counted.row.range, ordinal));
    let most = start + random.between(1, 6);
    let end = (start..most.min(TASKS)).take_while(|&ordinal| is_free(ordinal)).last()? + 1;
    let range = range(start, end);
    let (machine, error) = match random.percent(8) {
        true => (format!("liar {}", random.below(3)), random.between(1, 9)),
        false => (format!("machine {}", random.below(4)), 0),
    };
    let policy = job.policies.last();
    let audit = policy.is_some_and(|policy| policy.chooses(plan().fingerprint(), range));
    let report = report(job.job.id, "avx2", range, error);
    Some(LedgerCommand::Accept { report, author: author(&machine), audit })
}

fn confirm(random: &mut Random, job: &MemoryJob) -> Option<LedgerCommand> {
    let waits = job.rows.values().filter(|counted| counted.check == Check::Wanted);
    let waits: Vec<Range> = waits.map(|counted| counted.row.range).collect();
    let range = *waits.get(random.below(waits.len().max(1) as u64) as usize)?;
    let report = report(job.job.id, "search", range, 0);
    Some(LedgerCommand::Confirm { report, author: author(CHECKER) })
}

/// Contradicts a lie, or settles what was contradicted.
fn dispute_or_settle(random: &mut Random, job: &MemoryJob) -> Option<LedgerCommand> {
    let lies = job.rows.values().filter(|it| it.row.tally.claim() != truth(it.row.range));
    let lies: Vec<_> = lies.map(|counted| &counted.row).collect();
    let lie = *lies.get(random.below(lies.len().max(1) as u64) as usize)?;
    let mut evidence = job.evidence.iter();
    let is_open =
        evidence.any(|(row, state)| row.range == lie.range && *state == DisputeState::Open);
    Some(match is_open {
        true => LedgerCommand::Settle {
            report: report(job.job.id, "avx2", lie.range, 0),
            author: author(JUDGE),
            wrong: vec![lie.author.maker.party(Across::Machines)],
        },
        false => LedgerCommand::Dispute {
            report: report(job.job.id, "search", lie.range, 0),
            author: author(CHECKER),
        },
    })
}

/// Says the total, if it is right: whoever lies is found before.
fn finish(job: &MemoryJob) -> Option<LedgerCommand> {
    let is_sound = job.rows.values().all(|it| it.row.tally.claim() == truth(it.row.range));
    let is_open = job.evidence.iter().any(|(_, state)| *state == DisputeState::Open);
    let waits = job.rows.values().any(|counted| counted.check == Check::Wanted);
    let total = crate::counts::total();
    let is_done = is_sound && !is_open && !waits && job.job.state == JobState::Running;
    is_done.then_some(LedgerCommand::Finish { job: job.job.id, tasks: TASKS, total })
}
