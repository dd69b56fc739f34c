-- Times are Unix milliseconds, for people only. Counts and totals are decimal text: SQLite's
-- integers end at 2^63.

-- How often and by what this ledger was opened; the newest epoch is part of every lease number.
CREATE TABLE openings (
    epoch     INTEGER PRIMARY KEY,
    opened_at INTEGER NOT NULL,
    build     TEXT NOT NULL
) STRICT;

CREATE TABLE jobs (
    id           INTEGER PRIMARY KEY,
    problem      TEXT NOT NULL,
    n            INTEGER NOT NULL,
    method       TEXT NOT NULL,
    parameter    INTEGER,            -- of the method: M of rows, the width of ring
    tasks        INTEGER NOT NULL,
    fingerprint  TEXT NOT NULL,
    priority     INTEGER NOT NULL,
    state        TEXT NOT NULL,
    total        TEXT,               -- once it is done
    submitted_at INTEGER NOT NULL,
    ended_at     INTEGER
) STRICT;

-- Accepted partial counts. Ranges [first, past) of one job never overlap.
CREATE TABLE ranges (
    job         INTEGER NOT NULL REFERENCES jobs (id),
    first       INTEGER NOT NULL,
    past        INTEGER NOT NULL CHECK (first < past),
    count       TEXT NOT NULL,
    lease       INTEGER NOT NULL,
    worker      TEXT NOT NULL,
    busy_us     INTEGER NOT NULL,
    accepted_at INTEGER NOT NULL,
    seal        INTEGER NOT NULL,    -- checksum over job, first, past, count, lease and worker
    PRIMARY KEY (job, first)
) STRICT, WITHOUT ROWID;

-- Counts that contradict an accepted one, and accepted ones that were overruled.
CREATE TABLE disputes (
    job      INTEGER NOT NULL REFERENCES jobs (id),
    first    INTEGER NOT NULL,
    past     INTEGER NOT NULL CHECK (first < past),
    count    TEXT NOT NULL,
    worker   TEXT NOT NULL,
    lease    INTEGER NOT NULL,
    noted_at INTEGER NOT NULL,
    settled  INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX disputes_by_range ON disputes (job, first, past);
