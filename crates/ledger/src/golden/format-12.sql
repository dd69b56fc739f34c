PRAGMA application_id = 1364087628;
PRAGMA user_version = 12;
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
CREATE TABLE audit_policies (
    job       INTEGER NOT NULL REFERENCES jobs (id),
    share_ppm INTEGER NOT NULL,      -- of a million ranges
    seed      INTEGER NOT NULL,      -- decides which
    salt      TEXT NOT NULL,         -- hides the seed in its commitment: 32 hexadecimal digits
    by_search INTEGER NOT NULL,
    across    TEXT NOT NULL,         -- machines or owners: between whom a second opinion lies
    asked_at  INTEGER NOT NULL,
    asked_by  TEXT NOT NULL DEFAULT '', -- the owner who did; empty if nobody knows
    root      TEXT,                  -- of the rows that were committed to, if a beacon decides: 64 hexadecimal digits
    value     TEXT                   -- the beacon's
) STRICT;
INSERT INTO "audit_policies" VALUES(1,1000000,7373862735495620834,'93097b2d102a4461e71577acdb33a040',0,'owners',1795613062254,'admin',NULL,NULL);
INSERT INTO "audit_policies" VALUES(2,1000000,3540262268839756858,'b13b54e2e934ddd461b4552c422e69b2',0,'machines',1795613062266,'admin',NULL,NULL);
INSERT INTO "audit_policies" VALUES(2,300000,4849689818575787434,'00000000000000000000000000000000',0,'machines',1795613062883,'admin','705eead37d02af50f77c31f5bed6ca44385144f021bb1ceb69da7261d0760b0e','4f2c9a71');
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
    signer     INTEGER,
    signatures BLOB,
    PRIMARY KEY (job, first)
) STRICT, WITHOUT ROWID;
INSERT INTO "audits" VALUES(1,0,3,'4',4,'27cf010b961856a2f77f52f171651e64','avx512 mirrored','rack7','node1','vm-6aa8',1,1099511627792,13,1795613062347,5883246392684368253,4,X'E1B04DF2E68E5B77635F02612A281ECC6148EF6DB5E8DB83850A3148A0F9CF7F6427AE1B104CE480184438A11865FFFA2CEDBF8DA1352B552A05E25AA32DD604');
INSERT INTO "audits" VALUES(2,0,4,'4',4,'cc42570f08a175be02f953dadb8ce20b','avx512 mirrored','rack8','node2','vm-7219',1,1099511627790,54,1795613062346,23176157820159367,3,X'3E24DDBA14A5B492BFEE3A96321D70919EEF180C61CAA531C64380BAED1DCF2BE9AE952B4F98825CA25BF038587335A5D7624C75A13774D645B62C5AE006EF0F');
INSERT INTO "audits" VALUES(2,4,8,'10',10,'fec0219c36ea674184991d22aa0ec2bd','avx512 mirrored','rack7','node1','vm-6aa8',1,1099511627785,77,1795613062344,-3330411398546537602,3,X'C0964182F67E38915D933E51A3AA3CAE660432EBF23A9EB6A88FF26C8B15CFAA93F806323D36D87D6BC4BE06A142B6DE591697DA0E950938583E8BD9B9B2A90D');
INSERT INTO "audits" VALUES(2,8,14,'36',36,'276bf99fe42def99663c384ba0b24291','avx512 mirrored','rack7','node1','vm-6aa8',1,1099511627786,2,1795613062345,-6765589721746530680,3,X'6CF83B4E72B4D67EE19F21C4545D2D058420BC2C7D63FB5AF29EAD134BBD71353C286444CD07890842F7B614D74022FAE2B2E311E25B601B4FFB44EBF82ACF04');
INSERT INTO "audits" VALUES(2,14,17,'10',10,'d8e783c345dce4c0305497d3ce709721','avx512 mirrored','rack7','node1','vm-6aa8',1,1099511627787,1,1795613062345,2140297045175332454,3,X'D698A7D950560948736D693D9C637B4D07FEC576AD859513C8682AD3FBDBEC9DB3F3A73821145E831C7742D408F9683EE3BFC5EE21EC8C88BE69600F15396907');
INSERT INTO "audits" VALUES(2,17,19,'18',18,'a804b48924becc4c6f21e9d52df2455f','avx512 mirrored','rack7','node1','vm-6aa8',1,1099511627788,0,1795613062345,-7063483598750774245,3,X'CCE449F8609E7D6C2861D3E3FDFAC74D7B330AD227B6DA97A0CE90AAE436B1E108B39B7C8017171B2B7FCC5562CDCF7A657AB7E06AD9BA99F4BD591F139A1501');
INSERT INTO "audits" VALUES(2,19,20,'8',8,'e9862fa9e46e4e1efc659f4a6005df47','avx512 mirrored','rack7','node1','vm-6aa8',1,1099511627789,0,1795613062345,-2297709651827373828,3,X'E35966B4C56B8EF1426A5D9B6EDC5B0750C3B273AD9B4D29FB74F7CFC2E3B0835758A7EE975B8E85EFF422AC1D0551ED734911C31A495BD19AA76384C065AE03');
INSERT INTO "audits" VALUES(2,20,21,'6',6,'eadb4122a3c9e18e5091079277ca6bfe','avx512 mirrored','rack7','node1','vm-6aa8',1,1099511627791,2,1795613062347,5112618330575231158,3,X'5B80F1916804B5309D6B012304247A72035D962D8E443088938EDD11CE161B74A82F154D651E776D3DB0DC398E0BE3AE66E8E90A48C43347469AC873BF2C6603');
CREATE TABLE builds (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO "builds" VALUES(1,'0.1.0/798745745286/rustc-1.95.0/x86_64-unknown-linux-gnu/AMD-EPYC/0x1000065/unknown');
CREATE TABLE changes (
    job        INTEGER NOT NULL REFERENCES jobs (id),
    state      TEXT,                 -- the new one, or
    priority   INTEGER,              -- the new one
    asked_by   TEXT NOT NULL,        -- the owner who did; empty if it followed from the counts, or if nobody knows
    changed_at INTEGER NOT NULL
) STRICT;
INSERT INTO "changes" VALUES(3,'paused',NULL,'lab',1795613062291);
INSERT INTO "changes" VALUES(4,'cancelled',NULL,'admin',1795613062307);
INSERT INTO "changes" VALUES(2,'done',NULL,'',1795613062348);
INSERT INTO "changes" VALUES(1,'done',NULL,'',1795613062348);
INSERT INTO "changes" VALUES(2,'running',NULL,'',1795613062883);
INSERT INTO "changes" VALUES(2,'done',NULL,'',1795613062889);
CREATE TABLE commitments (
    job          INTEGER NOT NULL REFERENCES jobs (id),
    root         TEXT NOT NULL,      -- 64 hexadecimal digits
    asked_by     TEXT NOT NULL,      -- the owner who did
    committed_at INTEGER NOT NULL,
    broken_at    INTEGER             -- since then the rows are others
) STRICT;
INSERT INTO "commitments" VALUES(2,'705eead37d02af50f77c31f5bed6ca44385144f021bb1ceb69da7261d0760b0e','admin',1795613062588,NULL);
CREATE TABLE credentials (
    id         INTEGER PRIMARY KEY,
    owner      TEXT NOT NULL,
    role       TEXT NOT NULL,
    hash       BLOB NOT NULL UNIQUE, -- BLAKE3 of the secret, which is nowhere
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT;
INSERT INTO "credentials" VALUES(1,'rack7','worker',X'64CC59320C5FAF52EBC1EB11045A8F6DEA5F43961EC263D726033A86E7082264',1795613062217,NULL,NULL);
INSERT INTO "credentials" VALUES(2,'rack8','worker',X'CE9BC416194C7CEBC6A8BD614A4F53A63EF1D32A09195D4C4F5777D0B5668452',1795613062227,NULL,NULL);
INSERT INTO "credentials" VALUES(3,'lab','submitter',X'216EF22409E187A7D1B867FC113A7C28CBDCBC6F48B3B89568AAAE22204996D1',1795613062235,1803389062235,NULL);
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
    state    INTEGER NOT NULL,       -- 0 open, 1 settled, 2 taken back: its maker is believed no
                                     -- more, or no longer apart enough to confirm
    signer   INTEGER,
    signatures BLOB
) STRICT;
CREATE TABLE identity (
    ledger    TEXT NOT NULL,         -- 32 random hexadecimal digits
    decisions INTEGER NOT NULL,      -- transactions that changed more than counts
    is_closed INTEGER NOT NULL       -- whether nothing of it is in FILE-wal
) STRICT;
INSERT INTO "identity" VALUES('81b214f8b9e893855e292397c26ef165',14,1);
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
    seed_told    INTEGER NOT NULL,   -- it was over since its newest audit was ordered, or a beacon drew that
    submitted_at INTEGER NOT NULL,
    ended_at     INTEGER,
    owner        TEXT NOT NULL DEFAULT '', -- of the credential that submitted it; empty if nobody knows
    key          TEXT                -- the owner's name for it, if it has one
) STRICT;
INSERT INTO "jobs" VALUES(1,'total',6,'rows',1,3,'ff10b8461917de72e6639e19b5ebe2e91b43a7ec4a986445dbc598fb8fc899ac',1,1,0,'done','4',NULL,1,1795613062254,1795613062348,'admin','six');
INSERT INTO "jobs" VALUES(2,'total',8,'rows',2,21,'699aae3782482f54d2417dc17a1911eb7adac09b9264cb4780a9b3b3c6c3bb32',1,1,3,'done','92',NULL,1,1795613062266,1795613062889,'admin',NULL);
INSERT INTO "jobs" VALUES(3,'total',9,'rows',2,28,'30f9995cac5b2266bf9a607daa7be8bac1c2bf1ab9102fa51925bb446ecebc66',1,1,0,'paused',NULL,NULL,0,1795613062276,NULL,'lab','nine');
INSERT INTO "jobs" VALUES(4,'total',12,'rows',3,378,'e8bf6f1a9eb7c3ecf33fd659b84991bcc1e86f480f1bc2904dc2605345fda3d3',1,1,0,'cancelled',NULL,NULL,1,1795613062285,1795613062307,'admin','twelve');
CREATE TABLE openings (
    epoch     INTEGER PRIMARY KEY,
    opened_at INTEGER NOT NULL,
    build     TEXT NOT NULL,
    nonce     INTEGER NOT NULL DEFAULT 0, -- random: tells it from an opening of the same number of a copy
    decisions INTEGER NOT NULL DEFAULT 0, -- that the ledger had seen before
    gives_up  INTEGER NOT NULL DEFAULT 0  -- whether later states that were served before are given up
) STRICT;
INSERT INTO "openings" VALUES(1,1795613060725,'0.1.0',3971765549498201220,0,0);
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
    signer      INTEGER,             -- see signers; NULL if nobody signed it
    signatures  BLOB,                -- what was signed of it, see signatures.rs
    PRIMARY KEY (job, first)
) STRICT, WITHOUT ROWID;
INSERT INTO "ranges" VALUES(1,0,3,'4',4,'27cf010b961856a2f77f52f171651e64','avx2','rack8','node2','vm-7219',1,1099511627784,55,1795613062344,2350404621328077734,2,2,X'2EBE4BB418139447D9E769F589A723BF87DC85CFF57556295577480BADEC955240D3D9199C43E3E08CA03BB5DEFB7A6F4BC7766F4B5760B59E2B099AC911820C');
INSERT INTO "ranges" VALUES(2,0,4,'4',4,'cc42570f08a175be02f953dadb8ce20b','portable','rack7','node1','vm-6aa8',1,1099511627777,24,1795613062343,-5639599777808401593,2,1,X'B1A93B8AE5706D945714F1E3101616F9E23D74A3E35483DD9586E0D389D256233C5DCA4B4DAB9F2C372BC6D254B3A4F23AE12BD8EFB6441DF5FA24EEE416BC0B');
INSERT INTO "ranges" VALUES(2,4,8,'10',10,'fec0219c36ea674184991d22aa0ec2bd','avx2','rack8','node2','vm-7219',1,1099511627778,108,1795613062341,-105816713612299635,2,1,X'F083ECF406F630E15A734084D764FD72E60B13E176DB525749ABC208C90B620CD758765CACAE248053AE4DD388907E598A31E8F7969104AB2A249EE542852C0F');
INSERT INTO "ranges" VALUES(2,8,14,'36',36,'276bf99fe42def99663c384ba0b24291','avx2','rack8','node2','vm-7219',1,1099511627779,3,1795613062341,-486093470209272739,2,1,X'98DB909DBB8CC12A62E7FF86B1152D776323AA120A38DC73985079611DA125473913791E98803B7048F20AA00F4D6E48701609D75EA0B0119020E433413EBB03');
INSERT INTO "ranges" VALUES(2,14,17,'10',10,'d8e783c345dce4c0305497d3ce709721','avx2','rack8','node2','vm-7219',1,1099511627780,1,1795613062342,-3545946279141296681,2,1,X'6662097625C2C9BC983FBFDFC31FD5EEA7F84B6D5255566B345FF730C22D0B90BC2E98B5752D19A3486CF4553009FB70E73A9A50A08CDC3BE632FFE3EE83EC0D');
INSERT INTO "ranges" VALUES(2,17,19,'18',18,'a804b48924becc4c6f21e9d52df2455f','avx2','rack8','node2','vm-7219',1,1099511627781,1,1795613062342,-8518773369745078845,2,1,X'81A76506BD33B543C3E635B2767AC29086D43BB874C47FAA49240270158C1E319F8B7A3183159CD7489E4846FC8C1888C1873F3C38E1D8B684E582099D0CA909');
INSERT INTO "ranges" VALUES(2,19,20,'8',8,'e9862fa9e46e4e1efc659f4a6005df47','avx2','rack8','node2','vm-7219',1,1099511627782,1,1795613062343,-9085198412561760619,2,1,X'536C006850D20669D4F24CCF40A8E6386794EBB95ADE33208B37888898E7F89C966CDF99D1F7897C6F65CDFBACA4A6A896CEC67F5657F8B3B249030110634B08');
INSERT INTO "ranges" VALUES(2,20,21,'6',6,'eadb4122a3c9e18e5091079277ca6bfe','avx2','rack8','node2','vm-7219',1,1099511627783,1,1795613062343,-4792086992079656955,2,1,X'1E189221E7FBF5DE771814D0F696CFB77637389A54F283A9CDFE8D46D3261DB50299592119D99CAD0AF53D7FF801B62A06170C014036A0553DFA221AACF71202');
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
CREATE TABLE signers (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO "signers" VALUES(1,'ed25519:11806d29e95111531a02da08a9ec0b3a2056d1e87b834a33a380bc45d9bbafeb 81b214f8b9e893855e292397c26ef165 2 count');
INSERT INTO "signers" VALUES(2,'ed25519:11806d29e95111531a02da08a9ec0b3a2056d1e87b834a33a380bc45d9bbafeb 81b214f8b9e893855e292397c26ef165 1 count');
INSERT INTO "signers" VALUES(3,'ed25519:11806d29e95111531a02da08a9ec0b3a2056d1e87b834a33a380bc45d9bbafeb 81b214f8b9e893855e292397c26ef165 2 recount');
INSERT INTO "signers" VALUES(4,'ed25519:11806d29e95111531a02da08a9ec0b3a2056d1e87b834a33a380bc45d9bbafeb 81b214f8b9e893855e292397c26ef165 1 recount');
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
INSERT INTO "trust" VALUES('rack9','node3',0,NULL,NULL,NULL,'its memory fails',1795613063404);
CREATE UNIQUE INDEX jobs_by_key ON jobs (owner, key) WHERE key IS NOT NULL;
CREATE INDEX audit_policies_by_job ON audit_policies (job);
CREATE INDEX commitments_by_job ON commitments (job);
CREATE INDEX changes_by_job ON changes (job);
CREATE INDEX ranges_to_audit ON ranges (job, first) WHERE audit = 1;
CREATE INDEX disputes_by_range ON disputes (job, first, past);
COMMIT;
