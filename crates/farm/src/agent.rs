//! The worker's end of a session: what it holds, what it has finished, what is not acknowledged.
//!
//! ```text
//!   leased ──► todo ──finished──► done (neighbours merged) ──due──► unacked ──acked──► forgotten
//!                                                                   │  ▲
//!                                                                   └──┘ sent again after a
//!                                                                        reconnection or a while
//! ```
//!
//! Nothing that was counted is forgotten before the coordinator has acknowledged it. Like the farm
//! core this is a pure state machine: the time comes in, messages come out.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Ack, Fingerprint, Hello, Holding, IntervalSet, JobId, Lease, LeaseId, Millis, Pace, Range,
    Report, TaskCounts, WorkerMessage,
};

/// What a worker is, and its few times and sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentConfig {
    /// What the worker says of itself, with the most tasks that it ever agrees to hold. The list of
    /// holdings is empty.
    pub hello: Hello,
    /// How long finished parts of a lease are gathered before they are reported, ms, unless the
    /// coordinator asks for longer.
    pub report_ms: u64,
    /// How long to wait for an acknowledgement before a report is sent again, ms. Each time that
    /// the report is sent again, the wait doubles, up to four minutes, because a coordinator that
    /// is behind must not be sent more.
    pub resend_ms: u64,
}

/// The worker's end of a session. See the module's documentation.
#[derive(Debug)]
pub struct Agent {
    config: AgentConfig,
    connected: bool,
    stopping: bool,
    sent_draining: bool,
    sent_credit: u64,
    /// The ordinals of each lease that are still to be counted. The key is the whole lease.
    todo: BTreeMap<Holding, IntervalSet>,
    done: BTreeMap<Holding, Done>,
    unacked: BTreeMap<ReportKey, Unacked>,
    /// The unacknowledged reports in the order of the times at which they are sent next. The order
    /// is kept because there may be thousands of reports.
    due: BTreeSet<(Millis, ReportKey)>,
    /// Leases that became void while ordinals of them were still to be counted. Threads may still
    /// be counting parts of them.
    void: BTreeSet<Holding>,
    pace: Pace,
}

/// The identity of a report. The job's number alone does not distinguish two plans: see
/// [`Holding`].
type ReportKey = (JobId, Fingerprint, Range);

#[derive(Debug)]
struct Unacked {
    report: Report,
    /// When it is sent again; 0 if this session has not sent it.
    due: Millis,
    /// How long it waits for its acknowledgement after that, ms.
    wait_ms: u64,
}

/// Finished parts of one lease that are not reported.
#[derive(Debug)]
struct Done {
    /// When the first of the parts was finished, or when the coordinator was last sent a sign of
    /// life about them.
    since: Millis,
    /// Whether a part was added since then.
    grown: bool,
    /// The finished parts by their starts and ends; neighbouring parts are joined. Parts overlap if
    /// a lease was delivered twice. All of them are kept, because the farm takes each ordinal only
    /// once.
    parts: BTreeMap<(u64, u64), Report>,
}

impl Agent {
    /// If more reports than this are unacknowledged, the coordinator's ledger is behind, and the
    /// worker takes no more work.
    const MAX_UNACKED: usize = 4096;

    /// A worker that holds nothing.
    pub fn new(config: AgentConfig) -> Agent {
        Agent {
            sent_credit: config.hello.credit,
            config,
            connected: false,
            stopping: false,
            sent_draining: false,
            todo: BTreeMap::new(),
            done: BTreeMap::new(),
            unacked: BTreeMap::new(),
            due: BTreeSet::new(),
            void: BTreeSet::new(),
            pace: Pace::default(),
        }
    }

    /// A session begins. [`Agent::poll`] follows with what is due.
    pub fn connected(&mut self) -> WorkerMessage {
        self.connected = true;
        self.sent_draining = false;
        self.pace = Pace::default();
        self.sent_credit = self.credit();
        self.due.clear();
        let reports = std::mem::take(&mut self.unacked).into_values().map(|unacked| unacked.report);
        reports.for_each(|report| self.report(report));
        let (credit, holding) = (self.sent_credit, self.holdings());
        WorkerMessage::Hello(Hello { credit, holding, ..self.config.hello.clone() })
    }

    /// The coordinator said how often to report.
    pub fn paced(&mut self, pace: Pace) {
        self.pace = pace;
    }

    /// The session ended; work goes on.
    pub fn disconnected(&mut self) {
        self.connected = false;
    }

