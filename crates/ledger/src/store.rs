//! Rows in SQLite, as the farm's rules want to see and change them.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use farm::rules::{Select, Store, StoredJob};
use farm::{
    Across, AuditPolicy, Check, CountedRange, DisputeState, Distrusted, JobChange, JobId, JobSpec,
    JobState, Maker, OpenDispute, Party, Range, Row, TaskCounts, TrustChange,
};
use rusqlite::{Connection, Params, ToSql};

use super::clock::unix_ms;
use super::entry::{
    COLUMNS, STORED, WIDTH, check_number, read_check, read_row, signed, state_number, unsigned,
    values,
};
use super::restore::{JOB, read_job};
use super::{LedgerFault, removal, task_counts};

/// A ledger's tables. Whoever changes them does so within a transaction.
pub(super) struct SqlStore<'a>(pub(super) &'a Connection);

impl SqlStore<'_> {
    fn change(&self, query: &str, params: impl Params) -> Result<usize, LedgerFault> {
        Ok(self.0.prepare_cached(query)?.execute(params)?)
    }

    /// All that `read` makes of the rows of a query.
    fn all<T>(
        &self,
        query: &str,
        params: impl Params,
        read: impl FnMut(&rusqlite::Row<'_>) -> Result<T, LedgerFault>,
    ) -> Result<Vec<T>, LedgerFault> {
        let mut statement = self.0.prepare_cached(query)?;
        statement.query_and_then(params, read)?.collect()
    }

    /// The first row of a query, if it has any.
    fn first<T>(
        &self,
        query: &str,
        params: impl Params,
        read: impl FnMut(&rusqlite::Row<'_>) -> Result<T, LedgerFault>,
    ) -> Result<Option<T>, LedgerFault> {
        let mut statement = self.0.prepare_cached(query)?;
        statement.query_and_then(params, read)?.next().transpose()
    }

    /// Adds a row to a table, with a time in the column `noted` and columns of its own.
    pub(super) fn add(
        &self,
        table: &str,
        (noted, at_ms): (&str, i64),
        job: JobId,
        row: &Row,
        own: Vec<(&str, Box<dyn ToSql>)>,
    ) -> Result<(), LedgerFault> {
        self.change("INSERT OR IGNORE INTO builds (text) VALUES (?)", [&row.author.build])?;
        let mut names = format!("job, {STORED}, {noted}");
        let mut all: Vec<Box<dyn ToSql>> = vec![Box::new(signed(job.0))];
        all.extend(values(job, row));
        all.push(Box::new(at_ms));
        for (name, value) in own {
            names = format!("{names}, {name}");
            all.push(value);
        }
        let place = |name| match name {
            "build" => "(SELECT id FROM builds WHERE text = ?)",
            _ => "?",
        };
        let places = names.split(", ").map(place).collect::<Vec<_>>().join(", ");
        let query = format!("INSERT INTO {table} ({names}) VALUES ({places})");
        self.change(&query, rusqlite::params_from_iter(all))?;
        Ok(())
    }

    /// Adds an accepted range, with the time at which it was accepted.
    fn insert_at(
        &self,
        at_ms: i64,
        job: JobId,
        counted: &CountedRange,
        task_counts: &TaskCounts,
    ) -> Result<(), LedgerFault> {
        let own: Vec<(_, Box<dyn ToSql>)> = vec![
            ("audit", Box::new(check_number(counted.check))),
            ("task_counts", Box::new(task_counts::bytes(task_counts))),
        ];
        self.add("ranges", ("accepted_at", at_ms), job, &counted.row, own)
    }

    /// Changes what is told of the tasks of an accepted range.
    pub(super) fn set_task_counts(
        &self,
        job: JobId,
        range: Range,
        counts: &TaskCounts,
    ) -> Result<(), LedgerFault> {
        let (job, first, past) = key(job, range);
        self.change(
            "UPDATE ranges SET task_counts = ? WHERE job = ? AND first = ? AND past = ?",
            (task_counts::bytes(counts), job, first, past),
        )?;
        Ok(())
    }

    /// All changes of trust, the oldest first.
    pub(super) fn trust_changes(&self) -> Result<Vec<TrustChange>, LedgerFault> {
        self.all(&format!("SELECT {TRUST} FROM trust ORDER BY rowid"), [], read_trust)
    }

    /// Adds a change of trust.
    pub(super) fn note_trust(&self, change: &TrustChange) -> Result<(), LedgerFault> {
        let TrustChange { party, trusted, proof, reason, at_ms } = change;
        let proof = proof.map(|(job, range)| key(job, range));
        self.change(
            &format!("INSERT INTO trust ({TRUST}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"),
            (
                &party.owner,
                &party.machine,
                trusted,
                proof.map(|(job, ..)| job),
                proof.map(|(_, first, _)| first),
                proof.map(|(.., past)| past),
                reason,
                at_ms,
            ),
        )?;
        Ok(())
    }

    /// Moves what a table has of a range to the evidence.
    fn move_to_disputes(
        &self,
        (table, noted): (&str, &str),
        job: JobId,
        range: Range,
        why: DisputeState,
    ) -> Result<(), LedgerFault> {
        let key = (signed(job.0), signed(range.start()));
        let query = format!(
            "INSERT INTO disputes (job, {STORED}, noted_at, state) \
             SELECT job, {STORED}, {noted}, ? FROM {table} WHERE job = ? AND first = ?"
        );
        self.change(&query, (state_number(why), key.0, key.1))?;
        self.change(&format!("DELETE FROM {table} WHERE job = ? AND first = ?"), key)?;
        Ok(())
    }
}

/// The column of a dispute that says where it stands.
pub(super) fn own_state(state: DisputeState) -> Vec<(&'static str, Box<dyn ToSql>)> {
    vec![("state", Box::new(state_number(state)))]
}

/// Job, first and past.
fn key(job: JobId, range: Range) -> (i64, i64, i64) {
    (signed(job.0), signed(range.start()), signed(range.end()))
}

impl Store for SqlStore<'_> {
    type Fault = LedgerFault;

    fn jobs(&mut self) -> Result<Vec<StoredJob>, LedgerFault> {
        self.all(&format!("SELECT {JOB} FROM jobs ORDER BY id"), [], read_job)
    }

    fn last_job(&mut self) -> Result<u64, LedgerFault> {
        removal::last_job(self.0)
    }

    fn job(&mut self, id: JobId) -> Result<Option<StoredJob>, LedgerFault> {
        self.first(&format!("SELECT {JOB} FROM jobs WHERE id = ?"), [signed(id.0)], read_job)
    }

    fn add_job(&mut self, job: JobId, spec: &JobSpec) -> Result<(), LedgerFault> {
        let JobSpec { origin, plan, slice, priority } = spec;
        self.change(
            "INSERT INTO jobs (id, problem, n, method, parameter, tasks, fingerprint, shard, \
             shards, priority, state, seed_told, submitted_at, owner, key) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, FALSE, ?, ?, ?)",
            (
                signed(job.0),
                plan.problem.text(),
                plan.problem.n(),
                plan.method.name(),
                plan.method.parameter().map(|(_, value)| value),
                signed(plan.tasks),
                plan.fingerprint().to_string(),
                slice.index(),
                slice.of(),
                priority,
                JobState::Running.name(),
                unix_ms(),
                &origin.owner,
                &origin.key,
            ),
        )?;
        Ok(())
    }

    fn set_state(
        &mut self,
        job: JobId,
        state: JobState,
        total: Option<u128>,
    ) -> Result<(), LedgerFault> {
        self.change(
            "UPDATE jobs SET state = ?, total = ?, reason = NULL, seed_told = seed_told OR ?, \
             ended_at = ? WHERE id = ?",
            (
                state.name(),
                total.map(|total| total.to_string()),
                state.is_over(),
                state.is_over().then(unix_ms),
                signed(job.0),
            ),
        )?;
        Ok(())
    }

    fn set_priority(&mut self, job: JobId, priority: i32) -> Result<(), LedgerFault> {
        self.change("UPDATE jobs SET priority = ? WHERE id = ?", (priority, signed(job.0)))?;
        Ok(())
    }

    fn hold(&mut self, job: JobId, reason: &str) -> Result<(), LedgerFault> {
        self.change(
            "UPDATE jobs SET state = ?, total = NULL, reason = ?, ended_at = NULL WHERE id = ?",
            (JobState::Held.name(), reason, signed(job.0)),
        )?;
        Ok(())
    }

    fn remove_some(&mut self, job: JobId, most: usize) -> Result<bool, LedgerFault> {
        removal::remove_some(self.0, job, most)
    }

    fn note(&mut self, job: JobId, change: JobChange, by: &str) -> Result<(), LedgerFault> {
        let (state, priority) = match change {
            JobChange::State(state) => (Some(state.name()), None),
            JobChange::Priority(priority) => (None, Some(priority)),
        };
        self.change(
            "INSERT INTO changes (job, state, priority, asked_by, changed_at) VALUES (?, ?, ?, ?, ?)",
            (signed(job.0), state, priority, by, unix_ms()),
        )?;
        Ok(())
    }

    fn add_policy(&mut self, job: JobId, policy: AuditPolicy, by: &str) -> Result<(), LedgerFault> {
        let AuditPolicy { share_ppm, seed, salt, by_search, across } = policy;
        let salt = format!("{salt:032x}");
        self.change(
            &format!(
                "INSERT INTO audit_policies (job, {POLICY}, asked_at, asked_by) \
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            ),
            (signed(job.0), share_ppm, signed(seed), by_search, salt, across.name(), unix_ms(), by),
        )?;
        self.change("UPDATE jobs SET seed_told = FALSE WHERE id = ?", [signed(job.0)])?;
        Ok(())
    }

    fn policy(&mut self, job: JobId) -> Result<Option<AuditPolicy>, LedgerFault> {
        self.first(
            &format!(
                "SELECT {POLICY} FROM audit_policies WHERE job = ? ORDER BY rowid DESC LIMIT 1"
            ),
            [signed(job.0)],
            read_policy,
        )
    }

    fn visit(
        &mut self,
        job: JobId,
        which: Select,
        see: &mut dyn FnMut(CountedRange) -> ControlFlow<()>,
    ) -> Result<(), LedgerFault> {
        let id = signed(job.0);
        let (condition, params): (&str, Vec<i64>) = match which {
            Select::All => ("", vec![id]),
            Select::BeginningIn(range) => (
                "AND first >= ? AND first < ?",
                vec![id, signed(range.start()), signed(range.end())],
            ),
            // By name, so that SQLite sees that the index of those that wait will do.
            Select::With(Check::Wanted) => ("AND audit = 1", vec![id]),
            Select::With(check) => ("AND audit = ?", vec![id, check_number(check)]),
        };
        let query =
            format!("SELECT {COLUMNS}, audit FROM ranges WHERE job = ? {condition} ORDER BY first");
        let mut statement = self.0.prepare_cached(&query)?;
        let mut rows = statement.query(rusqlite::params_from_iter(params))?;
        while let Some(columns) = rows.next()? {
            let row = read_row(job, columns)?;
            if see(CountedRange { row, check: read_check(columns, WIDTH)? }).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn visit_with_seconds(
        &mut self,
        job: JobId,
        party: Option<&Party>,
        see: &mut dyn FnMut(CountedRange, Option<Maker>),
    ) -> Result<(), LedgerFault> {
        let column = |name| match name {
            "build" => "(SELECT text FROM builds WHERE id = r.build)".to_owned(),
            name => format!("r.{name}"),
        };
        let columns: Vec<String> = STORED.split(", ").map(column).collect();
        let is_wanted = match party {
            Some(_) => {
                "(r.owner = ?2 AND (?3 IS NULL OR r.machine = ?3) \
                 OR a.owner = ?2 AND (?3 IS NULL OR a.machine = ?3))"
            }
            None => "?2 IS ?3 AND a.owner IS NOT NULL",
        };
        let query = format!(
            "SELECT {}, r.audit, a.owner, a.machine FROM ranges r \
             LEFT JOIN audits a ON a.job = r.job AND a.first = r.first \
             WHERE r.job = ?1 AND {is_wanted} ORDER BY r.first",
            columns.join(", ")
        );
        let mut statement = self.0.prepare_cached(&query)?;
        let (owner, machine) = party.map(|party| (&party.owner, &party.machine)).unzip();
        let mut rows = statement.query((signed(job.0), owner, machine.and_then(Option::as_ref)))?;
        while let Some(columns) = rows.next()? {
            let (row, check) = (read_row(job, columns)?, read_check(columns, WIDTH)?);
            let (owner, machine) = (columns.get(WIDTH + 1)?, columns.get(WIDTH + 2)?);
            let of = |(owner, machine)| Maker { owner, machine };
            see(CountedRange { row, check }, Option::zip(owner, machine).map(of));
        }
        Ok(())
    }

    fn last_before(&mut self, job: JobId, ordinal: u64) -> Result<Option<Range>, LedgerFault> {
        self.first(
            "SELECT first, past FROM ranges WHERE job = ? AND first < ? ORDER BY first DESC LIMIT 1",
            (signed(job.0), signed(ordinal)),
            |columns| {
                let range = Range::new(unsigned(columns, 0)?, unsigned(columns, 1)?);
                Ok(range.expect("the table checks that"))
            },
        )
    }

    fn count(&mut self, job: JobId, check: Check) -> Result<u64, LedgerFault> {
        // A literal, so that SQLite counts those that wait by their index.
        let query = format!(
            "SELECT count(*) FROM ranges WHERE job = ? AND audit = {}",
            check_number(check)
        );
        let count = self.first(&query, [signed(job.0)], |columns| unsigned(columns, 0))?;
        Ok(count.expect("a count is one row"))
    }

    fn insert(
        &mut self,
        job: JobId,
        counted: &CountedRange,
        task_counts: &TaskCounts,
    ) -> Result<(), LedgerFault> {
        self.insert_at(unix_ms(), job, counted, task_counts)
    }

    fn task_counts(&mut self, job: JobId, range: Range) -> Result<TaskCounts, LedgerFault> {
        let counts = self.first(
            "SELECT task_counts FROM ranges WHERE job = ? AND first = ? AND past = ?",
            key(job, range),
            |columns| Ok(task_counts::read(columns, 0, job, range)),
        )?;
        match counts {
            Some(Err(LedgerFault::Content(reason))) => {
                tracing::warn!(reason, "these counts are left out; the sum of their row is sound");
                Ok(TaskCounts::default())
            }
            Some(counts) => counts,
            None => Ok(TaskCounts::default()),
        }
    }

    fn forget_task_counts(&mut self, job: JobId, range: Range) -> Result<(), LedgerFault> {
        self.set_task_counts(job, range, &TaskCounts::default())
    }

    fn join_rows(
        &mut self,
        job: JobId,
        joined: &CountedRange,
        task_counts: &TaskCounts,
    ) -> Result<(), LedgerFault> {
        let range = joined.row.range;
        let within = (signed(job.0), signed(range.start()), signed(range.end()));
        let latest = self.first(
            "SELECT max(accepted_at) FROM ranges WHERE job = ? AND first >= ? AND first < ?",
            within,
            |columns| Ok(columns.get(0)?),
        )?;
        self.change("DELETE FROM ranges WHERE job = ? AND first >= ? AND first < ?", within)?;
        self.insert_at(latest.expect("a maximum is one row"), job, joined, task_counts)
    }

    fn set_check(&mut self, job: JobId, range: Range, check: Check) -> Result<(), LedgerFault> {
        let (job, first, past) = key(job, range);
        self.change(
            "UPDATE ranges SET audit = ? WHERE job = ? AND first = ? AND past = ?",
            (check_number(check), job, first, past),
        )?;
        Ok(())
    }

    fn retire(&mut self, job: JobId, range: Range, why: DisputeState) -> Result<(), LedgerFault> {
        self.retire_second(job, range, why)?;
        self.move_to_disputes(("ranges", "accepted_at"), job, range, why)
    }

    fn add_second(&mut self, job: JobId, row: &Row) -> Result<(), LedgerFault> {
        self.add("audits", ("counted_at", unix_ms()), job, row, Vec::new())
    }

    fn retire_second(
        &mut self,
        job: JobId,
        range: Range,
        why: DisputeState,
    ) -> Result<(), LedgerFault> {
        self.move_to_disputes(("audits", "counted_at"), job, range, why)
    }

    fn keep_as_second(&mut self, job: JobId, row: &Row) -> Result<(), LedgerFault> {
        let ((id, first, past), maker) = (key(job, row.range), &row.author.maker);
        self.change(
            &format!(
                "INSERT INTO audits (job, {STORED}, counted_at) SELECT job, {STORED}, noted_at \
                 FROM disputes WHERE job = ? AND first = ? AND past = ? AND owner = ? AND machine = ? \
                 AND digest = ? ORDER BY rowid DESC LIMIT 1"
            ),
            (id, first, past, &maker.owner, &maker.machine, row.tally.digest.to_string()),
        )?;
        Ok(())
    }

    fn open_disputes(&mut self, job: JobId) -> Result<Vec<OpenDispute>, LedgerFault> {
        let claims = self.all(
            &format!(
                "SELECT {COLUMNS} FROM disputes WHERE job = ? AND state = 0 \
                 ORDER BY first, past, rowid"
            ),
            [signed(job.0)],
            |columns| read_row(job, columns),
        )?;
        let mut disputes: Vec<OpenDispute> = Vec::new();
        for claim in claims {
            match disputes.last_mut().filter(|dispute| dispute.range == claim.range) {
                Some(dispute) => dispute.claims.push(claim),
                None => disputes.push(OpenDispute { range: claim.range, claims: vec![claim] }),
            }
        }
        Ok(disputes)
    }

    fn add_claim(&mut self, job: JobId, row: &Row) -> Result<(), LedgerFault> {
        self.add("disputes", ("noted_at", unix_ms()), job, row, own_state(DisputeState::Open))
    }

    fn close_dispute(&mut self, job: JobId, range: Range) -> Result<(), LedgerFault> {
        self.change(
            "UPDATE disputes SET state = 1 WHERE job = ? AND first = ? AND past = ? AND state = 0",
            key(job, range),
        )?;
        Ok(())
    }

    fn distrust(
        &mut self,
        party: &Party,
        proof: Option<(JobId, Range)>,
        reason: &str,
    ) -> Result<(), LedgerFault> {
        let (party, reason) = (party.clone(), reason.into());
        self.note_trust(&TrustChange { party, trusted: false, proof, reason, at_ms: unix_ms() })
    }

    fn trust(&mut self, party: &Party, reason: &str) -> Result<(), LedgerFault> {
        let (party, reason) = (party.clone(), reason.into());
        self.note_trust(&TrustChange {
            party,
            trusted: true,
            proof: None,
            reason,
            at_ms: unix_ms(),
        })
    }

    fn distrusted(&mut self) -> Result<Distrusted, LedgerFault> {
        Ok(Distrusted::after(&self.trust_changes()?))
    }

    fn proofs(&mut self) -> Result<BTreeSet<JobId>, LedgerFault> {
        let proofs = self.trust_changes()?.into_iter().filter_map(|change| change.proof);
        Ok(proofs.map(|(job, _)| job).collect())
    }
}

/// The columns that [`read_trust`] wants to see.
pub(super) const TRUST: &str = "owner, machine, trusted, job, first, past, reason, noted_at";

/// A change of trust from the columns [`TRUST`].
pub(super) fn read_trust(columns: &rusqlite::Row<'_>) -> Result<TrustChange, LedgerFault> {
    let job: Option<i64> = columns.get(3)?;
    let proof = job.map(|_| {
        let range = Range::new(unsigned(columns, 4)?, unsigned(columns, 5)?);
        let fault = || LedgerFault::Content("a party was wrong about nothing".into());
        Ok::<_, LedgerFault>((JobId(unsigned(columns, 3)?), range.ok_or_else(fault)?))
    });
    Ok(TrustChange {
        party: Party { owner: columns.get(0)?, machine: columns.get(1)? },
        trusted: columns.get(2)?,
        proof: proof.transpose()?,
        reason: columns.get(6)?,
        at_ms: columns.get(7)?,
    })
}

/// The columns that [`read_policy`] wants to see.
pub(super) const POLICY: &str = "share_ppm, seed, by_search, salt, across";

/// How many columns [`POLICY`] names: the first one after them has this number.
pub(super) const POLICY_WIDTH: usize = 5;

/// A policy from the columns [`POLICY`].
pub(super) fn read_policy(columns: &rusqlite::Row<'_>) -> Result<AuditPolicy, LedgerFault> {
    let (share_ppm, by_search) = (columns.get(0)?, columns.get(2)?);
    let salt: String = columns.get(3)?;
    let salt = u128::from_str_radix(&salt, 16);
    let salt = salt.map_err(|_| LedgerFault::Content("an audit has an unreadable salt".into()))?;
    let name: String = columns.get(4)?;
    let fault = || LedgerFault::Content(format!("an audit is across unknown {name:?}"));
    let across = Across::named(&name).ok_or_else(fault)?;
    let seed = unsigned(columns, 1)?;
    Ok(AuditPolicy { share_ppm, seed, salt, by_search, across })
}
