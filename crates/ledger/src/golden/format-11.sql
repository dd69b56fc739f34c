PRAGMA application_id = 1364087628;
PRAGMA user_version = 11;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE identity (
    ledger    TEXT NOT NULL,         -- 32 random hexadecimal digits
    decisions INTEGER NOT NULL,      -- transactions that changed more than counts
    is_closed INTEGER NOT NULL       -- whether nothing of it is in FILE-wal
) STRICT;
INSERT INTO identity VALUES('562738bb2ff99efa360f68dbe49a2c04',13,1);
CREATE TABLE openings (
    epoch     INTEGER PRIMARY KEY,
    opened_at INTEGER NOT NULL,
    build     TEXT NOT NULL,
    nonce     INTEGER NOT NULL DEFAULT 0, -- random: tells it from an opening of the same number of a copy
    decisions INTEGER NOT NULL DEFAULT 0, -- that the ledger had seen before
    gives_up  INTEGER NOT NULL DEFAULT 0  -- whether later states that were served before are given up
) STRICT;
INSERT INTO openings VALUES(1,1795574697569,'0.1.0',5313825905368633200,0,0);
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
INSERT INTO jobs VALUES(1,'total',6,'rows',1,3,'ff10b8461917de72e6639e19b5ebe2e91b43a7ec4a986445dbc598fb8fc899ac',1,1,0,'done','4',NULL,1,1795574697744,1795574697934,'admin','six');
INSERT INTO jobs VALUES(2,'total',8,'rows',2,21,'699aae3782482f54d2417dc17a1911eb7adac09b9264cb4780a9b3b3c6c3bb32',1,1,3,'done','92',NULL,1,1795574697763,1795574697931,'admin',NULL);
INSERT INTO jobs VALUES(3,'total',9,'rows',2,28,'30f9995cac5b2266bf9a607daa7be8bac1c2bf1ab9102fa51925bb446ecebc66',1,1,0,'paused',NULL,NULL,0,1795574697783,NULL,'lab','nine');
INSERT INTO jobs VALUES(4,'total',12,'rows',3,378,'e8bf6f1a9eb7c3ecf33fd659b84991bcc1e86f480f1bc2904dc2605345fda3d3',1,1,0,'cancelled',NULL,NULL,1,1795574697805,1795574697842,'admin','twelve');
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
INSERT INTO archive VALUES(2,NULL,21,'92',0,10,1795574698000,1795574698495);
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
CREATE TABLE audit_policies (
    job       INTEGER NOT NULL REFERENCES jobs (id),
    share_ppm INTEGER NOT NULL,      -- of a million ranges
    seed      INTEGER NOT NULL,      -- decides which
    salt      TEXT NOT NULL,         -- hides the seed in its commitment: 32 hexadecimal digits
    by_search INTEGER NOT NULL,
    across    TEXT NOT NULL,         -- machines or owners: between whom a second opinion lies
    asked_at  INTEGER NOT NULL,
    asked_by  TEXT NOT NULL DEFAULT '' -- the owner who did; empty if nobody knows
) STRICT;
INSERT INTO audit_policies VALUES(1,1000000,3902284641452802065,'9ef90cf46bfffc0828b20aa4570e2a52',0,'owners',1795574697744,'admin');
INSERT INTO audit_policies VALUES(2,1000000,4489765916455124233,'b24893452337dd445a48765f9fde58aa',0,'machines',1795574697763,'admin');
CREATE TABLE changes (
    job        INTEGER NOT NULL REFERENCES jobs (id),
    state      TEXT,                 -- the new one, or
    priority   INTEGER,              -- the new one
    asked_by   TEXT NOT NULL,        -- the owner who did; empty if it followed from the counts, or if nobody knows
    changed_at INTEGER NOT NULL
) STRICT;
INSERT INTO changes VALUES(3,'paused',NULL,'admin',1795574697823);
INSERT INTO changes VALUES(4,'cancelled',NULL,'admin',1795574697841);
INSERT INTO changes VALUES(2,'done',NULL,'',1795574697931);
INSERT INTO changes VALUES(1,'done',NULL,'',1795574697934);
CREATE TABLE builds (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO builds VALUES(1,'0.1.0/e2c56f30f53b/rustc-1.95.0/x86_64-unknown-linux-gnu/AMD-EPYC/0x1000065/unknown');
CREATE TABLE signers (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO signers VALUES(1,'ed25519:ff792facbb675da4e74113934187d7dbe56536024584511fbe9bf75180c5321b 562738bb2ff99efa360f68dbe49a2c04 2 count');
INSERT INTO signers VALUES(2,'ed25519:ff792facbb675da4e74113934187d7dbe56536024584511fbe9bf75180c5321b 562738bb2ff99efa360f68dbe49a2c04 2 recount');
INSERT INTO signers VALUES(3,'ed25519:ff792facbb675da4e74113934187d7dbe56536024584511fbe9bf75180c5321b 562738bb2ff99efa360f68dbe49a2c04 1 count');
INSERT INTO signers VALUES(4,'ed25519:ff792facbb675da4e74113934187d7dbe56536024584511fbe9bf75180c5321b 562738bb2ff99efa360f68dbe49a2c04 1 recount');
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
INSERT INTO ranges VALUES(1,0,3,'4',4,'27cf010b961856a2f77f52f171651e64','portable','rack7','node1','node1-a',1,1099511627795,3,1795574697924,-8038747403567619124,2,3,X'6194b5fd03ae00f380e07c0456e4f357d5d392e4fed64ee74cf48699feb04e1b03c533615fca57e9755bb0a00d27f0b719d8ff7cd1877e2d3db9426333487507');
INSERT INTO ranges VALUES(2,0,4,'4',4,'cc42570f08a175be02f953dadb8ce20b','portable','rack7','node1','node1-a',1,1099511627777,40,1795574697886,-7915169852774828836,2,1,X'051beac3b8449711f6baf0c3fb865a26ef4d8a1a402c72da90aca3a4392630558dd12e957b9579161cdb888ba1cba73f1bdd8d72f88513d3610211651efce102');
INSERT INTO ranges VALUES(2,4,8,'10',10,'fec0219c36ea674184991d22aa0ec2bd','avx2','rack8','node2','node2-a',1,1099511627778,139,1795574697891,7617946955038472818,2,1,X'c364b1d067c3e543b7c80d3a7de80ddfe4a8a0874053504b97239755e5a947e9d0e1bd9e4f362ea569f7eab02857a96d7a836c117ac0e93ab98817be33da5c05');
INSERT INTO ranges VALUES(2,8,14,'36',36,'276bf99fe42def99663c384ba0b24291','portable','rack7','node1','node1-a',1,1099511627779,14,1795574697891,6786725496819190528,2,1,X'e6de2a19c9c4cf1f7bb18b0842db0efa9cb2a877ebbf4170acc6466f50d2d46525f2dc8cb1ed2f64589fa404a2e9854e419e4710d466b3af010a47d0233fca0d');
INSERT INTO ranges VALUES(2,14,15,'4',4,'05590e15af9f380d2891493f79824217','portable','rack7','node1','node1-a',1,1099511627781,8,1795574697896,-5653843238508703994,2,1,X'36e009f8b7b347af931d6c7f6a35750422ab5f352a5e573f932318bee3cbf4e280a63c507c93ccb4265ac42a706145dbdd835b8888dce234cf7002e9bab34304');
INSERT INTO ranges VALUES(2,15,16,'2',2,'d30469f9ad82b778118db81d4cde235b','avx2','rack8','node2','node2-a',1,1099511627780,13,1795574697895,1363483904256507765,2,1,X'41dc5ba08be345d718b529f27203d2a7383c5f360656ea8f7ef4bd9e314ce65c9188dcb22361701b395e19bb0cf4f66e3ae990f6592ad11de6fdcf891d53b803');
INSERT INTO ranges VALUES(2,16,17,'4',4,'008a0bb3e8baf53af6359677081031af','avx2','rack8','node2','node2-a',1,1099511627791,61,1795574697915,-628314383668405992,2,1,X'254bbdeb0048a6a8cd618deb26ee9dff5e666e53026714852a0d02b828c53b81c9cddee7d1f79130043b8b869fee01bf08c79bcd69c4e0c044b8afb4c93b7903');
INSERT INTO ranges VALUES(2,17,18,'12',12,'eabbba91677b6135e91598bb5b14fc8e','avx2','rack8','node2','node2-a',1,1099511627787,175,1795574697906,8752901391888094561,2,1,X'088d8a1715c6ad92caa2e58d6a9a4fb61559bfaad4fa44b6dc4434cd3bb4b77cad49bfd476924b2c3356516ed08b0a41934b734f68042b2c78de42d63e789e06');
INSERT INTO ranges VALUES(2,18,19,'6',6,'bd48f9f7bd436b16860c5119d2dd48d1','portable','rack7','node1','node1-a',1,1099511627790,33,1795574697911,1247113812794814292,2,1,X'e51003c3fa982e371da67cb52484d7324d7b2cc126a1e022fd3588c1dfdd3ce5aa6b917e2ae5c0de68a428969f812bab8665b760745658227d47d7395386a309');
INSERT INTO ranges VALUES(2,19,20,'8',8,'e9862fa9e46e4e1efc659f4a6005df47','portable','rack7','node1','node1-a',1,1099511627782,2,1795574697897,3630624637967512071,2,1,X'8b012d85e1960b1d8158e713980d1722d73b3da351ac43a0323ae9beb8a62eec6d7fc8d5de7b3010044f9f1a4d144ebb8dd668cfc01f02ec3248859f16365b00');
INSERT INTO ranges VALUES(2,20,21,'6',6,'eadb4122a3c9e18e5091079277ca6bfe','portable','rack7','node1','node1-a',1,1099511627794,13,1795574697923,6769087408947000894,2,1,X'4a18b37a649409d19ff56e6636e9e3d1bcf0387cebd8c15304dca98102ffd005b13d1db6ba3b51673cc944342243f829daa2cbefcfd3c9eb7d73c4befd62d809');
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
INSERT INTO audits VALUES(1,0,3,'4',4,'27cf010b961856a2f77f52f171651e64','avx2 mirrored','rack8','node2','node2-a',1,1099511627798,73,1795574697933,1641048633023214436,4,X'6104070f3d786212c2de4e8e210718ab4143fa1afc2758c8b0d72ab2ba39c27c0eba41986c2ee7d26f2cb5ff69c235d9582f46ef279c9183cc41a6b194f80506');
INSERT INTO audits VALUES(2,0,4,'4',4,'cc42570f08a175be02f953dadb8ce20b','avx2 mirrored','rack8','node2','node2-a',1,1099511627783,188,1795574697905,2368825194366540925,2,X'b0f42e59ccff16663e31e45a6874c56608ad2dd7c541c8a31457e99175068ed89749cdd73eb4a0b6f8527b3b1d00f741a686777091bff4e299be24fdf4ad310e');
INSERT INTO audits VALUES(2,4,8,'10',10,'fec0219c36ea674184991d22aa0ec2bd','portable mirrored','rack7','node1','node1-a',1,1099511627785,58,1795574697904,7673214612987173468,2,X'd854ec1d3b079030d214037f22ba276f51ec1d3f43779b00194025f6f7c3746223be27905855b49e19aeb5661e206cb4d520b8c1bb8d886b002925f1eaa19703');
INSERT INTO audits VALUES(2,8,14,'36',36,'276bf99fe42def99663c384ba0b24291','avx2 mirrored','rack8','node2','node2-a',1,1099511627784,13,1795574697906,-323428564595127651,2,X'7162cb4b0cfa5931ccff21e201074b7a231449da7512573f27c9dbc58ec0d5c75da84595740c42180de78d3a1c2bc259013f39737a732a1cb17a72bfdbfada05');
INSERT INTO audits VALUES(2,14,15,'4',4,'05590e15af9f380d2891493f79824217','avx2 mirrored','rack8','node2','node2-a',1,1099511627788,134,1795574697914,7250513209810155217,2,X'51b3baa5d44a628a5e6f381bc83cf9df4e1063a3d90b429668f046d9b172346789eeff3e6c6f65c30b153c08ad7b1b6561d3c54f14f4022183b1a1ff2c1fea01');
INSERT INTO audits VALUES(2,15,16,'2',2,'d30469f9ad82b778118db81d4cde235b','portable mirrored','rack7','node1','node1-a',1,1099511627786,9,1795574697908,-2941405682674643091,2,X'caa1a905bd68f4c68a182eb1ed782a6ef971b0deee7a04e472b8f02860341b79455812f733d7ebd365ef852f05bef2c7dbd9994fbd34fce31bbf05d964af240e');
INSERT INTO audits VALUES(2,16,17,'4',4,'008a0bb3e8baf53af6359677081031af','portable mirrored','rack7','node1','node1-a',1,1099511627796,9,1795574697926,-8021373015637343174,2,X'4b5499a11b2c0e8ac8910b23bd4c0bd3732d42684fb2ccb22a2297780700ef8d1a94f4f8def79c9d82b6587a2cb68e5a97c48ab0f205256a2aa889c2d4041803');
INSERT INTO audits VALUES(2,17,18,'12',12,'eabbba91677b6135e91598bb5b14fc8e','portable mirrored','rack7','node1','node1-a',1,1099511627792,23,1795574697917,-5003162340555684922,2,X'97f8f3eb4f4aa6c7d657d1d3ab326cc72004421febbd76fb9badcbf02f0f036e33873c6689db428e5651451acb9aab55a658c4b452cac4040e83911a9d0f1d04');
INSERT INTO audits VALUES(2,18,19,'6',6,'bd48f9f7bd436b16860c5119d2dd48d1','avx2 mirrored','rack8','node2','node2-a',1,1099511627793,76,1795574697920,8209231189587823396,2,X'99faf7b21cc5ea16d39db161efab914d1d2fe39671a0bae8a0d7f85f0c868eec3d8b22d2541990b2dea427f38f4618887134f9b8ac1418945863e934606fd50e');
INSERT INTO audits VALUES(2,19,20,'8',8,'e9862fa9e46e4e1efc659f4a6005df47','avx2 mirrored','rack8','node2','node2-a',1,1099511627789,3,1795574697915,5642933343254878495,2,X'208c666b003eaedcf7b8d66bb0bf740e1dad54e5830123e7c815ce97c8357d56793628ced4e6f96faa3d784ad04d00023de3e3d45a0f6567f319e64d80efe405');
INSERT INTO audits VALUES(2,20,21,'6',6,'eadb4122a3c9e18e5091079277ca6bfe','avx2 mirrored','rack8','node2','node2-a',1,1099511627797,13,1795574697929,-4909925007244096339,2,X'dfec3d2d1ea7d66f66b1e6931afa16f668880a019809492bba90e2da63fc0b0266691074b954a94dde981ed3f0154abd5b4c185df723294c1befa68624df0308');
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
INSERT INTO trust VALUES('rack9','node3',0,NULL,NULL,NULL,'its memory fails',1795574697979);
CREATE TABLE credentials (
    id         INTEGER PRIMARY KEY,
    owner      TEXT NOT NULL,
    role       TEXT NOT NULL,
    hash       BLOB NOT NULL UNIQUE, -- BLAKE3 of the secret, which is nowhere
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT;
INSERT INTO credentials VALUES(1,'rack7','worker',X'43e484e42dfbc2e50fa7ebd06d730f176c235baa8eea77580b55721d481a55de',1795574697667,NULL,NULL);
INSERT INTO credentials VALUES(2,'rack8','worker',X'6fb2a0a0c681704a5ee762562b0acecdb31e400d09e449ba186791e771c8738a',1795574697694,NULL,NULL);
INSERT INTO credentials VALUES(3,'lab','submitter',X'9fd9138a614c0178ee4620ff64f5bbb90a895be978f6ab439d93cd784312dae3',1795574697713,1803350697713,NULL);
CREATE UNIQUE INDEX jobs_by_key ON jobs (owner, key) WHERE key IS NOT NULL;
CREATE INDEX audit_policies_by_job ON audit_policies (job);
CREATE INDEX changes_by_job ON changes (job);
CREATE INDEX ranges_to_audit ON ranges (job, first) WHERE audit = 1;
CREATE INDEX disputes_by_range ON disputes (job, first, past);
COMMIT;