    /// Tasks of `lease` are coming.
    pub fn leased(&mut self, lease: Lease) {
        let key = Holding::of_lease(&lease);
        self.void.remove(&key);
        if !self.stopping {
            self.todo.entry(key).or_default().insert(key.range);
        }
    }

    /// The coordinator no longer wants the uncounted rest of a lease. The finished parts are still
    /// reported.
    pub fn revoked(&mut self, lease: LeaseId) {
        self.todo.retain(|key, _| key.lease != lease);
    }

    /// The coordinator does not recognize what this worker holds or reported: it has another key,
    /// or another owner's credential is in use now. All of it is void.
    pub fn disowned(&mut self) {
        self.void = std::mem::take(&mut self.todo).into_keys().collect();
        self.done.clear();
        self.unacked.clear();
        self.due.clear();
    }

    /// A part of a lease is counted.
    pub fn finished(&mut self, now: Millis, part: Report) {
        let key = Holding { range: part.token.range, ..Holding::of_report(&part) };
        if self.void.contains(&key) {
            return;
        }
        if let Some(open) = self.todo.get_mut(&key) {
            open.remove(part.range);
            if open.is_empty() {
                self.todo.remove(&key);
            }
        }
        let new = || Done { since: now, grown: false, parts: BTreeMap::new() };
        self.done.entry(key).or_insert_with(new).add(part);
    }

    /// The coordinator needs this report no more.
    pub fn acked(&mut self, ack: &Ack) {
        let Ack { job, fingerprint, range, .. } = *ack;
        let key = (job, fingerprint, range);
        if let Some(Unacked { due, .. }) = self.unacked.remove(&key) {
            self.due.remove(&(due, key));
        }
    }

    fn report(&mut self, report: Report) {
        let Report { job, fingerprint, range, .. } = report;
        let (key, due) = ((job, fingerprint, range), Millis(0));
        let unacked = Unacked { report, due, wait_ms: self.config.resend_ms };
        if let Some(same) = self.unacked.insert(key, unacked) {
            self.due.remove(&(same.due, key));
        }
        self.due.insert((due, key));
    }

    /// Take no more work, give back what is not begun, report the rest.
    pub fn stop(&mut self) {
        self.stopping = true;
        self.todo.clear();
    }

    /// Whether nothing is left to report. The caller has to know whether parts are still being
    /// counted.
    pub fn is_settled(&self) -> bool {
        self.done.is_empty() && self.unacked.is_empty()
    }

    /// Whether more is unacknowledged than a coordinator can leave so that leases what the worker
    /// agrees to hold. When the worker asks for no more, it may hold that many tasks, as many may
    /// be on their way, and each of them may become a report.
    pub fn is_overdrawn(&self) -> bool {
        let credit = usize::try_from(self.config.hello.credit).unwrap_or(usize::MAX);
        let most = Self::MAX_UNACKED.saturating_add(credit).saturating_mul(2);
        let counts = |unacked: &Unacked| unacked.report.task_counts.as_slice().len();
        let counts = self.unacked.values().map(counts).fold(0, usize::saturating_add);
        // Reports with the counts of their tasks are longer, and fewer.
        let most_counts = Self::MAX_UNACKED.saturating_mul(TaskCounts::MOST).saturating_add(most);
        self.unacked.len() > most || counts > most_counts
    }

    /// What is to be sent now.
    pub fn poll(&mut self, now: Millis) -> Vec<WorkerMessage> {
        // Parts of a recount that cannot become whole any more are dropped, because a recount is of
        // use only as a whole.
        let todo = &self.todo;
        self.done.retain(|key, done| {
            !key.token.is_recount() || done.is_whole(key) || todo.contains_key(key)
        });
        if !self.connected {
            return Vec::new();
        }
        let mut messages = Vec::new();
        if self.stopping && !self.sent_draining {
            self.sent_draining = true;
            messages.push(WorkerMessage::Draining);
        }
        // A lease that is reported as a whole sends signs of life as often as other leases report
        // parts.
        let report_ms = self.report_ms();
        for (key, done) in &mut self.done {
            if done.is_news(key) && done.since.after(report_ms) <= now {
                (done.since, done.grown) = (now, false);
                messages.push(WorkerMessage::Working(key.lease));
            }
        }
        self.take_due(now).into_iter().for_each(|due| self.report(due));
        messages.extend(self.send_reports(now));
        let credit = self.credit();
        if credit != self.sent_credit {
            self.sent_credit = credit;
            messages.push(WorkerMessage::Credit(credit));
        }
        messages
    }

