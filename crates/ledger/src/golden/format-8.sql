PRAGMA application_id = 1364087628;
PRAGMA user_version = 8;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE identity (
    ledger    TEXT NOT NULL,         -- 32 random hexadecimal digits
    decisions INTEGER NOT NULL,      -- transactions that changed more than counts
    is_closed INTEGER NOT NULL       -- whether nothing of it is in FILE-wal
) STRICT;
INSERT INTO identity VALUES('79c5b1d15310abdf4756a247fd4eeaf5',0,1);
CREATE TABLE openings (
    epoch     INTEGER PRIMARY KEY,
    opened_at INTEGER NOT NULL,
    build     TEXT NOT NULL,
    nonce     INTEGER NOT NULL DEFAULT 0, -- random: tells it from an opening of the same number of a copy
    decisions INTEGER NOT NULL DEFAULT 0, -- that the ledger had seen before
    gives_up  INTEGER NOT NULL DEFAULT 0  -- whether later states that were served before are given up
) STRICT;
INSERT INTO openings VALUES(1,1795415684235,'0.1.0',0,0,0);
INSERT INTO openings VALUES(2,1795428275009,'0.1.0',5884892540151592260,0,0);
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
INSERT INTO jobs VALUES(1,'total',6,'rows',1,3,'ff10b8461917de72e6639e19b5ebe2e91b43a7ec4a986445dbc598fb8fc899ac',1,1,0,'done','4',NULL,1,1795415686273,1795415686363,'admin','six');
INSERT INTO jobs VALUES(2,'total',8,'rows',2,21,'699aae3782482f54d2417dc17a1911eb7adac09b9264cb4780a9b3b3c6c3bb32',1,1,3,'done','92',NULL,1,1795415686299,1795415686364,'admin',NULL);
INSERT INTO jobs VALUES(3,'total',9,'rows',2,28,'30f9995cac5b2266bf9a607daa7be8bac1c2bf1ab9102fa51925bb446ecebc66',1,1,0,'paused',NULL,NULL,0,1795415686627,NULL,'lab','nine');
INSERT INTO jobs VALUES(4,'total',12,'rows',3,378,'e8bf6f1a9eb7c3ecf33fd659b84991bcc1e86f480f1bc2904dc2605345fda3d3',1,1,0,'cancelled',NULL,NULL,1,1795415686671,1795415686682,'admin','twelve');
CREATE TABLE audit_policies (
    job       INTEGER NOT NULL REFERENCES jobs (id),
    share_ppm INTEGER NOT NULL,      -- of a million ranges
    seed      INTEGER NOT NULL,      -- decides which
    salt      TEXT NOT NULL,         -- hides the seed in its commitment: 32 hexadecimal digits
    by_search INTEGER NOT NULL,
    across    TEXT NOT NULL,         -- machines or owners: between whom a second opinion lies
    asked_at  INTEGER NOT NULL
) STRICT;
INSERT INTO audit_policies VALUES(1,1000000,1155913830120160087,'1580ce8743d995a75d02c6634cd53d6a',0,'owners',1795415686274);
INSERT INTO audit_policies VALUES(2,1000000,8498876174304008293,'49b77a472483e88c72a8ff118c712733',0,'machines',1795415686299);
CREATE TABLE builds (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO builds VALUES(1,'0.1.0/c52ef1d7665e/rustc-1.95.0/x86_64-unknown-linux-gnu/AMD-EPYC/0x1000065/unknown');
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
INSERT INTO ranges VALUES(1,0,3,'4',4,'27cf010b961856a2f77f52f171651e64','portable','rack7','node1','node1-a',1,1099511627784,6,1795415686356,-1072104139102539835,2);
INSERT INTO ranges VALUES(2,0,4,'4',4,'cc42570f08a175be02f953dadb8ce20b','portable','rack7','node1','node1-a',1,1099511627777,40,1795415686350,-6556996930935129963,2);
INSERT INTO ranges VALUES(2,4,8,'10',10,'fec0219c36ea674184991d22aa0ec2bd','avx2','rack8','node2','node2-a',1,1099511627778,115,1795415686358,814675619316380737,2);
INSERT INTO ranges VALUES(2,8,14,'36',36,'276bf99fe42def99663c384ba0b24291','portable','rack7','node1','node1-a',1,1099511627779,9,1795415686355,3965755230321145569,2);
INSERT INTO ranges VALUES(2,14,17,'10',10,'d8e783c345dce4c0305497d3ce709721','portable','rack7','node1','node1-a',1,1099511627780,5,1795415686356,-5366121225155441199,2);
INSERT INTO ranges VALUES(2,17,19,'18',18,'a804b48924becc4c6f21e9d52df2455f','portable','rack7','node1','node1-a',1,1099511627781,4,1795415686356,961575531828400775,2);
INSERT INTO ranges VALUES(2,19,20,'8',8,'e9862fa9e46e4e1efc659f4a6005df47','portable','rack7','node1','node1-a',1,1099511627782,3,1795415686356,3444263109061225886,2);
INSERT INTO ranges VALUES(2,20,21,'6',6,'eadb4122a3c9e18e5091079277ca6bfe','portable','rack7','node1','node1-a',1,1099511627783,3,1795415686356,-4024939129995269103,2);
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
INSERT INTO audits VALUES(1,0,3,'4',4,'27cf010b961856a2f77f52f171651e64','avx512 mirrored','rack8','node2','node2-a',1,1099511627792,65,1795415686362,2479228277337463754);
INSERT INTO audits VALUES(2,0,4,'4',4,'cc42570f08a175be02f953dadb8ce20b','avx512 mirrored','rack8','node2','node2-a',1,1099511627785,63,1795415686360,-808284546342601530);
INSERT INTO audits VALUES(2,4,8,'10',10,'fec0219c36ea674184991d22aa0ec2bd','avx512 mirrored','rack7','node1','node1-a',1,1099511627791,86,1795415686362,-2751915201334212165);
INSERT INTO audits VALUES(2,8,14,'36',36,'276bf99fe42def99663c384ba0b24291','avx512 mirrored','rack8','node2','node2-a',1,1099511627786,6,1795415686361,-2076214445235955559);
INSERT INTO audits VALUES(2,14,17,'10',10,'d8e783c345dce4c0305497d3ce709721','avx512 mirrored','rack8','node2','node2-a',1,1099511627787,2,1795415686361,987394848880015840);
INSERT INTO audits VALUES(2,17,19,'18',18,'a804b48924becc4c6f21e9d52df2455f','avx512 mirrored','rack8','node2','node2-a',1,1099511627788,1,1795415686361,-4843927937001983550);
INSERT INTO audits VALUES(2,19,20,'8',8,'e9862fa9e46e4e1efc659f4a6005df47','avx512 mirrored','rack8','node2','node2-a',1,1099511627789,0,1795415686361,8645171514463608919);
INSERT INTO audits VALUES(2,20,21,'6',6,'eadb4122a3c9e18e5091079277ca6bfe','avx512 mirrored','rack8','node2','node2-a',1,1099511627790,0,1795415686361,1116065851189705413);
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
INSERT INTO trust VALUES('rack9','node3',0,NULL,NULL,NULL,'its memory fails',1795415686715);
CREATE TABLE credentials (
    id         INTEGER PRIMARY KEY,
    owner      TEXT NOT NULL,
    role       TEXT NOT NULL,
    hash       BLOB NOT NULL UNIQUE, -- BLAKE3 of the secret, which is nowhere
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT;
INSERT INTO credentials VALUES(1,'rack7','worker',X'322ae5d8647b9eebe6fecdd3e41e1964d88480c2ddc42bb083f4c7e58c043166',1795415686196,NULL,NULL);
INSERT INTO credentials VALUES(2,'rack8','worker',X'80b946519c243e95d1ef8ca9fc86122e91384d0a3f002aa7ec1ac3597d215de5',1795415686224,NULL,NULL);
INSERT INTO credentials VALUES(3,'lab','submitter',X'5b96f2823e73dfe27ae6c209c409cfadf0cb5532d41ac5e31c77ec9381ec81c7',1795415686253,1803191686253,1795415686743);
CREATE UNIQUE INDEX jobs_by_key ON jobs (owner, key) WHERE key IS NOT NULL;
CREATE INDEX audit_policies_by_job ON audit_policies (job);
CREATE INDEX ranges_to_audit ON ranges (job, first) WHERE audit = 1;
CREATE INDEX disputes_by_range ON disputes (job, first, past);
COMMIT;
