//! Tests of files and folders with secrets: who may read them, and how much of them is read.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt, chown, lchown, symlink};
use std::path::Path;
use std::process::Command;

use crate::support::process::{behind, queens, run, wait_until};
use crate::support::{Farm, Scratch};

#[test]
fn secrets_that_other_users_may_read_are_refused() {
    let farm = Farm::new("--tls", "");
    let coordinator = farm.start_coordinator();

    // The group may read a secret, also through the links of Kubernetes.
    let volume = Scratch::new();
    fs::create_dir(volume.path("..2026_11_22")).expect("it is ours");
    symlink("..2026_11_22", volume.path("..data")).expect("it is ours");
    symlink("..data/join", volume.path("join")).expect("it is ours");
    let file = volume.path("..2026_11_22/join");
    fs::copy(farm.key("join"), &file).expect("it can be read");
    let with_mode = |mode| {
        fs::set_permissions(&file, PermissionsExt::from_mode(mode)).expect("it is ours");
        run(queens(&["jobs", "--join-file"]).arg(volume.path("join")))
    };

    with_mode(0o440).success();
    with_mode(0o644).refusal(6, &["other users may read it", "0440"]);

    coordinator.stop();
    let keys = farm.key("join").with_file_name("");
    for mode in [0o701, 0o705, 0o707] {
        fs::set_permissions(&keys, PermissionsExt::from_mode(mode)).expect("it is ours");
        let refused = run(&mut farm.coordinator_at("127.0.0.1:0"));
        refused.refusal(6, &["other users may read it", "chmod o= "]);
    }
}

#[test]
fn an_unusable_token_file_is_refused() {
    let farm = Farm::new("", "");
    let scratch = Scratch::new();
    let file = |name: &str, text: &str, mode: u32| {
        let path = scratch.path(name);
        fs::write(&path, text).expect("it can be written");
        fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("it is ours");
        path.to_str().expect("the path is text").to_string()
    };
    let secret = "0123456789abcdef0123456789abcdef";
    symlink("nowhere", scratch.path("dangling")).expect("it can be made");
    let large = file("large", "", 0o600);
    let sparse = fs::File::options().append(true).open(&large).expect("it is there");
    sparse.set_len(1 << 40).expect("it takes no room");
    run(&mut queens(&["jobs", "--join-file", &large])).refusal(6, &["more than 64 KiB"]);
    let cases = [
        (large, "more than 64 KiB"),
        (file("short", "secret", 0o600), "at least 16"),
        (file("two-lines", &format!("{secret}\n{secret}"), 0o600), "one line"),
        (file("open", secret, 0o644), "chmod o="),
        (scratch.path("missing").display().to_string(), "No such file"),
        (scratch.path("dangling").display().to_string(), "No such file"),
    ];
    for (path, reason) in &cases {
        for command in [&["jobs"][..], &["worker", "--log", "error"]] {
            let args = [command, &["--token-file", path]].concat();
            farm.client(&args).refusal(6, &["cannot use the secret in", path, reason]);
        }
    }
    // To change the mode of a device or a folder would harm others.
    let no_file = "it is no regular file";
    let others = ["/dev/null", "/"].map(|it| (it.to_owned(), no_file));
    for (path, reason) in &others {
        run(&mut queens(&["jobs", "--join-file", path])).refusal(6, &[path, reason]);
    }
    let pipe = scratch.path("pipe").display().to_string();
    Command::new("mkfifo").arg(&pipe).status().expect("it can be made");
    for (path, reason) in cases[..4].iter().chain(&others).chain(&[(pipe, no_file)]) {
        let refused = run(farm.coordinator().args(["--token-file", path, "--log", "error"]));
        refused.refusal(6, &["cannot use the secret in", path, reason]);
    }
}

