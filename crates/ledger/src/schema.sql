-- Times are Unix milliseconds, for people only. Counts and totals are decimal text: SQLite's
-- integers end at 2^63.

-- Each opening of this ledger, and the program that opened it. The newest epoch is part of the
-- number of every new lease.
CREATE TABLE epochs (
    epoch     INTEGER PRIMARY KEY,
    opened_at INTEGER NOT NULL,
    build     TEXT NOT NULL,
    opening   INTEGER NOT NULL       -- a random number, so that no two openings are alike
) STRICT;

CREATE TABLE jobs (
    id           INTEGER PRIMARY KEY,
    problem      TEXT NOT NULL,
    n            INTEGER NOT NULL,
    method       TEXT NOT NULL,
    parameter    INTEGER,            -- of the method: M of rows and prefixes
    tasks        INTEGER NOT NULL,   -- of the plan
    fingerprint  TEXT NOT NULL,
    shard        INTEGER NOT NULL,   -- which part of the plan is wanted, from 1 on, of how many:
    shards       INTEGER NOT NULL,   -- 1 of 1 is all
    priority     INTEGER NOT NULL,
    state        TEXT NOT NULL,
    total        TEXT,               -- once it is done
    reason       TEXT,               -- why it is suspended, while it is
    submitted_at INTEGER NOT NULL,
    begun_at     INTEGER,            -- when its first range was leased
    counted_at   INTEGER,            -- since when all its tasks are accepted
    paused_at    INTEGER,            -- since when it is paused, or counts were taken back in that pause
    paused_ms    INTEGER NOT NULL DEFAULT 0, -- from begun_at until counted_at: in pauses, while workers counted other
                                     -- jobs instead, and with all tasks until some were taken back
    ended_at     INTEGER,
    owner        TEXT NOT NULL,      -- of the credential that submitted it; empty if ledgers were merged
    key          TEXT                -- the owner's name for it, if it has one
) STRICT;
CREATE UNIQUE INDEX jobs_by_key ON jobs (owner, key) WHERE key IS NOT NULL;

-- Jobs that were removed. Only these rows are left of them, and their hours and the credit for them, which do not name
-- jobs. No other job gets their numbers.
CREATE TABLE removed (
    job        INTEGER PRIMARY KEY,
    owner      TEXT NOT NULL,
    problem    TEXT NOT NULL,
    n          INTEGER NOT NULL,
    method     TEXT NOT NULL,
    parameter  INTEGER,
    state      TEXT NOT NULL,        -- that it had
    total      TEXT,
    removed_at INTEGER NOT NULL
) STRICT;

-- What `accounting` said of jobs when they were removed.
CREATE TABLE removed_hours (
    owner        TEXT NOT NULL,
    counted_by   TEXT NOT NULL,
    day          TEXT NOT NULL,
    processor_us INTEGER NOT NULL,
    gpu_us       INTEGER NOT NULL,
    PRIMARY KEY (owner, counted_by, day)
) STRICT, WITHOUT ROWID;

-- What `credits` said of jobs when they were removed.
CREATE TABLE removed_credits (
    owner        TEXT NOT NULL,
    machine      TEXT NOT NULL,
    worker       TEXT NOT NULL,
    kernel       TEXT NOT NULL,
    tasks        INTEGER NOT NULL,
    placements   REAL NOT NULL,
    busy_us      INTEGER NOT NULL,
    agreed       INTEGER NOT NULL,
    contradicted INTEGER NOT NULL,
    last_at      INTEGER NOT NULL,
    PRIMARY KEY (owner, machine, worker, kernel)
) STRICT, WITHOUT ROWID;

-- The policies that say which ranges are counted twice. The newest policy of a job also holds for
-- ranges that come later.
CREATE TABLE audit_policies (
    job       INTEGER NOT NULL REFERENCES jobs (id),
    share_ppm INTEGER NOT NULL,      -- of a million ranges
    seed      INTEGER NOT NULL,      -- decides which, and is told nobody
    by_reference INTEGER NOT NULL,   -- whether tasks of colours are counted again by the reference
    across    TEXT NOT NULL,         -- machines or owners: between whom a second opinion lies
    asked_at  INTEGER NOT NULL,
    asked_by  TEXT NOT NULL          -- the owner who did; empty if ledgers were merged
) STRICT;
CREATE INDEX audit_policies_by_job ON audit_policies (job);

-- How jobs were changed. This table informs people, and no decision rests on it.
CREATE TABLE changes (
    job        INTEGER NOT NULL REFERENCES jobs (id),
    state      TEXT,                 -- the new one, or `begun` when the first range is leased, `counted` when all are accepted,
                                     -- `taken_back` when some are no longer, or
    priority   INTEGER,              -- the new one
    asked_by   TEXT NOT NULL,        -- the owner who did; empty if it followed from the counts
    changed_at INTEGER NOT NULL
) STRICT;
CREATE INDEX changes_by_job ON changes (job);

