//! What programs may ask for under `/api/v1`, and what they are told.

use std::collections::BTreeSet;

use serde_json::Value;

use super::live::Looking;
use super::*;
use crate::api::ROOT;

const JSON: &str = "Content-Type: application/json\r\n";

/// Every call, as it must fail or succeed for each role: method, path, body, and who may make it.
const CALLS: [(&str, &str, &str, &[Role]); 17] = {
    use Role::{Admin, Submitter, Viewer};
    const SEE: &[Role] = &[Admin, Submitter, Viewer];
    const CHANGE: &[Role] = &[Admin, Submitter];
    const DECIDE: &[Role] = &[Admin];
    [
        ("GET", "/jobs", "", SEE),
        ("POST", "/jobs", r#"{"n": 8}"#, CHANGE),
        ("GET", "/jobs/1", "", SEE),
        ("PATCH", "/jobs/1", r#"{"priority": 3}"#, CHANGE),
        ("POST", "/jobs/1/pause", "", CHANGE),
        ("POST", "/jobs/1/resume", "", CHANGE),
        ("POST", "/jobs/1/cancel", "", CHANGE),
        ("GET", "/jobs/1/events", "", SEE),
        ("GET", "/jobs/1/bundle", "", SEE),
        ("GET", "/workers", "", SEE),
        ("POST", "/workers/w/drain", "", CHANGE),
        ("POST", "/trust", r#"{"owner": "a", "trusted": false, "reason": "b"}"#, DECIDE),
        ("GET", "/tokens", "", DECIDE),
        ("POST", "/tokens", r#"{"role": "worker", "owner": "a"}"#, DECIDE),
        ("DELETE", "/tokens/9", "", DECIDE),
        ("GET", "/ledger", "", DECIDE),
        ("DELETE", "/jobs/1", "", CHANGE),
    ]
};

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The code and the sentence of a refusal.
    fn problem(&self) -> (String, String) {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{}", self.body);
        let problem = self.json();
        assert_eq!(problem["status"], self.status, "{problem}");
        let text = |field: &str| problem[field].as_str().expect("it is text").to_owned();
        assert!(!text("title").is_empty());
        (text("code"), text("detail"))
    }
}

impl Served {
    /// Calls the API with the credential of a role.
    async fn call(&self, by: Role, method: &str, path: &str, body: &str) -> Answer {
        let kind = if body.is_empty() { "" } else { JSON };
        let headers = format!("{}{kind}", bearing(&secret(by)));
        self.ask(method, &format!("{ROOT}{path}"), &headers, body).await
    }
}

/// A coordinator with a ledger in a file, of which bundles and copies can be made.
async fn with_a_file() -> (tempfile::TempDir, Served) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let ledger = CheckedLedger::open(&folder.path().join("ledger.db"));
    let ledger = ledger.and_then(CheckedLedger::begin).expect("it is new");
    let farm = serving_ledger(ledger, guard(), None).await;
    (folder, farm)
}

#[tokio::test]
async fn each_role_may_make_its_calls_and_no_others() {
    let (_folder, farm) = with_a_file().await;
    for (method, path, body, allowed) in CALLS {
        // A job that anybody may change for whom it is, and that every call finds as it needs it.
        farm.call(Role::Submitter, "POST", "/jobs", r#"{"n": 8, "name": "it"}"#).await;
        if method == "DELETE" {
            farm.call(Role::Admin, "POST", "/jobs/1/cancel", "").await;
        }
        for role in ROLES.into_iter().rev() {
            let answer = farm.call(role, method, path, body).await;
            let is_refused = answer.status == 403;
            assert_eq!(!is_refused, allowed.contains(&role), "{method} {path} by {role:?}");
            if is_refused {
                let (code, detail) = answer.problem();
                assert_eq!(code, "forbidden");
                assert!(detail.contains(&format!("is a {}'s", role.name())), "{detail}");
            } else {
                // The job is over, or there is no such worker or credential.
                let lacks = ["/resume", "/jobs/1", "/drain", "/tokens/9"];
                let lacks = lacks.iter().any(|end| path.ends_with(end));
                let is_fine = answer.status < 300 || lacks && matches!(answer.status, 404 | 409);
                assert!(is_fine, "{method} {path} by {role:?}: {}", answer.body);
            }
        }
        for headers in [String::new(), bearing("nobody's secret")] {
            let headers = format!("{headers}{JSON}");
            let answer = farm.ask(method, &format!("{ROOT}{path}"), &headers, body).await;
            assert_eq!(answer.status, 401, "{method} {path}");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
            assert_eq!(answer.problem().0, "unauthenticated");
        }
        // Another site may send a cookie along, so that none is read.
        let cookie = format!("{}{JSON}", farm.log_in(Role::Admin).await);
        let answer = farm.ask(method, &format!("{ROOT}{path}"), &cookie, body).await;
        assert_eq!(answer.status, 401, "{method} {path} with a cookie");
    }
}

/// The description of the API names the numbers in addresses and bodies, so that a new one is
/// covered without being named here.
#[tokio::test]
async fn no_number_in_a_request_is_a_fault_of_the_coordinator() {
    const NUMBERS: [&str; 4] = ["-1", "9223372036854775808", "18446744073709551615", "1e308"];
    let (_folder, farm) = with_a_file().await;
    let described = farm.get("/api/v1/openapi.json", "").await.json();
    let paths = described["paths"].as_object().expect("it has paths");
    let mut requests = Vec::new();
    for (path, methods) in paths {
        for (method, call) in methods.as_object().expect("it has methods") {
            let queries = call["parameters"].as_array().into_iter().flatten();
            let queries = queries.filter(|it| it["in"] == "query").map(|it| &it["name"]);
            for number in NUMBERS {
                if let Some((begin, end)) = path.split_once('{') {
                    let end = end.split_once('}').expect("it ends").1.replace("{word}", "pause");
                    requests.push((
                        method.to_uppercase(),
                        format!("{begin}{number}{end}"),
                        String::new(),
                    ));
                }
                for name in queries.clone() {
                    let name = name.as_str().expect("it is text");
                    let path = format!("{path}?{name}={number}");
                    requests.push((method.to_uppercase(), path, String::new()));
                }
            }
        }
    }
    let schemas = described["components"]["schemas"].as_object().expect("it has schemas");
    let properties = schemas.values().filter_map(|schema| schema["properties"].as_object());
    let is_number = |schema: &Value| {
        ["integer", "number"].iter().any(|kind| schema["type"].to_string().contains(kind))
    };
    let names: BTreeSet<&String> = properties
        .flatten()
        .filter(|(_, schema)| is_number(schema))
        .map(|(name, _)| name)
        .collect();
    let with_body = CALLS.iter().filter(|(_, _, body, _)| body.starts_with('{'));
    for (method, path, body, _) in with_body {
        for (name, number) in names.iter().flat_map(|name| NUMBERS.map(|number| (name, number))) {
            let mut rest: serde_json::Map<_, _> = serde_json::from_str(body).expect("it is JSON");
            rest.remove(*name);
            let rest: String = rest.iter().map(|(name, it)| format!(", {name:?}: {it}")).collect();
            let one = format!("{{\"{name}\": {number}{rest}}}");
            let within = format!("{{\"audit\": {{\"{name}\": {number}}}{rest}}}");
            let is_of_jobs = path.starts_with("/jobs");
            for body in std::iter::once(one).chain(is_of_jobs.then_some(within)) {
                requests.push((method.to_string(), format!("{ROOT}{path}"), body));
            }
        }
    }
    assert!(requests.len() > 300, "{}", requests.len());
    for (method, path, body) in requests {
        let path = path.strip_prefix(ROOT).unwrap_or(&path);
        let answer = farm.call(Role::Admin, &method, path, &body).await;
        // The farm of this test has no file of its own token, which token 0 is.
        assert!(
            answer.status < 500 || path == "/tokens/0",
            "{method} {path} {body}: {}",
            answer.body
        );
    }
}

#[tokio::test]
async fn what_is_submitted_is_answered_and_listed_at_once() {
    let farm = guarded().await;
    let submitted = farm.call(Role::Submitter, "POST", "/jobs", r#"{"n": 12}"#).await;
    assert_eq!(submitted.status, 201, "{}", submitted.body);
    let job = submitted.json();
    assert_eq!((&job["job"], &job["n"], &job["problem"]), (&1.into(), &12.into(), &"total".into()));
    assert_eq!((&job["owner"], &job["counted"]), (&"submitter".into(), &"0".into()));

    let several = r#" [{"n": 8, "method": "rows", "rows": 2, "name": "a"},
        {"n": 9, "given": "a1", "problem": "completions", "audit": {"share": 1}, "priority": -3}]"#;
    let answer = farm.call(Role::Submitter, "POST", "/jobs", several).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    let jobs = answer.json();
    assert_eq!((&jobs[0]["job"], &jobs[0]["rows"]), (&2.into(), &2.into()));
    assert_eq!((&jobs[1]["given"], &jobs[1]["priority"]), (&"a1".into(), &(-3).into()));
    assert_eq!(jobs[1]["audit"]["share"], 1.0);

    // Whoever repeats a submission under its name gets the job that there is.
    let again = r#"{"n": 8, "method": "rows", "rows": 2, "name": "a"}"#;
    let again = farm.call(Role::Submitter, "POST", "/jobs", again).await;
    assert_eq!((again.status, again.json()["job"].as_u64()), (201, Some(2)));
    let other = farm.call(Role::Submitter, "POST", "/jobs", r#"{"n": 9, "name": "a"}"#).await;
    assert_eq!((other.status, other.problem().0.as_str()), (409, "name_taken"));

    farm.call(Role::Submitter, "POST", "/jobs/1/cancel", "").await;
    for (query, numbers, next) in [
        ("", vec![1, 2, 3], None),
        ("?newest=true", vec![3, 2, 1], None),
        ("?limit=2", vec![1, 2], Some(2)),
        ("?limit=2&after=2", vec![3], None),
        ("?limit=1&newest=true&after=3", vec![2], Some(2)),
        ("?state=cancelled", vec![1], None),
        ("?state=running,cancelled", vec![1, 2, 3], None),
        ("?state=done", vec![], None),
        ("?name=a", vec![2], None),
        ("?owner=nobody", vec![], None),
    ] {
        let page = farm.call(Role::Viewer, "GET", &format!("/jobs{query}"), "").await.json();
        let listed: Vec<u64> = page["jobs"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|job| job["job"].as_u64().expect("a number"))
            .collect();
        assert_eq!((listed, page["next"].as_u64()), (numbers, next), "{query}");
    }
}

#[tokio::test]
async fn what_cannot_be_done_is_one_clear_problem() {
    let farm = guarded().await;
    farm.call(Role::Submitter, "POST", "/jobs", r#"{"n": 8, "name": "a"}"#).await;
    let deep = r#"{"audit":"#.repeat(200);
    let large = format!(r#"{{"n": 8, "name": "{}"}}"#, "a".repeat(70_000));
    let many = format!("[{}]", vec![r#"{"n":8}"#; 101].join(","));
    for (method, path, body, status, code, said) in [
        ("POST", "/jobs", "{", 400, "malformed", "EOF"),
        ("POST", "/jobs", "n=8", 400, "malformed", "line 1"),
        ("POST", "/jobs", &deep, 400, "malformed", "recursion limit"),
        ("POST", "/jobs", &large, 413, "too_large", "64 KiB"),
        ("POST", "/jobs", &many, 422, "invalid", "1 to 100 jobs"),
        ("POST", "/jobs", "[]", 422, "invalid", "1 to 100 jobs"),
        ("POST", "/jobs", "null", 422, "invalid", "an object is wanted"),
        ("POST", "/jobs", "[8]", 422, "invalid", "an object is wanted"),
        ("POST", "/jobs", "[[8]]", 422, "invalid", "an object is wanted"),
        ("POST", "/jobs", r#"{"n": 8, "audit": [1]}"#, 422, "invalid", "an array"),
        ("POST", "/jobs", "{}", 422, "invalid", "missing field `n`"),
        ("POST", "/jobs", r#"{"n": 8, "n": 9}"#, 422, "invalid", "duplicate field `n`"),
        ("POST", "/jobs", r#"{"n": "8"}"#, 422, "invalid", "string \"8\""),
        ("POST", "/jobs", r#"{"n": 8.0}"#, 422, "invalid", "floating point"),
        ("POST", "/jobs", r#"{"n": -8}"#, 422, "invalid", "-8"),
        ("POST", "/jobs", r#"{"n": 8, "name": 5}"#, 422, "invalid", "integer `5`"),
        ("POST", "/jobs", r#"{"n": 8, "colour": "red"}"#, 422, "invalid", "unknown field `colour`"),
        ("POST", "/jobs", r#"{"n": 40}"#, 422, "invalid", "at most 32"),
        (
            "POST",
            "/jobs",
            r#"{"n": 8, "problem": "totals"}"#,
            422,
            "invalid",
            "no problem \"totals\"",
        ),
        (
            "POST",
            "/jobs",
            r#"{"n": 8, "given": "a1,a2", "problem": "completions"}"#,
            422,
            "invalid",
            "a1,a2",
        ),
        ("POST", "/jobs", r#"{"n": 8, "method": "join"}"#, 422, "invalid", "no method \"join\""),
        (
            "POST",
            "/jobs",
            r#"{"n": 8, "method": "colours", "rows": 3}"#,
            422,
            "invalid",
            "takes no `rows`",
        ),
        ("POST", "/jobs", r#"{"n": 8, "rows": 9}"#, 422, "invalid", "rows"),
        ("POST", "/jobs", r#"{"n": 8, "name": "a b"}"#, 422, "invalid", "no space"),
        ("POST", "/jobs", r#"{"n": 8, "audit": {"share": 1.5}}"#, 422, "invalid", "from 0 to 1"),
        (
            "POST",
            "/jobs",
            r#"{"n": 8, "audit": {"share": 1, "across": "all"}}"#,
            422,
            "invalid",
            "unknown variant `all`",
        ),
        ("POST", "/jobs", r#"{"n": 8, "priority": 11}"#, 403, "forbidden", "for admins only"),
        (
            "POST",
            "/jobs",
            r#"[{"n": 8, "name": "b"}, {"n": 9, "name": "b"}]"#,
            422,
            "invalid",
            "no two of one name",
        ),
        ("POST", "/jobs", r#"{"n": 9, "name": "a"}"#, 409, "name_taken", "job 1"),
        ("PATCH", "/jobs/1", "{}", 422, "invalid", "either `priority` or `audit`"),
        ("PATCH", "/jobs/1", r#"{"priority": 1, "audit": {"share": 1}}"#, 422, "invalid", "either"),
        ("PATCH", "/jobs/7", r#"{"priority": 1}"#, 404, "no_such_job", "no job 7"),
        ("DELETE", "/jobs/1", "", 409, "job_not_over", "job 1 is running"),
        ("GET", "/jobs/7", "", 404, "no_such_job", "no job 7"),
        ("GET", "/jobs/seven", "", 404, "no_such_job", "no such job"),
        ("GET", "/jobs/7/events", "", 404, "no_such_job", "no job 7"),
        ("POST", "/jobs/1/explode", "", 404, "not_found", "no such"),
        ("PUT", "/jobs/1", "", 405, "wrong_method", "does not answer"),
        ("GET", "/jobs?state=lost", "", 400, "malformed", "no state \"lost\""),
        ("GET", "/jobs?limit=0", "", 400, "malformed", "1 to 1000"),
        ("GET", "/jobs?limit=many", "", 400, "malformed", "limit"),
        ("GET", "/jobs?sort=n", "", 400, "malformed", "unknown field `sort`"),
        ("GET", "/jobs?token=abc", "", 400, "malformed", "lands in logs"),
        ("GET", "/workers?access_token=abc", "", 400, "malformed", "lands in logs"),
        ("GET", "/nothing", "", 404, "not_found", "no such"),
    ] {
        let answer = farm.call(Role::Submitter, method, path, body).await;
        assert_eq!(answer.status, status, "{method} {path} {:.60}: {}", body, answer.body);
        let (found, detail) = answer.problem();
        assert_eq!(found, code, "{method} {path} {:.60}: {detail}", body);
        assert!(detail.contains(said), "{method} {path} {:.60}: {detail}", body);
        assert!(!detail.contains("abc"), "a secret is not repeated: {detail}");
    }
    for (body, said) in [
        (r#"{"role": "king", "owner": "a"}"#, "unknown variant `king`"),
        (r#"{"role": "worker", "owner": "a/b"}"#, "no slash"),
        (r#"{"role": "worker", "owner": "a", "lifetime_s": -1}"#, "-1"),
    ] {
        let answer = farm.call(Role::Admin, "POST", "/tokens", body).await;
        let (code, detail) = answer.problem();
        assert_eq!((answer.status, code.as_str()), (422, "invalid"), "{body}");
        assert!(detail.contains(said), "{detail}");
    }
    for (body, said) in [
        (r#"{"owner": "", "trusted": true, "reason": "a"}"#, "a name has"),
        (r#"{"owner": "a", "machine": "b c", "trusted": true, "reason": "a"}"#, "a name has"),
        (r#"{"owner": "a", "trusted": true, "reason": " "}"#, "one line"),
        (r#"{"owner": "a", "trusted": "yes", "reason": "a"}"#, "string \"yes\""),
    ] {
        let (code, detail) = farm.call(Role::Admin, "POST", "/trust", body).await.problem();
        assert!(code == "invalid" && detail.contains(said), "{body}: {code}, {detail}");
    }
    for token in ["9", "nine", "-1"] {
        let answer = farm.call(Role::Admin, "DELETE", &format!("/tokens/{token}"), "").await;
        assert_eq!((answer.status, answer.problem().0.as_str()), (404, "no_such_token"));
    }
    let listed = farm.call(Role::Viewer, "GET", "/jobs", "").await.json();
    assert_eq!(listed["jobs"].as_array().map(Vec::len), Some(1), "nothing was added: {listed}");
}

/// Whatever is asked for below the root of the API, and whoever refuses it: a handler, the gate or
/// a library.
#[tokio::test]
async fn every_error_of_the_api_is_a_problem() {
    let (_folder, farm) = with_a_file().await;
    let description = farm.get(&format!("{ROOT}/openapi.json"), "").await.json();
    let described = description["paths"].as_object().expect("it has paths").keys();
    let others = ["", "/", "/nothing", "/openapi.json", "/jobs/1/x/y", "//jobs"];
    let others = others.map(|path| format!("{ROOT}{path}"));
    let long = "x".repeat(9_000);
    let mut asked = Vec::new();
    for path in described.cloned().chain(others) {
        match path.split_once('{') {
            None => asked.push(path),
            Some((before, rest)) => {
                let after = rest.split_once('}').expect("it is a parameter").1;
                let filled = |value| format!("{before}{value}{after}");
                asked.extend(["%ff", "%00", "", &long].map(filled));
            }
        }
    }
    let mut codes = BTreeSet::new();
    for (path, query) in asked.iter().flat_map(|path| ["", "?limit=%ff"].map(|it| (path, it))) {
        for method in ["GET", "HEAD", "POST", "PATCH", "DELETE", "X"] {
            for headers in [bearing(&secret(Role::Viewer)), String::new()] {
                let answer = farm.ask(method, &format!("{path}{query}"), &headers, "x").await;
                if answer.status < 400 {
                    continue;
                }
                let kind = answer.header("content-type");
                let path = &path[..path.len().min(80)];
                assert_eq!(kind, Some("application/problem+json"), "{method} {path}{query}");
                if method != "HEAD" {
                    codes.insert(answer.problem().0);
                }
            }
        }
    }
    let some = ["forbidden", "malformed", "not_found", "unauthenticated", "wrong_method"];
    assert!(some.iter().all(|code| codes.contains(*code)), "{codes:?}");
}

#[tokio::test]
async fn only_json_that_says_so_is_read() {
    let farm = guarded().await;
    let bearer = bearing(&secret(Role::Admin));
    for kind in ["", "Content-Type: text/plain\r\n", "Content-Type: application/jsonp\r\n"] {
        let headers = format!("{bearer}{kind}");
        let answer = farm.ask("POST", "/api/v1/jobs", &headers, r#"{"n": 8}"#).await;
        assert_eq!((answer.status, answer.problem().0.as_str()), (415, "wrong_type"), "{kind}");
    }
    for kind in ["application/json; charset=utf-8", "Application/JSON"] {
        let headers = format!("{bearer}Content-Type: {kind}\r\n");
        let answer = farm.ask("POST", "/api/v1/jobs", &headers, r#"{"n": 8}"#).await;
        assert_eq!(answer.status, 201, "{kind}");
    }
}

#[tokio::test]
async fn another_site_gets_nothing_from_an_open_farm() {
    let farm = serving(None, None).await;
    let post = async |headers: &str| {
        farm.ask("POST", "/api/v1/jobs", &format!("{JSON}{headers}"), r#"{"n": 8}"#).await
    };
    assert_eq!(post("").await.status, 201);
    for headers in [
        "Host: rebound.example\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
        "Origin: http://evil.example\r\n",
    ] {
        let answer = post(headers).await;
        assert_eq!((answer.status, answer.problem().0.as_str()), (403, "forbidden"), "{headers}");
    }
    let rebound = farm.get("/api/v1/jobs", "Host: rebound.example\r\n").await;
    assert_eq!(rebound.status, 403);
}

#[tokio::test]
async fn a_credential_is_made_listed_used_and_ended() {
    let farm = guarded().await;
    let body = r#"{"role": "trusted worker", "owner": "lab", "lifetime_s": 60}"#;
    let made = farm.call(Role::Admin, "POST", "/tokens", body).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let made = made.json();
    let secret = made["secret"].as_str().expect("it is told once");
    let listed = farm.call(Role::Admin, "GET", "/tokens", "").await;
    assert!(!listed.body.contains(secret) && !listed.body.contains("hash"), "{}", listed.body);
    let listed = listed.json();
    let last = listed["tokens"].as_array().and_then(|tokens| tokens.last()).expect("it is there");
    assert_eq!((&last["token"], &last["role"]), (&made["token"], &"trusted worker".into()));
    let answer = farm.get("/api/v1/jobs", &bearing(secret)).await;
    assert_eq!(answer.status, 403, "a worker sees nothing");

    let path = format!("/tokens/{}", made["token"].as_str().expect("a string"));
    for _ in 0..2 {
        let ended = farm.call(Role::Admin, "DELETE", &path, "").await;
        assert!(ended.json()["revoked_at_ms"].is_i64(), "{}", ended.body);
    }
    let answer = farm.get("/api/v1/jobs", &bearing(secret)).await;
    assert_eq!(answer.status, 401);
    assert!(answer.problem().1.contains("was revoked"));
}

#[tokio::test]
async fn who_follows_a_job_hears_of_each_change_until_its_end() {
    let farm = guarded().await;
    farm.call(Role::Submitter, "POST", "/jobs", r#"{"n": 8}"#).await;
    let bearer = bearing(&secret(Role::Viewer));
    let mut following = Looking::on(&farm, "/api/v1/jobs/1/events", &bearer).await;
    following.hear("\"state\":\"running\"").await.expect("it comes at once");
    farm.call(Role::Submitter, "POST", "/jobs/1/pause", "").await;
    following.hear("\"state\":\"paused\"").await.expect("it has changed");
    farm.call(Role::Submitter, "POST", "/jobs/1/cancel", "").await;
    let last = following.hear("id: end").await.expect("it is over");
    assert!(last.contains("\"state\":\"cancelled\""), "{last}");
    // The end of the stream may have come with it.
    let has_ended = last.ends_with("0\r\n\r\n");
    assert!(has_ended || following.hear("nothing that is ever said").await.is_none());

    let again = format!("{bearer}Last-Event-ID: end\r\n");
    assert_eq!(farm.get("/api/v1/jobs/1/events", &again).await.status, 204);
    let other = format!("{bearer}Last-Event-ID: 7\r\n");
    assert_eq!(farm.get("/api/v1/jobs/1/events", &other).await.status, 200);
    farm.call(Role::Submitter, "DELETE", "/jobs/1", "").await;
    let removed = farm.get("/api/v1/jobs/1/events", &again).await;
    assert_eq!((removed.status, removed.problem().0.as_str()), (404, "no_such_job"));
}

#[tokio::test]
async fn who_follows_a_job_hears_nothing_more_when_the_credential_has_ended() {
    let farm = guarded().await;
    farm.call(Role::Submitter, "POST", "/jobs", r#"{"n": 8}"#).await;
    let bearer = bearing(&secret(Role::Viewer));
    let mut following = Looking::on(&farm, "/api/v1/jobs/1/events", &bearer).await;
    following.hear("\"state\":\"running\"").await.expect("it comes at once");
    farm.credentials.revoke(&farm.farm, 3).await.expect("it runs").expect("there is one");
    assert_eq!(following.hear("nothing that is ever said").await, None);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_client_that_never_reads_is_let_go() {
    let farm = guarded().await;
    let jobs = format!("[{}]", vec![r#"{"n":8}"#; 50].join(","));
    farm.call(Role::Submitter, "POST", "/jobs", &jobs).await;
    let socket = tokio::net::TcpSocket::new_v4().expect("there are sockets");
    socket.set_recv_buffer_size(4_096).expect("it can be small");
    let mut deaf = socket.connect(farm.address).await.expect("it listens");
    let bearer = bearing(&secret(Role::Viewer));
    let request = format!("GET /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\n{bearer}\r\n");
    // The answers to so many requests have room in no buffer of a system.
    let ended = async {
        for _ in 0.. {
            if deaf.write_all(request.repeat(100).as_bytes()).await.is_err() {
                break;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ended).await.expect("its connection ends");
}

#[tokio::test]
async fn files_are_as_long_as_they_say() {
    let (_folder, farm) = with_a_file().await;
    farm.call(Role::Submitter, "POST", "/jobs", r#"{"n": 8}"#).await;
    for (path, kind, begins) in [
        ("/jobs/1/bundle", "application/gzip", &[0x1f, 0x8b][..]),
        ("/ledger", "application/vnd.sqlite3", b"SQLite format 3"),
    ] {
        let mut stream = tokio::net::TcpStream::connect(farm.address).await.expect("it listens");
        let bearer = bearing(&secret(Role::Admin));
        let request = format!(
            "GET {ROOT}{path} HTTP/1.1\r\nHost: localhost\r\n{bearer}Connection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.expect("it is connected");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.expect("it ends");
        let split = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("it has a head");
        let (head, body) = (String::from_utf8_lossy(&answer[..split]), &answer[split + 4..]);
        assert!(head.contains(&format!("content-type: {kind}")), "{head}");
        assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
        assert!(body.starts_with(begins), "{path}");
    }
    let none = farm.call(Role::Viewer, "GET", "/jobs/5/bundle", "").await;
    assert_eq!((none.status, none.problem().0.as_str()), (404, "no_such_job"));
}

/// Every call that is tested is described, and every described one is tested.
#[tokio::test]
async fn the_description_has_every_call() {
    let farm = guarded().await;
    let answer = farm.get("/api/v1/openapi.json", "").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    let described = answer.json();
    assert_eq!(described["openapi"], "3.1.0");
    let mut found = Vec::new();
    for (path, calls) in described["paths"].as_object().expect("it has paths") {
        for (method, call) in calls.as_object().expect("it has methods") {
            found.push(format!("{} {path}", method.to_uppercase()));
            assert!(call["responses"]["default"].is_object(), "{path}");
            assert!(call["summary"].as_str().is_some_and(|text| text.ends_with('.')), "{path}");
        }
    }
    let mut tested: Vec<String> = CALLS
        .iter()
        .map(|(method, path, ..)| {
            let words = ["/pause", "/resume", "/cancel"];
            let path = words.iter().fold(path.to_string(), |it, word| it.replace(word, "/{word}"));
            let path = path.replace("/1", "/{job}").replace("/w/", "/{worker}/");
            format!("{method} {ROOT}{}", path.replace("/9", "/{token}"))
        })
        .collect();
    found.sort();
    tested.sort();
    tested.dedup();
    assert_eq!(found, tested);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    if std::env::var_os("QUEENS_UPDATE").is_some() {
        std::fs::write(file, format!("{}\n", answer.body)).expect("it can be written");
    }
    let committed = std::fs::read_to_string(file).expect("docs/openapi.json is there");
    let committed: Value = serde_json::from_str(&committed).expect("it is JSON");
    let how = "run `QUEENS_UPDATE=1 cargo test -p queens-service the_description`";
    assert!(described == committed, "docs/openapi.json is of another API: {how}");
}