#[test]
fn no_output_of_a_coordinator_takes_the_place_of_its_ledger_a_key_or_another_output() {
    // Given the ledger `f.db` with its keys, and links to both
    let scratch = Scratch::new();
    let farm = Farm::new("--tls", "").with_ledger(scratch.path("f.db"));
    farm.start_coordinator().stop();
    symlink("f.db", scratch.path("link")).expect("it is ours");
    symlink("f.db-keys/token", scratch.path("key")).expect("it is ours");
    let kept = [farm.ledger().to_owned(), farm.key("token"), farm.key("authority.pem")];
    let bytes = || kept.each_ref().map(|path| fs::read(path).expect("it is there"));
    let before = bytes();
    for (options, owner) in [
        ("--join-file f.db", "the ledger"),
        ("--worker-join-file link", "the ledger"),
        ("--token-file ./f.db-wal", "the ledger"),
        ("--monitor-folder nowhere/../f.db-lock", "the ledger"),
        ("--join-file f.db-keys/authority.pem", "the folder of keys"),
        ("--worker-join-file key", "the folder of keys"),
        ("--monitor-folder f.db-keys", "the folder of keys"),
        ("--token-file x --join-file x", "--token-file"),
        ("--join-file x --worker-join-file ./x", "--join-file"),
        ("--join-file x/token --monitor-folder x", "--join-file"),
    ] {
        let mut command = queens(&["coordinator", "--tls", "--ledger", "f.db"]);
        command.args(options.split(' ')).current_dir(scratch.path(""));
        run(&mut command).refusal(2, &[&format!("belongs to {owner}: name another")]);
        assert!(bytes() == before, "{options}");
    }
    // By default, these two are there.
    let mut command = farm.coordinator();
    command.arg("--token-file").arg(farm.key("token")).arg("--join-file").arg(farm.key("join"));
    farm.serve(&mut command).stop();
}

#[test]
fn white_space_around_a_secret_is_ignored() {
    let farm = Farm::new("--tls", "");
    let coordinator = farm.start_coordinator();
    for name in ["join", "token"] {
        let file = farm.key(name);
        let text = fs::read_to_string(&file).expect("it is text");
        fs::write(&file, format!("\u{feff}{}  \r\n\r\n", text.trim())).expect("it is ours");
    }
    let args = |option| run(queens(&["jobs", option]).arg(farm.key("join")));
    args("--join-file").success();
    let join = fs::read_to_string(farm.key("join")).expect("it is text");
    run(queens(&["jobs"]).env("QUEENS_JOIN", join)).success();
    // The coordinator reads its own secret.
    coordinator.stop();
    let authority = farm.key("authority.pem");
    let pem = fs::read_to_string(&authority).expect("it is text").replace('\n', "\r\n");
    fs::write(&authority, format!("\u{feff}{pem}")).expect("it is ours");
    let _coordinator = farm.start_coordinator();
}

/// The numbers of two other users.
const OTHERS: [u32; 2] = [4_711, 4_712];

/// The number that Linux shows for all users whom a namespace of users does not know.
const UNKNOWN: u32 = 65_534;

/// Whether this is root, who can give files to others and act as them.
fn is_root() -> bool {
    let is_root = fs::metadata("/proc/self").expect("it is Linux").uid() == 0;
    if !is_root {
        println!("left out: only root can give a file to another user");
    }
    is_root
}

/// `command` as one of the others.
fn as_other(other: u32, command: &Command) -> Command {
    let [user, group] = ["--reuid", "--regid"].map(|option| format!("{option}={other}"));
    behind(&["setpriv", &user, &group, "--clear-groups", "--no-new-privs"], command)
}

#[test]
fn a_folder_of_keys_that_another_user_owns_is_refused() {
    if !is_root() {
        return;
    }
    let farm = Farm::new("--tls", "");
    farm.start_coordinator().stop();
    let keys = farm.key("join").with_file_name("");
    chown(&keys, Some(OTHERS[0]), None).expect("it needs root");
    run(&mut farm.coordinator()).refusal(6, &["user 4711 owns the folder"]);
}