-- What counted: the program and the machine, as a worker describes them (executor, provenance.rs).
-- Counts refer to a build by its id.
CREATE TABLE builds (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;

-- Counts of the ordinals [first, past) of a job. The column `standing` alone says what a count is
-- used for:
--
--   place 0         accepted, and in the total. These never overlap.
--     not_chosen    nobody asked for a second count
--     wanted        a second count is asked for
--     agreed        two parties counted it alike
--   place 1         second: by another party and another kernel than the accepted count, with which it agrees
--   places from 2   evidence, in the order in which it became that. It is in no total.
--     open          it contradicts the accepted count, and nobody knows yet which is right
--     settled       its dispute is over
--     taken_back    its principal is distrusted, or no longer apart enough to confirm
CREATE TABLE counts (
    job         INTEGER NOT NULL REFERENCES jobs (id),
    first       INTEGER NOT NULL,
    past        INTEGER NOT NULL CHECK (first < past),
    place       INTEGER NOT NULL,    -- among those that begin with one ordinal
    count       TEXT NOT NULL,
    residue     INTEGER NOT NULL,    -- of the count modulo 2^61 - 1, carried apart from it
    digest      TEXT NOT NULL,       -- of which task counts what
    kernel      TEXT NOT NULL,       -- what counted it
    owner       TEXT NOT NULL,       -- of the credential under which it came
    machine     TEXT NOT NULL,       -- as the worker names it
    worker      TEXT NOT NULL,
    build       INTEGER NOT NULL,    -- see builds
    lease       INTEGER NOT NULL,
    busy_us     INTEGER NOT NULL,
    noted_at    INTEGER NOT NULL,    -- when it came
    checksum    INTEGER NOT NULL,    -- over job to lease, without the place
    standing    TEXT NOT NULL,
    task_counts BLOB,                -- what each task counts, if it is accepted and that is told: eight bytes each, the lowest
                                     -- first. The last column, so that the others are read without
                                     -- it
    PRIMARY KEY (job, first, place),
    CHECK (CASE place WHEN 0 THEN standing IN ('not_chosen', 'wanted', 'agreed')
                      WHEN 1 THEN standing = 'second'
                      ELSE place > 1 AND standing IN ('open', 'settled', 'taken_back') END)
) STRICT, WITHOUT ROWID;
CREATE INDEX counts_to_audit ON counts (job, first) WHERE standing = 'wanted';
CREATE INDEX counts_disputed ON counts (job, first, past) WHERE standing = 'open';
CREATE INDEX counts_evidence ON counts (job, first, past) WHERE place > 1;

-- Who is distrusted, or trusted again. The latest row about a party holds; none is ever deleted.
CREATE TABLE trust (
    owner    TEXT NOT NULL,
    machine  TEXT,                   -- all machines of the owner if it is NULL
    trusted  INTEGER NOT NULL,
    job      INTEGER REFERENCES jobs (id), -- the range that proved it wrong, unless a person decided
    first    INTEGER,
    past     INTEGER,
    reason   TEXT NOT NULL,          -- for people
    noted_at INTEGER NOT NULL
) STRICT;

-- The files in the folder of keys beside this ledger with which it was served; the file `token` may
-- be elsewhere. A coordinator that lacks one of these files says so.
CREATE TABLE keys (
    name     TEXT PRIMARY KEY,
    noted_at INTEGER NOT NULL
) STRICT;

-- Who may use the coordinator.
CREATE TABLE credentials (
    id         INTEGER PRIMARY KEY,
    owner      TEXT NOT NULL,
    role       TEXT NOT NULL,
    hash       BLOB NOT NULL UNIQUE, -- BLAKE3 of the secret, which is nowhere
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT;

-- What each count is to the credit of who made it; of removed jobs, all counts of a worker and
-- kernel together, without a job. A second count adds its time, but neither its placements nor its
-- agreement, which the accepted count adds already. Evidence contradicts unless an accepted count
-- of the same range has the same digest.
CREATE VIEW credits AS
SELECT job, owner, machine, worker, kernel,
       iif(place = 0, past - first, 0) AS tasks,
       iif(place = 0, CAST(count AS REAL), 0.0) AS placements,
       busy_us,
       standing = 'agreed' AS agreed,
       place > 1 AND NOT EXISTS (
           SELECT 1 FROM counts a
           WHERE a.job = c.job AND a.first = c.first AND a.place = 0 AND a.past = c.past
               AND a.digest = c.digest) AS contradicted,
       noted_at AS last_at
FROM counts c
UNION ALL
SELECT NULL, owner, machine, worker, kernel, tasks, placements, busy_us, agreed, contradicted, last_at
FROM removed_credits;

-- The thread time of the counts of a job, by the owner who counted and the day in UTC on which they
-- were noted: accepted ranges, second counts, and what is only evidence. All removed jobs of an
-- owner are told together, without a job. The microseconds are exact up to 2^53. The sums are
-- floating-point, because sums of integers would fail if a worker invents times.
CREATE VIEW accounting AS
SELECT *, processor_us / 3.6e9 AS processor_hours, gpu_us / 3.6e9 AS gpu_hours
FROM (SELECT job,
             jobs.owner AS owner,          -- whose job it is
             counted.owner AS counted_by,  -- the owner of the worker's credential
             date(noted_at / 1000, 'unixepoch') AS day,
             CAST(min(total(CASE kernel WHEN 'gpu' THEN 0 ELSE busy_us END), 4e18) AS INTEGER) AS processor_us,
             CAST(min(total(CASE kernel WHEN 'gpu' THEN busy_us ELSE 0 END), 4e18) AS INTEGER) AS gpu_us
      FROM counts AS counted
      JOIN jobs ON jobs.id = job
      GROUP BY 1, 3, 4
      UNION ALL SELECT NULL, owner, counted_by, day, processor_us, gpu_us FROM removed_hours);
