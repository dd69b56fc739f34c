//! A history of one ledger: its lives, what befalls it, and whether it may be as it is.

use std::fs;
use std::path::{Path, PathBuf};

use disk::{Disk, Fault, Random};
use farm::{
    Across, JobId, JobState, LedgerAnswer, LedgerCommand, Mark, Range, RestoredJob, Row, Standing,
};
use ledger::{CheckedLedger, FaultKind, Ledger, LedgerFault};
use tempfile::TempDir;

use crate::clients::{self, CHECKER, JUDGE};
use crate::counts::{TASKS, author, report, total, truth};
use crate::model::{Batch, Content, State};
use crate::tally::Tally;

/// What a seed's disk may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weather {
    /// It fails and says so, and a log may vanish.
    Honest,
    /// It lies when it writes.
    Lying,
    /// What it has may rot.
    Rotting,
}

pub struct History {
    traced: bool,
    random: Random,
    weather: Weather,
    _folder: TempDir,
    path: PathBuf,
    disk: Disk,
    /// All states that were durable, the present one last.
    past: Vec<State>,
    /// What the ledger may hold too, because it was being written when its life ended.
    in_flight: Option<State>,
    /// What a client shows.
    mark: Option<Mark>,
    epoch: u64,
    /// Whether calls have failed in this life.
    has_failed: bool,
    /// Whether the disk has lied.
    has_lied: bool,
    /// Whether the ledger holds something that it never held before.
    is_mixed: bool,
    tally: Tally,
}

/// How a life goes on.
enum Opened {
    Open(Box<Ledger>),
    /// A call failed, which is no fault of the ledger.
    Failed,
    /// The ledger was refused for what the disk has done to it.
    Refused,
}

impl History {
    pub fn new(seed: u64, traced: bool) -> History {
        let mut random = Random::new(seed);
        let weather = match random.below(100) {
            0..60 => Weather::Honest,
            60..80 => Weather::Lying,
            _ => Weather::Rotting,
        };
        let folder = match Path::new("/dev/shm") {
            memory if memory.is_dir() => TempDir::new_in(memory),
            _ => TempDir::new(),
        };
        let folder = folder.expect("a temporary directory");
        let disk = Disk::under(folder.path(), random.number());
        let path = folder.path().canonicalize().expect("it is there").join("ledger.db");
        History {
            traced,
            random,
            weather,
            _folder: folder,
            path,
            disk,
            past: vec![State::default()],
            in_flight: None,
            mark: None,
            epoch: 0,
            has_failed: false,
            has_lied: false,
            is_mixed: false,
            tally: Tally::default(),
        }
    }

    /// Lives through all of it.
    ///
    /// # Panics
    ///
    /// If anything is not as it should be.
    pub fn live(mut self) -> Tally {
        self.trace(|| "begins".into());
        for _ in 0..self.random.between(2, 5) {
            self.plan_trouble();
            if !self.life() {
                return self.tally;
            }
            if !self.befall() {
                return self.tally;
            }
        }
        self.disk.calm();
        if self.last_life() {
            self.tally.finished += 1;
        }
        self.tally
    }

    /// Plans a fault for this life, of which most of the calls open and close the ledger.
    fn plan_trouble(&mut self) {
        let random = &mut self.random;
        let lies = self.weather == Weather::Lying && !self.has_lied && random.percent(60);
        let fault = match random.below(12) {
            _ if lies => random.pick(&[
                Fault::LossySyncError,
                Fault::LostWrite,
                Fault::LostWrite,
                Fault::Misdirected,
            ]),
            0..4 => Fault::Stop,
            4 => Fault::ReadError,
            5 => Fault::WriteError,
            6 => Fault::SyncError,
            7 => Fault::Full { writes: random.scaled(1, 20) },
            _ => return,
        };
        let opening = match fault {
            Fault::SyncError | Fault::LossySyncError => 8,
            Fault::ReadError => 60,
            _ => 25,
        };
        let first = random.pick(&[0, opening]);
        let spared = random.between(first, first + 3 * opening);
        self.trace(|| format!("{fault:?} is planned after {spared} calls"));
        self.disk.plan(fault, spared);
    }