#[test]
fn a_user_takes_the_secrets_of_root_and_of_no_other_user() {
    if !is_root() {
        return;
    }
    let farm = Farm::new("--tls", "");
    let _coordinator = farm.start_coordinator();
    let [user, other] = OTHERS;
    // A volume of Kubernetes is a folder of root, with links and files of root.
    let volume = Scratch::new();
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("it is ours");
    };
    mode(&volume.path(""), 0o1777);
    fs::create_dir(volume.path("..2026_11_22")).expect("it is ours");
    mode(&volume.path("..2026_11_22"), 0o755);
    symlink("..2026_11_22", volume.path("..data")).expect("it is ours");
    symlink("..data/join", volume.path("join")).expect("it is ours");
    let file = volume.path("..2026_11_22/join");
    fs::copy(farm.key("join"), &file).expect("it can be read");
    mode(&file, 0o440);
    chown(&file, Some(0), Some(user)).expect("it needs root");
    let jobs = || {
        let mut jobs = queens(&["jobs", "--join-file"]);
        jobs.arg(volume.path("join")).current_dir("/");
        run(&mut as_other(user, &jobs))
    };
    jobs().success();

    chown(&file, Some(other), Some(user)).expect("it needs root");
    jobs().refusal(6, &["user 4712 owns it", "a copy of yours"]);

    // The user's own copy lies in a folder where all users make files, beside a link of another.
    chown(&file, Some(user), Some(user)).expect("it needs root");
    jobs().success();
    lchown(volume.path("join"), Some(other), None).expect("it needs root");
    jobs().refusal(6, &["user 4712 made the link"]);

    // A coordinator writes nothing into what another user made beforehand.
    let planted = volume.path("planted");
    fs::write(&planted, "").expect("it is new");
    mode(&planted, 0o600);
    chown(&planted, Some(other), Some(other)).expect("it needs root");
    for option in ["--join-file", "--worker-join-file", "--token-file"] {
        let farm = Farm::new("--tls", "");
        let refused = run(farm.coordinator().arg(option).arg(&planted));
        refused.refusal(6, &["user 4712 owns it"]);
        assert_eq!(fs::read(&planted).expect("it is there"), b"", "{option}");
    }
}

/// What another user has planted beside a ledger, or in its place, is not served, in any folder
/// where all users make files.
#[test]
fn a_ledger_where_all_users_make_files_has_nothing_of_another_user() {
    if !is_root() {
        return;
    }
    let [user, other] = OTHERS;
    let scratch = Scratch::new();
    // SQLite takes the log of this ledger for that of any other ledger.
    let source = scratch.path("source.db");
    run(queens(&["count", "8", "--ledger"]).arg(&source)).total(8);
    let shared = scratch.path("shared");
    fs::create_dir(&shared).expect("it is new");
    let set_mode = |path: &Path, mode| {
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("it is ours");
    };
    set_mode(&scratch.path(""), 0o755);
    set_mode(&shared, 0o1777);
    let ledger = shared.join("farm.db");
    let at = |suffix: &str| shared.join(format!("farm.db{suffix}"));
    let name = ledger.to_str().expect("text");
    let copy = |name: &str| scratch.path(name).to_str().expect("text").to_owned();
    let [backup, bundle, merged] = ["backup.db", "bundle", "merged.db"].map(copy);
    let begin = [
        &["count", "8", "--ledger", name][..],
        &["coordinator", "--listen", "127.0.0.1:0", "--ledger", name],
        &["merge", source.to_str().expect("text"), "--into", name],
        &["backup", "--from", source.to_str().expect("text"), name],
    ];
    let look = [
        &["backup", "--check", name][..],
        &["backup", "--from", name, &backup],
        &["export", "1", &bundle, "--ledger", name],
        &["merge", name, "--into", &merged],
    ];
    let emptied = || {
        for file in fs::read_dir(&shared).expect("it is there") {
            fs::remove_file(file.expect("it is there").path()).expect("it is ours");
        }
    };
    let own = |path: &Path, owner: u32| {
        lchown(path, Some(owner), Some(owner)).expect("it needs root");
    };

    // A link leads to what only root may write.
    let target = scratch.path("target");
    for plant in ["", "-wal", "-journal", "-shm", "-lock", "link"] {
        for is_there in [false, true] {
            emptied();
            let planted = at(plant.trim_start_matches("link"));
            if is_there {
                fs::copy(&source, &ledger).expect("it is ours");
            }
            match plant {
                "link" => {
                    let _ = fs::remove_file(&planted);
                    symlink(&target, &planted).expect("it is new");
                }
                _ => drop(fs::copy(&source, &planted).expect("it is new")),
            }
            own(&planted, other);
            // A merge into a ledger and a copy do not begin where a file is, with other words.
            let begun = if is_there { 2 } else { 4 };
            for args in &begin[..begun] {
                let refused = run(&mut queens(args));
                let reasons = ["user 4712 owns", "is there already"];
                let is_said = reasons.iter().any(|reason| refused.stderr.contains(reason));
                assert!(is_said, "{plant} {args:?}: {}", refused.stderr);
                refused.refusal(10, &[]);
            }
            if is_there && plant.starts_with('-') {
                for args in look {
                    run(&mut queens(args)).refusal(10, &["user 4712 owns", name]);
                }
            }
            assert!(!target.exists(), "nothing is written where the link leads");
            assert_eq!(planted.symlink_metadata().expect("it stays").uid(), other);
        }
    }

    // Another user's ledger can be read, with that user's files beside it.
    emptied();
    fs::copy(&source, &ledger).expect("it is ours");
    fs::write(at("-shm"), "").expect("it is new");
    for path in [&ledger, &at("-shm")] {
        own(path, other);
    }
    for args in look {
        run(&mut queens(args)).success();
    }
    run(&mut queens(begin[0])).refusal(10, &["user 4712 owns"]);

    // A user serves its own ledger and root's, and root that of the folder's owner.
    own(&shared, user);
    own(&at("-shm"), user);
    own(&ledger, user);
    run(&mut queens(begin[0])).total(8);
    own(&ledger, user);
    run(&mut as_other(user, queens(begin[0]).current_dir("/"))).total(8);

    // The volume of a container need not be sticky.
    set_mode(&shared, 0o777);
    run(&mut as_other(user, queens(begin[0]).current_dir("/"))).total(8);
}

