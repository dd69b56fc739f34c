//! The queries about jobs and counts, each as it is sent to SQLite.
//!
//! Queries that read whole counts begin with the same columns, in the order in which
//! [`read_row`](super::entry::read_row) reads them by index, and the standing behind them. They
//! read the text of the build in place of its id.

/// Jobs, each with its newest policy.
macro_rules! jobs {
    ($which:literal) => {
        concat!(
            "SELECT * FROM jobs
             LEFT JOIN audit_policies p
                 ON p.rowid = (SELECT max(rowid) FROM audit_policies WHERE job = id) ",
            $which
        )
    };
}

/// The job of a number.
pub(super) const JOB: &str = jobs!("WHERE id = ?1");

/// All jobs, the oldest first.
pub(super) const JOBS: &str = jobs!("ORDER BY id");

/// Adds a count. Evidence has no given place, and comes after all counts that begin with the same
/// ordinal.
pub(super) const ADD_COUNT: &str = "
    INSERT INTO counts (
        job, first, past, place, count, residue, digest, kernel, owner, machine, worker, build,
        lease, busy_us, noted_at, checksum, standing, task_counts
    ) VALUES (
        ?1, ?2, ?3,
        coalesce(?4, (SELECT max(max(place), 1) + 1 FROM counts WHERE job = ?1 AND first = ?2), 2),
        ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18
    )";

/// Makes an accepted count or a second count evidence. The counts of its single tasks are deleted,
/// because evidence does not need them.
pub(super) const MAKE_EVIDENCE: &str = "
    UPDATE counts
    SET standing = ?4, task_counts = NULL,
        place = (SELECT max(max(place), 1) + 1 FROM counts WHERE job = ?1 AND first = ?2)
    WHERE job = ?1 AND first = ?2 AND place = ?3";

/// Sets the standing of an accepted count.
pub(super) const SET_STANDING: &str = "
    UPDATE counts SET standing = ?4 WHERE job = ?1 AND first = ?2 AND past = ?3 AND place = 0";

/// Ends the open dispute about a range.
pub(super) const CLOSE_DISPUTE: &str = "
    UPDATE counts SET standing = 'settled'
    WHERE job = ?1 AND first = ?2 AND past = ?3 AND standing = 'open'";

/// Removes an accepted count, because another one takes its place.
pub(super) const REMOVE_ACCEPTED: &str =
    "DELETE FROM counts WHERE job = ?1 AND first = ?2 AND place = 0";

/// The counts of the single tasks of an accepted count.
pub(super) const TASK_COUNTS: &str = "
    SELECT task_counts FROM counts WHERE job = ?1 AND first = ?2 AND past = ?3 AND place = 0";

/// Deletes the counts of the single tasks of an accepted count.
pub(super) const FORGET_TASK_COUNTS: &str = "
    UPDATE counts SET task_counts = NULL
    WHERE job = ?1 AND first = ?2 AND past = ?3 AND place = 0";

/// The number of accepted counts of a job that wait for a second count. The query names the index,
/// because SQLite would otherwise read all counts of the job.
pub(super) const COUNT_WAITING: &str = "
    SELECT count(*) FROM counts INDEXED BY counts_to_audit
    WHERE job = ?1 AND standing = 'wanted'";

/// The number of accepted counts of a job that have a second count.
pub(super) const COUNT_SECONDS: &str =
    "SELECT count(*) FROM counts WHERE job = ?1 AND standing = 'second'";

/// The columns with which queries that read whole counts begin, of the table `c`.
macro_rules! columns {
    () => {
        "c.first, c.past, c.count, c.residue, c.digest, c.kernel, c.owner, c.machine, c.worker,
         (SELECT text FROM builds WHERE id = c.build), c.lease, c.busy_us, c.checksum, c.standing"
    };
}

/// The accepted counts of a job that satisfy a further condition, each with the principal of its
/// second count if it has one.
macro_rules! accepted {
    ($and:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            ", s.owner, s.machine
             FROM counts c
             LEFT JOIN counts s
                 ON c.standing = 'agreed' AND s.job = c.job AND s.first = c.first AND s.place = 1
             WHERE c.job = ?1 AND c.place = 0 ",
            $and,
            " ORDER BY c.first"
        )
    };
}

/// All accepted counts of a job.
pub(super) const ACCEPTED: &str = accepted!("");

/// The accepted counts that overlap a range. Accepted counts do not overlap each other, so at most
/// one of them begins before the range.
pub(super) const ACCEPTED_IN: &str = accepted!(
    "AND c.past > ?2 AND c.first < ?3
     AND c.first >= coalesce(
         (SELECT first FROM counts WHERE job = ?1 AND first <= ?2 AND place = 0
          ORDER BY first DESC LIMIT 1),
         0)"
);

/// The accepted counts that a party has made or confirmed. A party is one machine of an owner, or
/// all of them.
pub(super) const ACCEPTED_BY: &str = accepted!(
    "AND (c.owner = ?2 AND (?3 IS NULL OR c.machine = ?3)
          OR s.owner = ?2 AND (?3 IS NULL OR s.machine = ?3))"
);

/// The accepted counts that wait for a second count. The query names the index, because SQLite
/// would otherwise read all counts of the job.
pub(super) const ACCEPTED_WAITING: &str = concat!(
    "SELECT ",
    columns!(),
    ", NULL, NULL
     FROM counts c INDEXED BY counts_to_audit
     WHERE c.job = ?1 AND c.standing = 'wanted' AND c.place = 0
     ORDER BY c.first"
);