    /// A life of the coordinator, up to the next time that it can start. Returns whether there is one.
    fn life(&mut self) -> bool {
        self.tally.lives += 1;
        self.has_failed = false;
        let ledger = match self.open() {
            Opened::Open(ledger) => ledger,
            Opened::Failed => {
                self.tally.failed_openings += 1;
                self.start_again();
                return true;
            }
            Opened::Refused => return false,
        };
        for _ in 0..self.random.scaled(1, 12) {
            let state = self.past.last().expect("there is a first one");
            let batch = clients::batch(&mut self.random, state);
            match self.write(&ledger, &batch) {
                Ok(true) => {}
                Ok(false) => {
                    self.tally.failed_batches += 1;
                    drop(ledger);
                    self.start_again();
                    return true;
                }
                Err(()) => return false,
            }
            if self.is_mixed {
                break;
            }
        }
        if self.random.percent(30) {
            match ledger.close() {
                Ok(_) => {
                    self.note_strikes();
                    self.tally.closed += 1;
                    // It may have been stopped where nothing depended on it any more.
                    if self.has_failed || self.random.percent(50) {
                        self.start_again();
                    }
                }
                Err(fault) => {
                    self.trace(|| format!("not closed: {fault}"));
                    if !self.explain(&fault) {
                        self.tally.refused_writing += 1;
                        return false;
                    }
                    self.start_again();
                }
            }
            return true;
        }
        self.disk.stop();
        drop(ledger);
        self.start_again();
        true
    }

    /// The process has ended in the middle of something, by itself or because it was killed.
    fn start_again(&mut self) {
        match self.random.percent(60) {
            true => self.cut_power(),
            false => {
                self.trace(|| "the process is gone".into());
                self.tally.kills += 1;
                self.disk.restart();
            }
        }
    }

    fn cut_power(&mut self) {
        self.trace(|| "the power fails".into());
        self.tally.power_cuts += 1;
        self.disk.restart_after_power_cut();
    }

    /// What happens to the files while nobody uses them. Returns whether the history goes on.
    fn befall(&mut self) -> bool {
        let log = self.log();
        let rots = self.weather == Weather::Rotting && !self.has_lied;
        if rots && self.path.exists() && self.random.percent(40) {
            let has_log = fs::metadata(&log).is_ok_and(|log| log.len() > 0);
            let is_log = has_log && self.random.percent(50);
            let file = if is_log { log } else { self.path.clone() };
            self.rot(&file);
        } else if self.random.percent(5) && log.exists() {
            return self.vanish(&log);
        }
        true
    }

    fn rot(&mut self, file: &Path) {
        let random = &mut self.random;
        let is_log = file != self.path;
        let mut what = String::new();
        self.disk.alter(file, |content| {
            let Some(last) = (content.len() as u64).checked_sub(1) else { return };
            let at = random.between(0, last) as usize;
            if random.percent(80) {
                content[at] ^= 1 << random.below(8);
                what = format!("a bit of byte {at}");
            } else {
                let sector = at / 512 * 512;
                let end = content.len().min(sector + 512);
                content[sector..end].fill(0);
                what = format!("the sector at {sector}");
            }
        });
        if what.is_empty() {
            return;
        }
        self.has_lied = true;
        self.trace(|| format!("{what} of {} rots", file.display()));
        match is_log {
            true => self.tally.rotten_logs += 1,
            false => self.tally.rotten_ledgers += 1,
        }
    }

    fn vanish(&mut self, log: &Path) -> bool {
        let content = self.disk.lose(log).expect("it is there");
        self.trace(|| format!("the log of {} bytes vanishes", content.len()));
        self.tally.vanished += 1;
        self.disk.calm();
        match self.open_unjudged() {
            Ok(ledger) => {
                let opened = self.judge(ledger);
                self.disk.stop();
                drop(match opened {
                    Opened::Open(ledger) => ledger,
                    Opened::Failed | Opened::Refused => return false,
                });
                self.start_again();
            }
            Err(fault) => {
                self.trace(|| format!("refused: {fault}"));
                let is_said = fault.to_string().contains("are missing: put that file beside it");
                if !self.has_lied {
                    // The page that says that it was closed may be half written: then it is damaged without its log.
                    assert!(is_said || fault.kind() == FaultKind::Damaged, "{fault}");
                } else if !is_said {
                    return self.refused(&fault);
                }
                self.disk.bring_back(log, &content);
                self.tally.missed += 1;
            }
        }
        true
    }