/// In a container without a mapping of users, as of Apptainer, all other users have one number.
#[test]
fn who_cannot_be_told_apart_from_others_is_not_trusted() {
    let [user, other] = OTHERS;
    let in_container = |command: &Command| {
        as_other(user, &behind(&["unshare", "--user", "--map-current-user"], command))
    };
    if !is_root() || run(in_container(&queens(&["--version"])).current_dir("/")).code != Some(0) {
        println!("left out: a user cannot make a namespace of users here");
        return;
    }
    let farm = Farm::new("--tls", "");
    let _coordinator = farm.start_coordinator();
    let scratch = Scratch::new();
    let set_mode = |path: &Path, mode| {
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("it is ours");
    };
    set_mode(&scratch.path(""), 0o755);
    let [shared, of_user] = ["shared", "of_user"].map(|name| scratch.path(name));
    for (folder, mode) in [(&shared, 0o1777), (&of_user, 0o700)] {
        fs::create_dir(folder).expect("it is new");
        set_mode(folder, mode);
    }
    chown(&of_user, Some(user), None).expect("it needs root");
    let jobs_by = |by: &dyn Fn(&Command) -> Command, folder: &Path, owner| {
        let join = folder.join("join");
        fs::copy(farm.key("join"), &join).expect("it can be read");
        set_mode(&join, 0o440);
        chown(&join, Some(owner), Some(user)).expect("it needs root");
        run(by(queens(&["jobs", "--join-file"]).arg(join)).current_dir("/"))
    };
    let jobs = |folder: &Path, owner| jobs_by(&in_container, folder, owner);

    // Nobody knows whether the folder is root's, or the file.
    let unknown = "root or another user, who all are user 65534 in this container, owns";
    jobs(&shared, user).refusal(6, &[unknown, "its folder", "use a folder of yours"]);
    jobs(&of_user, 0).refusal(6, &[unknown, "use a copy of yours"]);
    jobs(&of_user, user).success();
    // Root is known in a namespace of root, and all users are known outside of any.
    jobs_by(&|it| behind(&["unshare", "--user", "--map-root-user"], it), &shared, 0).success();
    jobs_by(&|it| as_other(UNKNOWN, it), &shared, UNKNOWN).success();

    // A process that has the number of all users does not take the files of others for its own.
    let as_all = |command: &Command| as_other(user, &behind(&["unshare", "--user"], command));
    let is_all = "as this process is (run it as another user), ";
    jobs_by(&as_all, &of_user, user).refusal(6, &[is_all, "owns it"]);
    let [target, link] = [of_user.join("target"), shared.join("link")];
    symlink(&target, &link).expect("it is new");
    lchown(&link, Some(other), None).expect("it needs root");
    let mut draw = queens(&["draw", "a1", "--size", "5", "--format", "svg", "--out"]);
    let draw = as_all(draw.arg(&link));
    let mut coordinator = queens(&["coordinator", "--listen", "127.0.0.1:0", "--token-file"]);
    coordinator.arg(&link).arg("--ledger").arg(of_user.join("own.db"));
    for (mut command, code) in [(draw, 10), (as_all(&coordinator), 6)] {
        run(command.current_dir("/")).refusal(code, &[is_all, "made the link"]);
        assert!(!target.exists(), "nothing is written where the link leads");
    }

    // One of them has a ledger, and another one has planted a file beside it.
    let [ledger, beside] = ["farm.db", "farm.db-wal"].map(|name| shared.join(name));
    run(queens(&["count", "8", "--ledger"]).arg(scratch.path("source.db"))).total(8);
    fs::copy(scratch.path("source.db"), &ledger).expect("it can be read");
    set_mode(&ledger, 0o644);
    chown(&ledger, Some(other), None).expect("it needs root");
    let check = || {
        let mut check = queens(&["backup", "--check"]);
        run(in_container(check.arg(&ledger)).current_dir("/"))
    };
    check().success();
    fs::copy(scratch.path("source.db"), &beside).expect("it can be read");
    chown(&beside, Some(other + 1), None).expect("it needs root");
    check().refusal(10, &[unknown, "use a folder of yours"]);
    let mut count = queens(&["count", "8", "--ledger"]);
    run(as_all(count.arg(&ledger)).current_dir("/"))
        .refusal(10, &[is_all, "use a folder of yours"]);
}