/// The open claims of a job, by range, the oldest first.
pub(super) const OPEN_CLAIMS: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM counts c INDEXED BY counts_disputed
     WHERE job = ?1 AND standing = 'open' AND place > 1
     ORDER BY first, past, place"
);

/// For a bundle: each accepted count with its second count behind it.
pub(super) const ACCEPTED_AND_SECOND: &str = concat!(
    "SELECT ",
    columns!(),
    ", noted_at, task_counts, place
     FROM counts c
     WHERE job = ?1 AND place < 2
     ORDER BY first, place"
);

/// For a bundle: the counts that are kept as evidence.
pub(super) const EVIDENCE: &str = concat!(
    "SELECT ",
    columns!(),
    ", noted_at
     FROM counts c INDEXED BY counts_evidence
     WHERE job = ?1 AND place > 1
     ORDER BY first, past, noted_at, place"
);

/// Whether this count is in the evidence already.
pub(super) const IS_EVIDENCE: &str = "
    SELECT 1 FROM counts
    WHERE job = ?1 AND first = ?2 AND place > 1 AND checksum = ?3 AND noted_at = ?4
        AND standing = ?5";

/// Accepted counts for which a party was found wrong. Sound ledgers have none. A disk may lose a
/// write of one page, so that an older page comes back that still fits the others. A count that was
/// right may be accepted again after the count that settled the dispute was taken back. A count for
/// which a party is distrusted is never accepted again.
pub(super) const ACCEPTED_AGAIN: &str = "
    SELECT c.job, c.first, c.owner, c.machine
    FROM trust t
    JOIN counts c ON c.job = t.job AND c.first = t.first AND c.past = t.past AND c.place = 0
        AND c.owner = t.owner AND (t.machine IS NULL OR t.machine = c.machine)
    JOIN counts e ON e.job = c.job AND e.first = c.first AND e.past = c.past
        AND e.checksum = c.checksum AND e.standing = 'settled'
    WHERE NOT t.trusted";

/// The greatest of the numbers that are given one after the other: of jobs, also removed ones, of
/// credentials, and of the places of evidence.
pub(super) const GREATEST_NUMBER: &str = "
    SELECT max(number) FROM (
        SELECT max(id) AS number FROM jobs
        UNION ALL SELECT max(job) FROM removed
        UNION ALL SELECT max(id) FROM credentials
        UNION ALL SELECT max(place) FROM counts WHERE place > 1)";

/// The columns of a ledger's tables with texts or blobs, each with a condition that no value meets
/// which this program writes. The word COLUMN stands for the column, and the parameter is the
/// largest size in bytes. The names of owners, machines and workers are visible ASCII.
pub(super) const TEXTS_AND_BLOBS: &str = "
    SELECT t.name, c.name, 'octet_length(COLUMN) > ?1' || CASE
        WHEN c.type = 'BLOB' THEN ''
        WHEN c.name IN ('owner', 'counted_by', 'asked_by', 'machine', 'worker', 'key')
        THEN ' OR COLUMN GLOB ''*[^!-~]*'' OR length(COLUMN) != octet_length(COLUMN)'
        ELSE ' OR COLUMN GLOB ''*['' || char(1) || ''-'' || char(31) || char(127) || '']*'' OR instr(COLUMN, char(0))'
    END
    FROM sqlite_schema t JOIN pragma_table_info(t.name) c
    WHERE t.type = 'table' AND c.type IN ('TEXT', 'BLOB')";

/// For the map of a job: its accepted counts.
pub(super) const MAP: &str = "
    SELECT first, past, worker, standing = 'agreed' FROM counts
    WHERE job = ?1 AND place = 0
    ORDER BY first";

/// Who has counted what, the most placements first: owners, or the workers of an owner, or what one
/// worker has counted of each job. Removed jobs are included.
pub(super) const CREDITS: &str = "
    SELECT owner, iif(?1 IS NULL, '', machine), iif(?1 IS NULL, '', worker), iif(?2 IS NULL, NULL, job),
           group_concat(DISTINCT kernel), sum(tasks), total(placements),
           CAST(min(total(busy_us), 9e18) AS INTEGER), sum(agreed), sum(contradicted), max(last_at)
    FROM credits
    WHERE (?1 IS NULL OR owner = ?1) AND (?2 IS NULL OR machine = ?2) AND (?3 IS NULL OR worker = ?3)
    GROUP BY 1, 2, 3, 4 ORDER BY 7 DESC LIMIT ?4";

/// Keeps the thread time of a job that is about to be removed.
pub(super) const KEEP_HOURS: &str = "
    INSERT INTO removed_hours
    SELECT owner, counted_by, day, processor_us, gpu_us FROM accounting WHERE job = ?
    ON CONFLICT DO UPDATE SET
        processor_us = CAST(min(processor_us + excluded.processor_us, 4e18) AS INTEGER),
        gpu_us = CAST(min(gpu_us + excluded.gpu_us, 4e18) AS INTEGER)";

/// Keeps the credit for a job that is about to be removed.
pub(super) const KEEP_CREDITS: &str = "
    INSERT INTO removed_credits
    SELECT owner, machine, worker, kernel, sum(tasks), total(placements),
           CAST(min(total(busy_us), 4e18) AS INTEGER), sum(agreed), sum(contradicted), max(last_at)
    FROM credits WHERE job = ?
    GROUP BY 1, 2, 3, 4
    ON CONFLICT DO UPDATE SET
        tasks = tasks + excluded.tasks, placements = placements + excluded.placements,
        busy_us = CAST(min(busy_us + excluded.busy_us, 4e18) AS INTEGER),
        agreed = agreed + excluded.agreed, contradicted = contradicted + excluded.contradicted,
        last_at = max(last_at, excluded.last_at)";