    fn open(&mut self) -> Opened {
        match self.open_unjudged() {
            Ok(ledger) => self.judge(ledger),
            Err(fault) => {
                self.trace(|| format!("not opened: {fault}"));
                match self.explain(&fault) {
                    true => Opened::Failed,
                    false => {
                        self.tally.refused_opening += 1;
                        Opened::Refused
                    }
                }
            }
        }
    }

    fn open_unjudged(&mut self) -> Result<Ledger, LedgerFault> {
        CheckedLedger::open(&self.path).and_then(CheckedLedger::begin)
    }

    /// Compares what a ledger holds with what it must hold.
    fn judge(&mut self, mut ledger: Ledger) -> Opened {
        let content = match Content::of(&ledger) {
            Ok(content) => content,
            Err(fault) => {
                self.trace(|| format!("not read: {fault}"));
                match self.explain(&fault) {
                    true => return Opened::Failed,
                    false => {
                        self.tally.refused_reading += 1;
                        return Opened::Refused;
                    }
                }
            }
        };
        self.note_strikes();
        let history = ledger.history();
        let standing = self.mark.map_or(Standing::Contained, |mark| history.standing(&mark));
        let decided = self.mark.map_or(0, |mark| mark.decisions);
        assert!(standing == Standing::Later || history.decisions >= decided, "{history:?}");
        let in_flight = self.in_flight.take().filter(|state| state.content() == content);
        let epoch = ledger.take_restored().epoch;
        let is_exact = content == self.present().content() || in_flight.is_some();
        if standing == Standing::Later {
            assert!(self.has_lied, "{history:?} lacks {:?}", self.mark);
            self.trace(|| "the mark tells that it is an older state".into());
            self.tally.older_refused += 1;
            return Opened::Refused;
        }
        if is_exact {
            self.trace(|| format!("exact, opening {epoch}"));
            self.tally.exact += 1;
            if self.present().content() != content {
                self.tally.in_flight += 1;
                self.past.extend(in_flight);
            }
            if !self.has_lied {
                assert!(epoch > self.epoch, "opened as {epoch} after {}", self.epoch);
            }
        } else {
            assert!(
                self.has_lied,
                "the ledger holds {content:#?}\nand must hold {:#?}",
                self.present().content()
            );
            self.judge_unlike(&content);
        }
        self.epoch = epoch;
        self.mark = history.mark();
        Opened::Open(Box::new(ledger))
    }

    /// What may be in a ledger that has lost something although nobody notices.
    fn judge_unlike(&mut self, content: &Content) {
        let is_decided = self.present().content().decisions() == content.decisions();
        let older = self.past.iter().rposition(|state| state.content() == *content);
        if let Some(older) = older.filter(|_| is_decided) {
            self.trace(|| format!("{} batches of counts are lost", self.past.len() - 1 - older));
            let is_end = self.past.len() - 1 - older <= 2;
            assert!(is_end || self.tally.rotten_logs == 0, "the middle of a log is lost");
            self.past.truncate(older + 1);
            self.tally.counted_again += 1;
            return;
        }
        self.trace(|| format!("{content:#?}\ninstead of {:#?}", self.present().content()));
        self.is_mixed = true;
        match is_decided {
            true => self.tally.mixed_counts += 1,
            false => self.tally.mixed_decisions += 1,
        }
        for (job, rows) in &content.rows {
            for row in rows {
                let was_there = self.past.iter().any(|state| holds(state, *job, row));
                assert!(was_there, "nobody has counted {row:?}");
            }
        }
    }

    /// Writes a batch. Returns whether it is durable, or that the ledger is refused.
    fn write(&mut self, ledger: &Ledger, batch: &Batch) -> Result<bool, ()> {
        self.trace(|| format!("{batch:?}"));
        let (next, expected) = self.present().after(batch);
        let written = batch.write(ledger);
        self.note_strikes();
        match written {
            Ok(answers) => {
                self.tally.batches += 1;
                if !self.has_lied {
                    assert_eq!(answers, expected);
                }
                self.past.push(next);
                self.mark = ledger.history().mark();
                Ok(true)
            }
            Err(fault) => {
                self.trace(|| format!("not written: {fault}"));
                self.in_flight = Some(next);
                match self.explain(&fault) {
                    true => Ok(false),
                    false => {
                        self.tally.refused_writing += 1;
                        Err(())
                    }
                }
            }
        }
    }

