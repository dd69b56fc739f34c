PRAGMA foreign_keys = OFF;
PRAGMA application_id = 1364087628;
PRAGMA user_version = 6;
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
INSERT INTO "audit_policies" VALUES(1,1000000,196517225883716978,'95a935361c706ca36d7669f4395d41cb',0,'owners',1795413269126);
INSERT INTO "audit_policies" VALUES(2,1000000,6401792071775737440,'2f7a609a61c8b0b4534d97b37f89f23d',0,'machines',1795413269141);
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
INSERT INTO "audits" VALUES(1,0,3,'4',4,'27cf010b961856a2f77f52f171651e64','avx512 mirrored','rack8','node2','node2-a','0.1.0',1099511627794,786,1795413269241,4133992282847926458);
INSERT INTO "audits" VALUES(2,0,4,'4',4,'cc42570f08a175be02f953dadb8ce20b','avx512 mirrored','rack7','node1','node1-a','0.1.0',1099511627786,477,1795413269237,-4895222569561944065);
INSERT INTO "audits" VALUES(2,4,8,'10',10,'fec0219c36ea674184991d22aa0ec2bd','avx512 mirrored','rack8','node2','node2-a','0.1.0',1099511627788,309,1795413269239,-929684943931598573);
INSERT INTO "audits" VALUES(2,8,14,'36',36,'276bf99fe42def99663c384ba0b24291','avx512 mirrored','rack7','node1','node1-a','0.1.0',1099511627787,15,1795413269239,4005617372682621113);
INSERT INTO "audits" VALUES(2,14,17,'10',10,'d8e783c345dce4c0305497d3ce709721','avx512 mirrored','rack7','node1','node1-a','0.1.0',1099511627790,9,1795413269240,-3655657918396995189);
INSERT INTO "audits" VALUES(2,17,18,'12',12,'eabbba91677b6135e91598bb5b14fc8e','avx512 mirrored','rack8','node2','node2-a','0.1.0',1099511627791,1,1795413269239,-2268569614026131547);
INSERT INTO "audits" VALUES(2,18,19,'6',6,'bd48f9f7bd436b16860c5119d2dd48d1','avx512 mirrored','rack7','node1','node1-a','0.1.0',1099511627792,1,1795413269240,-1698206711670333155);
INSERT INTO "audits" VALUES(2,19,20,'8',8,'e9862fa9e46e4e1efc659f4a6005df47','avx512 mirrored','rack8','node2','node2-a','0.1.0',1099511627789,1,1795413269239,6342589792534001722);
INSERT INTO "audits" VALUES(2,20,21,'6',6,'eadb4122a3c9e18e5091079277ca6bfe','avx512 mirrored','rack8','node2','node2-a','0.1.0',1099511627793,0,1795413269239,-3517326388063681816);
CREATE TABLE credentials (
    id         INTEGER PRIMARY KEY,
    owner      TEXT NOT NULL,
    role       TEXT NOT NULL,
    hash       BLOB NOT NULL UNIQUE, -- BLAKE3 of the secret, which is nowhere
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT;
INSERT INTO "credentials" VALUES(1,'rack7','worker',X'3AFCCD5120C6E25E9A08C713498DA495DF9B029886DF8C34196EF10A4E586486',1795413269043,NULL,NULL);
INSERT INTO "credentials" VALUES(2,'rack8','worker',X'18262939D0636BE785C2AD0166DCFA683CE5B68BE48C1DECD20873D8D6747441',1795413269066,NULL,NULL);
INSERT INTO "credentials" VALUES(3,'lab','submitter',X'C94B6AE0A597D4F8F2AC9FBF124F58D94613FA890772517BB5E994739793F4E7',1795413269099,1803189269099,1795413269547);
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
    state    INTEGER NOT NULL        -- 0 open, 1 settled, 2 taken back: its maker is believed no
                                     -- more, or no longer apart enough to confirm
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
    ended_at     INTEGER,
    owner        TEXT NOT NULL DEFAULT '', -- of the credential that submitted it; empty if nobody knows
    key          TEXT                -- the owner's name for it, if it has one
) STRICT;
INSERT INTO "jobs" VALUES(1,'total',6,'rows',1,3,'ff10b8461917de72e6639e19b5ebe2e91b43a7ec4a986445dbc598fb8fc899ac',1,1,0,'done','4',NULL,1,1795413269126,1795413269242,'admin','six');
INSERT INTO "jobs" VALUES(2,'total',8,'rows',2,21,'699aae3782482f54d2417dc17a1911eb7adac09b9264cb4780a9b3b3c6c3bb32',1,1,3,'done','92',NULL,1,1795413269141,1795413269242,'admin',NULL);
INSERT INTO "jobs" VALUES(3,'total',9,'rows',2,28,'30f9995cac5b2266bf9a607daa7be8bac1c2bf1ab9102fa51925bb446ecebc66',1,1,0,'paused',NULL,NULL,0,1795413269444,NULL,'lab','nine');
INSERT INTO "jobs" VALUES(4,'total',12,'rows',3,378,'e8bf6f1a9eb7c3ecf33fd659b84991bcc1e86f480f1bc2904dc2605345fda3d3',1,1,0,'cancelled',NULL,NULL,1,1795413269484,1795413269507,'admin','twelve');
CREATE TABLE openings (
    epoch     INTEGER PRIMARY KEY,
    opened_at INTEGER NOT NULL,
    build     TEXT NOT NULL
) STRICT;
INSERT INTO "openings" VALUES(1,1795413267591,'0.1.0');
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
INSERT INTO "ranges" VALUES(1,0,3,'4',4,'27cf010b961856a2f77f52f171651e64','portable','rack7','node1','node1-a','0.1.0',1099511627785,7,1795413269232,-4490134228334167165,2);
INSERT INTO "ranges" VALUES(2,0,4,'4',4,'cc42570f08a175be02f953dadb8ce20b','avx2','rack8','node2','node2-a','0.1.0',1099511627777,129,1795413269226,3558479363808906587,2);
INSERT INTO "ranges" VALUES(2,4,8,'10',10,'fec0219c36ea674184991d22aa0ec2bd','portable','rack7','node1','node1-a','0.1.0',1099511627778,35,1795413269232,74214299349203390,2);
INSERT INTO "ranges" VALUES(2,8,14,'36',36,'276bf99fe42def99663c384ba0b24291','avx2','rack8','node2','node2-a','0.1.0',1099511627779,11,1795413269232,534760842865642660,2);
INSERT INTO "ranges" VALUES(2,14,17,'10',10,'d8e783c345dce4c0305497d3ce709721','avx2','rack8','node2','node2-a','0.1.0',1099511627780,6,1795413269232,-6143304637584684136,2);
INSERT INTO "ranges" VALUES(2,17,18,'12',12,'eabbba91677b6135e91598bb5b14fc8e','portable','rack7','node1','node1-a','0.1.0',1099511627782,3,1795413269232,3507911875075332051,2);
INSERT INTO "ranges" VALUES(2,18,19,'6',6,'bd48f9f7bd436b16860c5119d2dd48d1','avx2','rack8','node2','node2-a','0.1.0',1099511627783,4,1795413269232,-1952595417452007313,2);
INSERT INTO "ranges" VALUES(2,19,20,'8',8,'e9862fa9e46e4e1efc659f4a6005df47','portable','rack7','node1','node1-a','0.1.0',1099511627781,6,1795413269232,-5574545849722838689,2);
INSERT INTO "ranges" VALUES(2,20,21,'6',6,'eadb4122a3c9e18e5091079277ca6bfe','portable','rack7','node1','node1-a','0.1.0',1099511627784,2,1795413269232,262052156932947080,2);
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
INSERT INTO "trust" VALUES('rack9','node3',0,NULL,NULL,NULL,'its memory fails',1795413269524);
CREATE UNIQUE INDEX jobs_by_key ON jobs (owner, key) WHERE key IS NOT NULL;
CREATE INDEX ranges_to_audit ON ranges (job, first) WHERE audit = 1;
CREATE INDEX disputes_by_range ON disputes (job, first, past);
COMMIT;