/// Whoever planted the link would choose the file of this user that is replaced.
#[test]
fn no_output_goes_where_the_link_of_another_user_leads_or_waits_for_a_reader() {
    let scratch = Scratch::new();
    let [ours, link, pipe] = ["ours", "link", "pipe"].map(|name| scratch.path(name));
    let outputs = |path: &Path| {
        let mut draw = queens(&["draw", "a1", "--size", "200", "--format", "svg", "--out"]);
        let mut times = queens(&["reproduce", "--times", "--quick", "--svg"]);
        [&mut draw, &mut times].map(|command| run(command.arg(path)))
    };
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("it runs").success());
    for output in outputs(&pipe) {
        output.refusal(10, &["cannot write to", "nobody reads it"]);
    }
    // The drawing is larger than what a pipe holds.
    let drawn = scratch.path("drawn");
    let drawn_to = fs::File::create(&drawn).expect("it is new");
    let mut reader = Command::new("cat").arg(&pipe).stdout(drawn_to).spawn().expect("it runs");
    let draw = || {
        let mut draw = queens(&["draw", "a1", "--size", "200", "--format", "svg", "--out"]);
        run(draw.arg(&pipe))
    };
    // The reader opens the pipe a moment after it has started.
    wait_until("the pipe has a reader", || draw().code == Some(0));
    assert!(reader.wait().expect("it ends").success());
    let drawn = fs::read(&drawn).expect("it is there");
    assert!(drawn.len() > 1 << 16 && drawn.ends_with(b"</svg>\n"), "{} bytes", drawn.len());

    if !is_root() {
        return;
    }
    fs::write(&ours, "ours").expect("it is new");
    fs::set_permissions(scratch.path(""), PermissionsExt::from_mode(0o1777)).expect("it is ours");
    for target in [&ours, &pipe] {
        symlink(target, &link).expect("it is new");
        lchown(&link, Some(OTHERS[0]), None).expect("it needs root");
        for output in outputs(&link) {
            output.refusal(10, &["cannot write to", "user 4711 made the link"]);
        }
        fs::remove_file(&link).expect("it is ours");
    }
    assert_eq!(fs::read(&ours).expect("it is there"), b"ours");
}