    /// Whether a fault comes from a call that has failed. Otherwise the ledger is refused for good reason.
    fn explain(&mut self, fault: &LedgerFault) -> bool {
        self.note_strikes();
        let text = fault.to_string();
        let words = [
            "disk I/O error",
            "database or disk is full",
            "unable to open database file",
            "the disk fails or is full",
        ];
        let is_io = words.iter().any(|words| text.contains(words));
        if self.has_failed && is_io {
            return true;
        }
        self.refused(fault)
    }

    /// Asserts that a ledger may be refused with this fault. Returns `false`.
    ///
    /// A file that was not a ledger yet is the only one that an honest disk may damage: SQLite takes a file that it has cut
    /// back to nothing for new, and removes the journal before the cut is synced.
    fn refused(&mut self, fault: &LedgerFault) -> bool {
        if self.epoch == 0 && !self.has_lied && fault.kind() == FaultKind::Damaged {
            self.tally.never_begun += 1;
            return false;
        }
        assert!(self.has_lied, "refused without reason: {fault}");
        let text = fault.to_string();
        let is_right = match fault.kind() {
            FaultKind::Damaged | FaultKind::NoLedger | FaultKind::Version => true,
            // A disk that lies can lose the log, or the line in which the file names it.
            FaultKind::Open => {
                text.contains("are missing: put that file beside it")
                    || text.contains("cannot be begun: the disk fails")
            }
            _ => false,
        };
        assert!(is_right, "the wrong words, {:?}: {text}", fault.kind());
        false
    }

    /// Notes which faults have struck.
    fn note_strikes(&mut self) {
        for fault in self.disk.struck() {
            self.trace(|| format!("{fault:?} strikes"));
            self.has_lied |= fault.is_silent();
            self.has_failed |= !matches!(fault, Fault::LostWrite | Fault::Misdirected);
            let tally = &mut self.tally;
            *match fault {
                Fault::Stop => &mut tally.stopped,
                Fault::ReadError => &mut tally.read_errors,
                Fault::WriteError => &mut tally.write_errors,
                Fault::SyncError => &mut tally.sync_errors,
                Fault::LossySyncError => &mut tally.lossy_syncs,
                Fault::Full { .. } => &mut tally.full,
                Fault::LostWrite => &mut tally.lost_writes,
                Fault::Misdirected => &mut tally.misdirected,
            } += 1;
        }
    }

    /// The last life, in which nothing goes wrong: all jobs are completed. Returns whether they were.
    fn last_life(&mut self) -> bool {
        let Opened::Open(ledger) = self.open() else { return false };
        for _ in 0..20 {
            let Ok(content) = Content::of(&ledger).map_err(|fault| self.refused(&fault)) else {
                return false;
            };
            let mut commands: Vec<_> =
                content.restored.jobs.iter().flat_map(|job| self.next(&content, job)).collect();
            // It may take back what the others are about.
            let settles = |command: &LedgerCommand| matches!(command, LedgerCommand::Settle { .. });
            if let Some(at) = commands.iter().position(settles) {
                commands = vec![commands.swap_remove(at)];
            }
            let audits: Vec<_> = content.restored.jobs.iter().flat_map(audit).collect();
            let commands = if commands.is_empty() { audits } else { commands };
            if commands.is_empty() {
                return self.is_complete(*ledger, &content);
            }
            let Some(confirming) = self.write_last(&ledger, commands) else { return false };
            if !confirming.is_empty() && self.write_last(&ledger, confirming).is_none() {
                return false;
            }
        }
        panic!("the jobs are never done");
    }

    /// Writes commands, and returns those that follow from their answers.
    fn write_last(
        &mut self,
        ledger: &Ledger,
        commands: Vec<LedgerCommand>,
    ) -> Option<Vec<LedgerCommand>> {
        self.trace(|| format!("{commands:?}"));
        match ledger.apply(&commands) {
            Ok(answers) => {
                if !self.is_mixed {
                    let (next, expected) = self.present().after(&Batch::Commands(commands.clone()));
                    assert!(self.has_lied || answers == expected, "{answers:?}, not {expected:?}");
                    self.past.push(next);
                }
                Some(commands.iter().zip(answers).flat_map(follow).collect())
            }
            Err(fault) => {
                self.trace(|| format!("not written: {fault}"));
                self.refused(&fault);
                self.tally.refused_writing += 1;
                None
            }
        }
    }

