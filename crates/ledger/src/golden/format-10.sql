PRAGMA application_id = 1364087628;
PRAGMA user_version = 10;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE archive (
    job           INTEGER PRIMARY KEY REFERENCES jobs (id),
    key           TEXT,              -- the owner's name for it, which is free again
    tasks_done    INTEGER NOT NULL,
    counted       TEXT NOT NULL,     -- the sum of these tasks
    audits_wanted INTEGER NOT NULL,
    audits_agreed INTEGER NOT NULL,
    archived_at   INTEGER NOT NULL,
    returned_at   INTEGER            -- since then it is not in the archive
) STRICT;
INSERT INTO "archive" VALUES(2,NULL,21,'92',0,2,1795452228408,1795452228434);
CREATE TABLE audit_policies (
    job       INTEGER NOT NULL REFERENCES jobs (id),
    share_ppm INTEGER NOT NULL,      -- of a million ranges
    seed      INTEGER NOT NULL,      -- decides which
    salt      TEXT NOT NULL,         -- hides the seed in its commitment: 32 hexadecimal digits
    by_search INTEGER NOT NULL,
    across    TEXT NOT NULL,         -- machines or owners: between whom a second opinion lies
    asked_at  INTEGER NOT NULL
, asked_by TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO "audit_policies" VALUES(1,1000000,2478982376677812064,'905999623c30ecb674ede6a30e9c0248',0,'owners',1795452225111,'');
INSERT INTO "audit_policies" VALUES(2,1000000,5947511341961581872,'7326840066f1044d6cb16d6feb7f9e76',0,'machines',1795452225153,'');
CREATE TABLE audits (
    job        INTEGER NOT NULL REFERENCES jobs (id),
    first      INTEGER NOT NULL,
    past       INTEGER NOT NULL CHECK (first < past),
    count      TEXT NOT NULL,
    residue    INTEGER NOT NULL,
    digest     TEXT NOT NULL,
    kernel     TEXT NOT NULL,
    owner      TEXT NOT NULL,       -- of the credential under which it came
    machine    TEXT NOT NULL,       -- as the worker names it
    worker     TEXT NOT NULL,
    build      INTEGER NOT NULL,    -- see builds
    lease      INTEGER NOT NULL,
    busy_us    INTEGER NOT NULL,
    counted_at INTEGER NOT NULL,
    seal       INTEGER NOT NULL,
    PRIMARY KEY (job, first)
) STRICT, WITHOUT ROWID;
INSERT INTO "audits" VALUES(1,0,3,'4',4,'27cf010b961856a2f77f52f171651e64','avx2 mirrored','rack8','node2','node2-a',1,1099511627782,191,1795452225316,-7153503788350717101);
INSERT INTO "audits" VALUES(2,0,4,'4',4,'cc42570f08a175be02f953dadb8ce20b','avx2 mirrored','rack8','node2','node2-a',1,1099511627780,229,1795452225304,-697033108926531170);
INSERT INTO "audits" VALUES(2,4,21,'88',88,'7b79c4550dec3794d7427df41ef42d13','avx2 mirrored','rack8','node2','node2-a',1,1099511627781,27,1795452225311,4487602950078156733);
CREATE TABLE builds (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO "builds" VALUES(1,'0.1.0/0b99cf4af1cc/rustc-1.95.0/x86_64-unknown-linux-gnu/AMD-EPYC/0x1000065/unknown');
CREATE TABLE changes (
                job        INTEGER NOT NULL REFERENCES jobs (id),
                state      TEXT,
                priority   INTEGER,
                asked_by   TEXT NOT NULL,
                changed_at INTEGER NOT NULL
            ) STRICT;
INSERT INTO "changes" VALUES(1,'done',NULL,'',1795452225327);
INSERT INTO "changes" VALUES(2,'done',NULL,'',1795452225316);
INSERT INTO "changes" VALUES(4,'cancelled',NULL,'',1795452225239);
CREATE TABLE credentials (
    id         INTEGER PRIMARY KEY,
    owner      TEXT NOT NULL,
    role       TEXT NOT NULL,
    hash       BLOB NOT NULL UNIQUE, -- BLAKE3 of the secret, which is nowhere
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT;
INSERT INTO "credentials" VALUES(1,'rack7','worker',X'11F8BF70522F4F62656ED71976EEFC75349DCD16E7BDAAE82BB6C4992C954981',1795452225047,NULL,NULL);
INSERT INTO "credentials" VALUES(2,'rack8','worker',X'8D44CABE78D556C59ED5CA74B9BA6BDB6D2909F608AAED052C9EC125B451B0AE',1795452225071,NULL,NULL);
INSERT INTO "credentials" VALUES(3,'lab','submitter',X'0A7A8E05428C43CF42938D20CA9A76A049AF4C94E3FF676A0D033EE93427C8F9',1795452225087,1803228225087,1795452228373);
CREATE TABLE disputes (
    job      INTEGER NOT NULL REFERENCES jobs (id),
    first    INTEGER NOT NULL,
    past     INTEGER NOT NULL CHECK (first < past),
    count    TEXT NOT NULL,
    residue  INTEGER NOT NULL,
    digest   TEXT NOT NULL,
    kernel   TEXT NOT NULL,
    owner    TEXT NOT NULL,       -- of the credential under which it came
    machine  TEXT NOT NULL,       -- as the worker names it
    worker   TEXT NOT NULL,
    build    INTEGER NOT NULL,    -- see builds
    lease    INTEGER NOT NULL,
    busy_us  INTEGER NOT NULL,
    noted_at INTEGER NOT NULL,
    seal     INTEGER NOT NULL,
    state    INTEGER NOT NULL        -- 0 open, 1 settled, 2 taken back: its maker is believed no
                                     -- more, or no longer apart enough to confirm
) STRICT;
CREATE TABLE identity (
    ledger    TEXT NOT NULL,         -- 32 random hexadecimal digits
    decisions INTEGER NOT NULL,      -- transactions that changed more than counts
    is_closed INTEGER NOT NULL       -- whether nothing of it is in FILE-wal
) STRICT;
INSERT INTO "identity" VALUES('7e8d47cfb107ca2ce56e61adbdd76836',14,1);
CREATE TABLE jobs (
    id           INTEGER PRIMARY KEY,
    problem      TEXT NOT NULL,
    n            INTEGER NOT NULL,
    method       TEXT NOT NULL,
    parameter    INTEGER,            -- of the method: M of rows, the width of ring
    tasks        INTEGER NOT NULL,   -- of the plan
    fingerprint  TEXT NOT NULL,
    shard        INTEGER NOT NULL,   -- which part of the plan is wanted, from 1 on, of how many:
    shards       INTEGER NOT NULL,   -- 1 of 1 is all
    priority     INTEGER NOT NULL,
    state        TEXT NOT NULL,
    total        TEXT,               -- once it is done
    reason       TEXT,               -- why it is held, while it is
    seed_told    INTEGER NOT NULL,   -- it was over since its newest audit was ordered
    submitted_at INTEGER NOT NULL,
    ended_at     INTEGER,
    owner        TEXT NOT NULL DEFAULT '', -- of the credential that submitted it; empty if nobody knows
    key          TEXT                -- the owner's name for it, if it has one
) STRICT;
INSERT INTO "jobs" VALUES(1,'total',6,'rows',1,3,'ff10b8461917de72e6639e19b5ebe2e91b43a7ec4a986445dbc598fb8fc899ac',1,1,0,'done','4',NULL,1,1795452225111,1795452225327,'admin','six');
INSERT INTO "jobs" VALUES(2,'total',8,'rows',2,21,'699aae3782482f54d2417dc17a1911eb7adac09b9264cb4780a9b3b3c6c3bb32',1,1,3,'done','92',NULL,1,1795452225153,1795452225316,'admin',NULL);
INSERT INTO "jobs" VALUES(3,'total',9,'rows',2,28,'30f9995cac5b2266bf9a607daa7be8bac1c2bf1ab9102fa51925bb446ecebc66',1,1,0,'paused',NULL,NULL,0,1795452225177,NULL,'lab','nine');
INSERT INTO "jobs" VALUES(4,'total',12,'rows',3,378,'e8bf6f1a9eb7c3ecf33fd659b84991bcc1e86f480f1bc2904dc2605345fda3d3',1,1,0,'cancelled',NULL,NULL,1,1795452225219,1795452225239,'admin','twelve');
CREATE TABLE openings (
    epoch     INTEGER PRIMARY KEY,
    opened_at INTEGER NOT NULL,
    build     TEXT NOT NULL,
    nonce     INTEGER NOT NULL DEFAULT 0, -- random: tells it from an opening of the same number of a copy
    decisions INTEGER NOT NULL DEFAULT 0, -- that the ledger had seen before
    gives_up  INTEGER NOT NULL DEFAULT 0  -- whether later states that were served before are given up
) STRICT;
INSERT INTO "openings" VALUES(1,1795452224095,'0.1.0',3427430300435592152,0,0);
CREATE TABLE ranges (
    job         INTEGER NOT NULL REFERENCES jobs (id),
    first       INTEGER NOT NULL,
    past        INTEGER NOT NULL CHECK (first < past),
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
    accepted_at INTEGER NOT NULL,
    seal        INTEGER NOT NULL,    -- checksum over job to lease
    audit       INTEGER NOT NULL,    -- 0 not chosen, 1 wanted, 2 counted by two parties alike
    PRIMARY KEY (job, first)
) STRICT, WITHOUT ROWID;
INSERT INTO "ranges" VALUES(1,0,3,'4',4,'27cf010b961856a2f77f52f171651e64','portable','rack7','node1','node1-a',1,1099511627779,5,1795452225293,8256655129557963798,2);
INSERT INTO "ranges" VALUES(2,0,4,'4',4,'cc42570f08a175be02f953dadb8ce20b','portable','rack7','node1','node1-a',1,1099511627777,48,1795452225288,-1040174714197436458,2);
INSERT INTO "ranges" VALUES(2,4,21,'88',88,'7b79c4550dec3794d7427df41ef42d13','portable','rack7','node1','node1-a',1,1099511627778,11,1795452225293,-6259218678119249633,2);
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
CREATE TABLE trust (
    owner    TEXT NOT NULL,
    machine  TEXT,                   -- all machines of the owner if it is NULL
    trusted  INTEGER NOT NULL,
    job      INTEGER REFERENCES jobs (id), -- the range that proved it wrong, unless a person decided
    first    INTEGER,
    past     INTEGER,
    reason   TEXT NOT NULL,          -- of a person
    noted_at INTEGER NOT NULL
) STRICT;
INSERT INTO "trust" VALUES('rack9','node3',0,NULL,NULL,NULL,'its memory fails',1795452228345);
CREATE UNIQUE INDEX jobs_by_key ON jobs (owner, key) WHERE key IS NOT NULL;
CREATE INDEX audit_policies_by_job ON audit_policies (job);
CREATE INDEX ranges_to_audit ON ranges (job, first) WHERE audit = 1;
CREATE INDEX disputes_by_range ON disputes (job, first, past);
CREATE INDEX changes_by_job ON changes (job);
COMMIT;