    /// When [`Agent::poll`] has something to say if nothing else happens before.
    pub fn next_wakeup(&self) -> Option<Millis> {
        if !self.connected {
            return None;
        }
        let is_due =
            |&(key, done): &(&Holding, &Done)| !key.token.is_recount() || done.is_news(key);
        let gathered = |(_, done): (&Holding, &Done)| done.since.after(self.report_ms());
        let reports = self.done.iter().filter(is_due).map(gathered);
        reports.chain(self.due.first().map(|&(due, _)| due)).min()
    }

    fn report_ms(&self) -> u64 {
        self.config.report_ms.max(self.pace.report_ms())
    }

    fn credit(&self) -> u64 {
        let full = self.unacked.len() > Self::MAX_UNACKED;
        if full || self.stopping { 0 } else { self.config.hello.credit }
    }

    /// Reports that are due for the first time, or have waited long enough for their
    /// acknowledgements.
    fn send_reports(&mut self, now: Millis) -> Vec<WorkerMessage> {
        const LONGEST_MS: u64 = 4 * 60 * 1000;
        let due: Vec<_> = self.due.iter().take_while(|(due, _)| *due <= now).copied().collect();
        let send = |(due, key)| {
            self.due.remove(&(due, key));
            let unacked = self.unacked.get_mut(&key).expect("what is due is not acknowledged");
            let wait_ms = unacked.wait_ms;
            (unacked.due, unacked.wait_ms) =
                (now.after(wait_ms), wait_ms.max(wait_ms.saturating_mul(2).min(LONGEST_MS)));
            self.due.insert((unacked.due, key));
            WorkerMessage::Report(unacked.report.clone())
        };
        due.into_iter().map(send).collect()
    }

    fn take_due(&mut self, now: Millis) -> Vec<Report> {
        let (todo, report_ms, stopping) = (&self.todo, self.report_ms(), self.stopping);
        let due = |key: &Holding, done: &mut Done| {
            if key.token.is_recount() {
                return done.is_whole(key);
            }
            stopping || !todo.contains_key(key) || done.since.after(report_ms) <= now
        };
        let reports = self.done.extract_if(.., due);
        reports.flat_map(|(key, done)| done.into_reported(key)).collect()
    }

    /// All ranges that are not acknowledged. The coordinator is sent them so that it leases them to
    /// nobody else meanwhile.
    fn holdings(&self) -> Vec<Holding> {
        let mut held = self.todo.clone();
        for (&key, done) in &self.done {
            let ranges = held.entry(key).or_default();
            done.parts.values().for_each(|part| ranges.insert(part.range));
        }
        let holdings = held
            .iter()
            .flat_map(|(key, ranges)| ranges.iter().map(|range| Holding { range, ..*key }));
        let unacked = self.unacked.values().map(|unacked| Holding::of_report(&unacked.report));
        let mut holdings: Vec<Holding> = holdings.chain(unacked).collect();
        holdings.truncate(Hello::MAX_HOLDINGS);
        holdings
    }
}

impl Done {
    /// Adds a part, and joins it with its neighbours unless their sum would not fit.
    fn add(&mut self, mut part: Report) {
        self.grown = true;
        let range = part.range;
        let left = self.parts.range(..(range.start(), 0)).next_back();
        if let Some((&key, joined)) = left.and_then(|(key, left)| Some((key, left.join(&part)?))) {
            self.parts.remove(&key);
            part = joined;
        }
        let right = self.parts.range((range.end(), 0)..).next();
        if let Some((&key, joined)) = right.and_then(|(key, right)| Some((key, part.join(right)?)))
        {
            self.parts.remove(&key);
            part = joined;
        }
        self.parts.insert((part.range.start(), part.range.end()), part);
    }

    fn is_whole(&self, key: &Holding) -> bool {
        self.parts.contains_key(&(key.range.start(), key.range.end()))
    }

    /// The parts that are reported of a lease. Of a recount, only the part that is the whole range
    /// is reported; there may be others if the lease was delivered twice.
    fn into_reported(self, key: Holding) -> impl Iterator<Item = Report> {
        self.parts
            .into_values()
            .filter(move |part| !key.token.is_recount() || part.range == key.range)
    }

    /// Whether a sign of life is to be sent for this lease: it is reported as a whole, is not
    /// finished, and has grown since the last one.
    fn is_news(&self, key: &Holding) -> bool {
        self.grown && key.token.is_recount() && !self.is_whole(key)
    }
}
