PRAGMA foreign_keys = OFF;
PRAGMA application_id = 1364087628;
PRAGMA user_version = 5;
BEGIN TRANSACTION;
CREATE TABLE audit_policies (
    job       INTEGER NOT NULL REFERENCES jobs (id),
    share_ppm INTEGER NOT NULL,      -- of a million ranges
    seed      INTEGER NOT NULL,      -- decides which
    salt      TEXT NOT NULL,         -- hides the seed in its commitment: 32 hexadecimal digits
    by_search INTEGER NOT NULL,
    across    TEXT NOT NULL,         -- machines or owners: between whom a second opinion lies
    asked_at  INTEGER NOT NULL
) STRICT;
INSERT INTO "audit_policies" VALUES(1,1000000,6332305882449560027,'3f9e02f70d97163aaa2640426b6f501e',0,'owners',1795388239195);
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
    build      TEXT NOT NULL,
    lease      INTEGER NOT NULL,
    busy_us    INTEGER NOT NULL,
    counted_at INTEGER NOT NULL,
    seal       INTEGER NOT NULL,
    PRIMARY KEY (job, first)
) STRICT, WITHOUT ROWID;
INSERT INTO "audits" VALUES(1,0,3,'0',0,'845f0d3a87a83e9fd3edac2d6d461a63','avx2 mirrored','rack8','node2','node2-a','0.1.0',1099511627787,158,1795388239282,1608475261739402655);
INSERT INTO "audits" VALUES(1,3,6,'2',2,'9fd24429388184199eb2296c7f213cf9','avx2 mirrored','rack8','node2','node2-a','0.1.0',1099511627789,10,1795388239287,-5717965391154631983);
INSERT INTO "audits" VALUES(1,6,10,'2',2,'ad956a4b81bab2caba540f4c83f5f4bc','avx2 mirrored','rack7','node1','node1-a','0.1.0',1099511627788,134,1795388239295,613708135018376669);
CREATE TABLE credentials (
    id         INTEGER PRIMARY KEY,
    owner      TEXT NOT NULL,
    role       TEXT NOT NULL,
    hash       BLOB NOT NULL UNIQUE, -- BLAKE3 of the secret, which is nowhere
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT;
INSERT INTO "credentials" VALUES(1,'rack7','worker',X'7D0E5048D9209D633D84E45D5A46CAEA715EEB4531E945A52EE531E290814451',1795388239109,NULL,NULL);
INSERT INTO "credentials" VALUES(2,'rack8','worker',X'218D2CEE6579E5A60117C08D6D21CCA1D5C36634D6189CD7CC2759A8CF4A24E7',1795388239133,NULL,NULL);
INSERT INTO "credentials" VALUES(3,'lab','submitter',X'8BC51C6AD1817896D2FE937B6778BF79A91391C4A47A5A8161AC50B6BD09776B',1795388239148,1803164239148,1795388239168);
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
    build    TEXT NOT NULL,
    lease    INTEGER NOT NULL,
    busy_us  INTEGER NOT NULL,
    noted_at INTEGER NOT NULL,
    seal     INTEGER NOT NULL,
    state    INTEGER NOT NULL        -- 0 open, 1 settled, 2 taken back: its maker is believed no more
) STRICT;
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
    ended_at     INTEGER
) STRICT;
INSERT INTO "jobs" VALUES(1,'total',6,'rows',2,10,'3eeaa2f6a91eb90e51559f4cb9457373f8df4c39187dbd6f845ecfd9dfd2bbeb',1,1,0,'done','4',NULL,1,1795388239195,1795388239299);
INSERT INTO "jobs" VALUES(2,'total',8,'rows',2,21,'699aae3782482f54d2417dc17a1911eb7adac09b9264cb4780a9b3b3c6c3bb32',1,1,3,'done','92',NULL,1,1795388239218,1795388239274);
INSERT INTO "jobs" VALUES(3,'total',7,'ring',1,34,'5604d8aaf88355b07f84de39f4d900c4bb2908d51219939d61b9caaa280f6720',1,1,0,'paused',NULL,NULL,0,1795388240560,NULL);
INSERT INTO "jobs" VALUES(4,'total',9,'rows',2,28,'30f9995cac5b2266bf9a607daa7be8bac1c2bf1ab9102fa51925bb446ecebc66',1,1,0,'cancelled',NULL,NULL,1,1795388240591,1795388240640);
CREATE TABLE openings (
    epoch     INTEGER PRIMARY KEY,
    opened_at INTEGER NOT NULL,
    build     TEXT NOT NULL
) STRICT;
INSERT INTO "openings" VALUES(1,1795388237641,'0.1.0');
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
    build       TEXT NOT NULL,       -- the worker's program
    lease       INTEGER NOT NULL,
    busy_us     INTEGER NOT NULL,
    accepted_at INTEGER NOT NULL,
    seal        INTEGER NOT NULL,    -- checksum over job to lease
    audit       INTEGER NOT NULL,    -- 0 not chosen, 1 wanted, 2 counted by two parties alike
    PRIMARY KEY (job, first)
) STRICT, WITHOUT ROWID;
INSERT INTO "ranges" VALUES(1,0,3,'0',0,'845f0d3a87a83e9fd3edac2d6d461a63','portable','rack7','node1','node1-a','0.1.0',1099511627784,7,1795388239261,-6457468625018789486,2);
INSERT INTO "ranges" VALUES(1,3,6,'2',2,'9fd24429388184199eb2296c7f213cf9','portable','rack7','node1','node1-a','0.1.0',1099511627785,7,1795388239267,685619052431787990,2);
INSERT INTO "ranges" VALUES(1,6,10,'2',2,'ad956a4b81bab2caba540f4c83f5f4bc','reference','rack8','node2','node2-a','0.1.0',1099511627786,10,1795388239267,672398169261783138,2);
INSERT INTO "ranges" VALUES(2,0,4,'4',4,'cc42570f08a175be02f953dadb8ce20b','reference','rack8','node2','node2-a','0.1.0',1099511627777,43,1795388239257,-5901213014195297905,0);
INSERT INTO "ranges" VALUES(2,4,8,'10',10,'fec0219c36ea674184991d22aa0ec2bd','portable','rack7','node1','node1-a','0.1.0',1099511627778,54,1795388239259,74214299349203390,0);
INSERT INTO "ranges" VALUES(2,8,14,'36',36,'276bf99fe42def99663c384ba0b24291','reference','rack8','node2','node2-a','0.1.0',1099511627779,9,1795388239259,1773053527407009619,0);
INSERT INTO "ranges" VALUES(2,14,17,'10',10,'d8e783c345dce4c0305497d3ce709721','reference','rack8','node2','node2-a','0.1.0',1099511627780,4,1795388239259,317583340289618243,0);
INSERT INTO "ranges" VALUES(2,17,19,'18',18,'a804b48924becc4c6f21e9d52df2455f','reference','rack8','node2','node2-a','0.1.0',1099511627781,4,1795388239267,6280045637037550955,0);
INSERT INTO "ranges" VALUES(2,19,20,'8',8,'e9862fa9e46e4e1efc659f4a6005df47','portable','rack7','node1','node1-a','0.1.0',1099511627782,4,1795388239261,4036116003273133635,0);
INSERT INTO "ranges" VALUES(2,20,21,'6',6,'eadb4122a3c9e18e5091079277ca6bfe','portable','rack7','node1','node1-a','0.1.0',1099511627783,3,1795388239261,-5279632221540236906,0);
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
INSERT INTO "trust" VALUES('rack9','node3',0,NULL,NULL,NULL,'it overheats',1795388240666);
CREATE INDEX ranges_to_audit ON ranges (job, first) WHERE audit = 1;
CREATE INDEX disputes_by_range ON disputes (job, first, past);
COMMIT;