    /// What is to be done next for a job, but for its audits and its end.
    fn next(&self, content: &Content, job: &RestoredJob) -> Vec<LedgerCommand> {
        let id = job.id;
        let by = "client".to_string();
        if job.state == JobState::Paused {
            return vec![LedgerCommand::SetState { job: id, state: JobState::Running, by }];
        }
        if job.state != JobState::Running {
            return Vec::new();
        }
        let settle = |(range, wrong)| LedgerCommand::Settle {
            report: report(id, "avx2", range, 0),
            author: author(JUDGE),
            wrong,
        };
        let disputes = job.disputes.iter().map(|dispute| {
            let wrong = dispute.votes.iter().filter(|vote| vote.claim != truth(dispute.range));
            let wrong = wrong.filter_map(|vote| vote.maker.as_ref());
            (dispute.range, wrong.map(|maker| maker.party(Across::Machines)).collect())
        });
        let settlements: Vec<_> = disputes.map(settle).collect();
        if !settlements.is_empty() {
            return settlements;
        }
        let present = self.present();
        let is_lie = |row: &&Row| row.tally.claim() != truth(row.range) && holds(present, id, row);
        let lies = content.rows[&id].iter().filter(is_lie);
        let lies = lies.map(|lie| LedgerCommand::Dispute {
            report: report(id, "search", lie.range, 0),
            author: author(CHECKER),
        });
        let missing = missing(job).into_iter().map(|range| LedgerCommand::Accept {
            report: report(id, "avx2", range, 0),
            author: author("machine 9"),
            audit: false,
        });
        lies.chain(missing).collect()
    }

    fn is_complete(&mut self, ledger: Ledger, content: &Content) -> bool {
        self.says_right_totals(content);
        if let Err(fault) = ledger.close() {
            return self.refused(&fault);
        }
        let again = match self.open_unjudged() {
            Ok(ledger) => Content::of(&ledger),
            Err(fault) => Err(fault),
        };
        match again {
            Ok(again) if !self.has_lied => assert_eq!(again, *content),
            Ok(again) => self.says_right_totals(&again),
            Err(fault) => return self.refused(&fault),
        }
        true
    }

    fn says_right_totals(&mut self, content: &Content) {
        for job in &content.restored.jobs {
            assert!(matches!(job.state, JobState::Done | JobState::Cancelled), "{job:?}");
            if job.state == JobState::Done {
                assert_eq!(job.total, total(), "a wrong total of job {}", job.id);
                self.tally.jobs_done += 1;
            }
        }
    }

    fn present(&self) -> &State {
        self.past.last().expect("there is a first one")
    }

    fn log(&self) -> PathBuf {
        self.path.with_file_name("ledger.db-wal")
    }

    fn trace(&self, what: impl FnOnce() -> String) {
        if self.traced {
            println!("{:?}: {}", self.weather, what());
        }
    }
}

/// Whether a state holds a row, among those that are accepted.
fn holds(state: &State, job: JobId, row: &Row) -> bool {
    let job = state.store.jobs.get(&job);
    job.and_then(|job| job.rows.get(&row.range.start())).is_some_and(|counted| counted.row == *row)
}

/// What nobody has counted of a job.
fn missing(job: &RestoredJob) -> Vec<Range> {
    let mut missing = Vec::new();
    let mut start = 0;
    let ends = job.accepted.iter().map(|range| (range.start(), range.end()));
    for (first, past) in ends.chain([(TASKS, TASKS)]) {
        missing.extend(Range::new(start, first));
        start = past;
    }
    missing
}

/// Asks for the audits of a running job, or says its total.
fn audit(job: &RestoredJob) -> Option<LedgerCommand> {
    let id = job.id;
    (job.state == JobState::Running).then_some(match job.audits_wanted {
        0 => LedgerCommand::Finish { job: id, tasks: TASKS, total: job.total },
        _ => LedgerCommand::FindAudits { job: id, most: 1_000 },
    })
}

/// Confirms what an answer asks for.
fn follow((command, answer): (&LedgerCommand, LedgerAnswer)) -> Vec<LedgerCommand> {
    match (command, answer) {
        (LedgerCommand::FindAudits { job, .. }, LedgerAnswer::AuditsFound(found)) => {
            let confirm = |range: Range| LedgerCommand::Confirm {
                report: report(*job, "search", range, 0),
                author: author(CHECKER),
            };
            found.into_iter().map(|unaudited| confirm(unaudited.range)).collect()
        }
        _ => Vec::new(),
    }
}
