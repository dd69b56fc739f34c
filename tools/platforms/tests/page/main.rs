//! Tests the page of a real farm in a real browser: Debian's `chromium` and `chromium-driver`.
//!
//! ```text
//! cargo build
//! cargo test -p platforms --test page -- --ignored
//! QUEENS_SCREENSHOTS=docs/images cargo test -p platforms --test page screenshots -- --ignored
//! ```

mod browser;
#[path = "../../../../crates/queens-cli/tests/support/mod.rs"]
mod support;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use browser::{Browser, Looks};
use fantoccini::Locator;
use serde_json::{Value, json};
use support::guarded::Guarded;
use testkit::vectors;

/// A board that takes minutes to count, and the number of placed rows of its tasks.
const LONG: (&str, &str) = ("19", "6");

/// A farm with a long job, and two workers.
struct Busy {
    guarded: Guarded,
    admin: String,
    workers: Vec<support::process::Process>,
}

fn busy() -> Busy {
    let guarded = Guarded::with("--lease-ms 2000 --public-page");
    let admin = std::fs::read_to_string(guarded.scratch.path("admin")).expect("it was made");
    let (n, rows) = LONG;
    guarded.client("admin", &["submit", n, "--rows", rows, "--name", "nightly"]).success();
    let (worker, _) = guarded.create("worker", "rack7");
    let workers = (0..2).map(|_| guarded.start_worker(&worker)).collect();
    Busy { guarded, admin: admin.trim().into(), workers }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it needs Chromium and its driver: CI installs them"]
async fn a_viewer_sees_numbers_change_and_cannot_change_jobs() {
    let farm = busy();
    let (_, viewer) = farm.guarded.create("viewer", "ann");
    let page = Browser::start(&farm.guarded.farm.url(), Looks::default()).await;
    page.log_in(&viewer).await;

    // The numbers change without loading the page again, and a link keeps the focus.
    page.run("window.loadedOnce = true; document.querySelector('#jobs th a').focus()").await;
    page.wait_for("the page to be live", async || page.text("#live").await == "live").await;
    let percent = async || page.text("#jobs .done").await;
    let first = percent().await;
    page.wait_for("a number to change", async || {
        let now = percent().await;
        !now.is_empty() && now != first
    })
    .await;
    let stays = "return window.loadedOnce && document.activeElement.matches('#jobs th a')";
    assert_eq!(page.run(stays).await, Value::Bool(true));

    // A viewer has no buttons. A script sees no cookie, and scripts in the text of the page do not
    // run.
    assert_eq!(page.count("form.submit").await, 0);
    page.open("/jobs/1").await;
    assert_eq!((page.count(".map rect").await > 0, page.count(".actions").await), (true, 0));
    assert_eq!(page.run("return document.cookie").await, Value::String(String::new()));
    let inline = "const script = document.createElement('script'); script.textContent = 'window.ran = 1'; \
                  document.body.append(script); return window.ran === undefined";
    assert_eq!(page.run(inline).await, Value::Bool(true));

    // Everything was loaded from this farm.
    let origin = farm.guarded.farm.url();
    for path in ["/", "/jobs/1", "/workers"] {
        page.open(path).await;
        let loaded =
            page.run("return performance.getEntriesByType('resource').map(e => e.name)").await;
        let loaded: Vec<String> = serde_json::from_value(loaded).expect("they are names");
        assert!(
            !loaded.is_empty() && loaded.iter().all(|url| url.starts_with(&origin)),
            "{loaded:?}"
        );
    }
    page.end().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it needs Chromium and its driver: CI installs them"]
async fn times_are_those_of_the_readers_place_and_the_tab_says_how_far_a_job_is() {
    let farm = busy();
    let (_, viewer) = farm.guarded.create("viewer", "ann");
    // It is always half past five there when it is midnight in UTC.
    let looks = Looks { zone: "Asia/Kolkata", ..Looks::default() };
    let page = Browser::start(&farm.guarded.farm.url(), looks).await;
    page.log_in(&viewer).await;
    page.open("/jobs/1").await;
    let title = async || page.client.title().await.expect("it has one");
    let first = title().await;
    assert!(first.ends_with("% · Job 1 · queens"), "{first}");
    let are_local = r#"
        const times = Array.from(document.querySelectorAll("time.at"));
        const local = (time) => new Date(Date.parse(time.dateTime) + 19800000).toISOString();
        const is = (time) => local(time).slice(11).startsWith(time.textContent.slice(-5)) ||
            local(time).slice(11, 19) === time.textContent.slice(-8);
        return times.length > 0 && times.every((time) => is(time) && time.title.endsWith(" UTC"));
    "#;
    assert_eq!(page.run(are_local).await, json!(true));
    page.wait_for("another title", async || {
        let now = title().await;
        now != first && now.ends_with("% · Job 1 · queens")
    })
    .await;
    assert_eq!(page.run(are_local).await, json!(true), "also what has changed");
    page.end().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it needs Chromium and its driver: CI installs them"]
async fn an_admin_submits_pauses_resumes_and_cancels() {
    let farm = busy();
    let page = Browser::start(&farm.guarded.farm.url(), Looks::default()).await;
    page.log_in(&farm.admin).await;

    page.press("#submission summary").await;
    let n = page.client.find(Locator::Css("input[name=n]")).await.expect("there is a form");
    // More than what is left of the other job, which is therefore served first.
    n.send_keys("24").await.expect("it can be filled in");
    page.press("#submission button").await;
    page.wait_for("the new job's page", async || page.text("h1").await.starts_with("Job 2")).await;

    let state = async || page.text("#facts .state").await;
    page.press("button.pause").await;
    page.wait_for("the pause", async || state().await == "paused").await;
    page.press("button.resume").await;
    page.wait_for("the job to wait for the other one", async || state().await == "waits").await;
    page.press(".confirm:has([name=priority]) summary").await;
    let priority = page.client.find(Locator::Css("input[name=priority]")).await;
    let priority = priority.expect("there is a form");
    priority.clear().await.expect("it can be emptied");
    priority.send_keys("7").await.expect("it can be filled in");
    page.press(".confirm:has([name=priority]) button").await;
    let row = r#"return document.getElementById("facts").textContent.includes("Priority7")"#;
    page.wait_for("the priority", async || page.run(row).await == Value::Bool(true)).await;
    page.wait_for("the job to run", async || state().await == "running").await;
    page.press(".confirm:has(button.cancel) summary").await;
    page.press("button.cancel").await;
    page.wait_for("the end", async || state().await == "cancelled").await;
    assert_eq!(page.count(".actions button").await, 0, "that is final");

    let status = farm.guarded.client("admin", &["jobs", "2", "--json"]).success();
    assert!(status.contains(r#""state":"cancelled""#), "{status}");
    assert!(status.contains(r#""priority":7"#), "{status}");
    page.press("header form button").await;
    page.wait_for("the login", async || page.count("input[name=token]").await == 1).await;
    page.end().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it needs Chromium and its driver: CI installs them"]
async fn a_script_of_the_farms_own_pages_uses_the_api_with_its_credential() {
    let guarded = Guarded::new();
    let (worker, _) = guarded.create("worker", "rack7");
    let _worker = guarded.start_worker(&worker);
    let admin = std::fs::read_to_string(guarded.scratch.path("admin")).expect("it was made");
    let page = Browser::start(&guarded.farm.url(), Looks::default()).await;
    page.log_in(admin.trim()).await;
    let status = r#"return fetch("api/v1/jobs").then((answer) => answer.status)"#;
    assert_eq!(page.run(status).await, json!(401), "the API takes no cookie");
    let follow = r#"
        const headers = { Authorization: "Bearer SECRET", "Content-Type": "application/json" };
        const body = JSON.stringify({ n: 12 });
        const added = await (await fetch("/api/v1/jobs", { method: "POST", headers, body })).json();
        const events = await fetch(`/api/v1/jobs/${added.job}/events`, { headers });
        const last = (await events.text()).trim().split("\ndata: ").at(-1);
        const { jobs } = await (await fetch("/api/v1/jobs", { headers })).json();
        return [JSON.parse(last.split("\n")[0]).total, jobs.length];
    "#;
    let seen = page.run(&awaiting(&follow.replace("SECRET", admin.trim()))).await;
    assert_eq!(seen, json!([vectors::total(12).to_string(), 1]));

    // The login's cookie goes along, because ports share cookies.
    page.client.goto(&another_site()).await.expect("it answers");
    assert_eq!(page.run(&awaiting(&meddling(&guarded.farm.url()))).await, json!([]));
    assert_eq!(guarded.client("admin", &["jobs", "--json"]).success().lines().count(), 1);
    page.end().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it needs Chromium and its driver: CI installs them"]
async fn a_script_follows_a_job_of_an_open_farm_and_another_site_gets_nothing() {
    let farm = support::Farm::new("", "--report-ms 0");
    let _coordinator = farm.start_coordinator();
    let page = Browser::start(&farm.url(), Looks::default()).await;
    let _worker = farm.start_worker();
    let follow = r#"
        const headers = { "Content-Type": "application/json" };
        const body = JSON.stringify({ n: 13 });
        const added = await (await fetch("/api/v1/jobs", { method: "POST", headers, body })).json();
        const events = new EventSource(`/api/v1/jobs/${added.job}/events`);
        let total = null;
        events.onmessage = (event) => { total = JSON.parse(event.data).total; };
        // The browser comes back after the last event, is told that there are no more, and rests.
        while (events.readyState !== EventSource.CLOSED) await new Promise((met) => setTimeout(met, 50));
        return total;
    "#;
    assert_eq!(page.run(&awaiting(follow)).await, json!(vectors::total(13).to_string()));

    page.client.goto(&another_site()).await.expect("it answers");
    assert_eq!(page.run(&awaiting(&meddling(&farm.url()))).await, json!([]));
    assert_eq!(farm.client(&["jobs", "--json"]).success().lines().count(), 1);
    page.end().await;
}

/// A script that returns what the function with this text does, in the end.
fn awaiting(text: &str) -> String {
    format!("return (async () => {{ {text} }})()")
}

/// The text of a function that tries to read and to change the farm at `url`. It returns the
/// addresses that it could read.
fn meddling(url: &str) -> String {
    let text = r#"
        const read = [];
        const attempt = (path, options) => fetch("FARM" + path, options)
            .then((answer) => { if (answer.type !== "opaque") read.push(path); }, () => {});
        const form = { method: "POST", mode: "no-cors", credentials: "include" };
        const json = { "Content-Type": "application/json" };
        await attempt("/api/v1/jobs", {});
        await attempt("/api/v1/jobs", { credentials: "include", mode: "no-cors" });
        await attempt("/api/v1/jobs", { method: "POST", headers: json, body: '{"n": 8}' });
        await attempt("/api/v1/jobs", { ...form, body: '{"n": 8}' });
        const fields = { problem: "total", n: 8, method: "", priority: 0, audit: 0, key: "" };
        await attempt("/jobs", { ...form, body: new URLSearchParams(fields) });
        await attempt("/jobs/1/cancel", { ...form, body: new URLSearchParams() });
        const events = new EventSource("FARM/api/v1/jobs/1/events");
        await new Promise((met) => { events.onerror = met; events.onmessage = () => met(read.push("events")); });
        return read;
    "#;
    text.replace("FARM", url)
}

/// The address of a page of another origin on this machine, which may ask anybody for anything.
fn another_site() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has one");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 4_096]);
            answer(&mut stream, "200 OK");
        }
    });
    format!("http://{address}/")
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it needs Chromium and its driver: CI installs them"]
async fn a_page_comes_back_to_life_when_its_coordinator_was_away_for_long() {
    let farm = support::Farm::new("", "");
    let coordinator = farm.start_coordinator();
    let page = Browser::start(&farm.url(), Looks::default()).await;
    let is_live = async || page.text("#live").await == "live";
    page.wait_for("the page to be live", is_live).await;
    coordinator.stop();

    // A proxy without a coordinator, or a coordinator that reads its ledger, refuses two requests.
    let listener = TcpListener::bind(farm.address()).expect("the port is free");
    let mut refused = 0;
    while refused < 2 {
        let (mut stream, _) = listener.accept().expect("somebody comes");
        // A browser also opens connections that it may never use.
        stream.set_read_timeout(Some(Duration::from_secs(1))).expect("it is not zero");
        if stream.read(&mut [0; 4_096]).is_ok_and(|bytes| bytes > 0) {
            answer(&mut stream, "503 Service Unavailable");
            refused += 1;
        }
    }
    drop(listener);
    let _coordinator = farm.start_coordinator();
    page.wait_for("the page to be live again", is_live).await;
    page.end().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it needs Chromium and its driver: CI installs them"]
async fn a_page_that_was_changed_often_shows_what_loading_it_anew_shows() {
    let farm = support::Farm::new("", "--report-ms 0");
    let _coordinator = farm.start_coordinator();
    let page = Browser::start(&farm.url(), Looks::default()).await;
    page.wait_for("the page to be live", async || page.text("#live").await == "live").await;
    let submit = r#"
        window.loadedOnce = true;
        const headers = { "Content-Type": "application/json" };
        const body = JSON.stringify(Array.from({ length: 90 }, () => ({ n: 18 })));
        return (await fetch("/api/v1/jobs", { method: "POST", headers, body })).status;
    "#;
    assert_eq!(page.run(&awaiting(submit)).await, json!(201));
    let rows = async || page.count("#jobs tbody th").await;
    page.wait_for("the jobs", async || rows().await == 90).await;
    for (cancelled, job) in [(1, 1), (2, 45), (3, 90)] {
        let url = format!("/api/v1/jobs/{job}/cancel");
        page.run(&format!("return fetch({url:?}, {{ method: 'POST' }}).then(() => 0)")).await;
        page.wait_for("its row to move", async || rows().await == 90 - cancelled).await;
    }
    let same = r#"
        const text = await (await fetch(location.href)).text();
        const anew = new DOMParser().parseFromString(text, "text/html").getElementById("main");
        return window.loadedOnce && document.getElementById("main").isEqualNode(anew);
    "#;
    page.wait_for("the same page", async || page.run(&awaiting(same)).await == json!(true)).await;
    page.end().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it needs Chromium and its driver: CI installs them"]
async fn the_map_shows_leases_and_drops_those_of_a_killed_worker() {
    let mut farm = busy();
    let page = Browser::start(&farm.guarded.farm.url(), Looks::default()).await;
    page.log_in(&farm.admin).await;
    page.open("/workers").await;
    let rows = async || page.count("#workers tbody tr").await;
    page.wait_for("two workers", async || rows().await == 2).await;

    // Given a worker that has a part of the plan, according to a cell of the map
    let killed = farm.workers.pop().expect("there are two");
    let said = killed.said();
    let hello = said.lines().find(|line| line.contains("worker starts")).expect("it starts");
    let hello: Value = serde_json::from_str(hello).expect("its log is JSON");
    let name = hello["name"].as_str().expect("it says its name").to_string();
    let holds = format!(
        "return Array.from(document.querySelectorAll('.map .leased title')).some(t => t.textContent.includes('{name}'))"
    );
    page.open("/jobs/1").await;
    page.wait_for("the map to name it", async || page.run(&holds).await == Value::Bool(true)).await;

    // When it is killed, the open page shows it
    killed.kill();
    page.wait_for("the map to forget it", async || page.run(&holds).await == Value::Bool(false))
        .await;
    assert!(page.count(".map .leased").await > 0, "the other one goes on");
    page.open("/workers").await;
    page.wait_for("one worker", async || rows().await == 1).await;
    page.end().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it needs Chromium and its driver: CI installs them"]
async fn without_script_the_page_loads_itself_anew_and_forms_work() {
    let farm = busy();
    let looks = Looks { without_script: true, ..Looks::default() };
    let page = Browser::start(&farm.guarded.farm.url(), looks).await;
    page.log_in(&farm.admin).await;
    let percent = async || page.text("#jobs .done").await;
    let first = percent().await;
    page.wait_for("a number to change", async || {
        let now = percent().await;
        !now.is_empty() && now != first
    })
    .await;
    page.open("/jobs/1").await;
    page.press("button.pause").await;
    page.wait_for("the pause", async || page.text("#facts .state").await == "paused").await;
    page.end().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it needs Chromium and its driver: CI installs them"]
async fn a_login_works_over_tls_with_the_farms_own_certificate() {
    let scratch = support::Scratch::new();
    let admin = scratch.path("admin");
    let farm = support::Farm::new(&format!("--tls --token-file {}", admin.display()), "");
    let _coordinator = farm.start_coordinator();
    let url = farm.url().replace("http://", "https://");
    let page = Browser::start(&url, Looks::default()).await;
    page.log_in(std::fs::read_to_string(admin).expect("it was made").trim()).await;
    page.wait_for("the page to be live", async || page.text("#live").await == "live").await;
    let cookie = page.client.get_named_cookie("__Host-queens").await.expect("it is set");
    let flags = (cookie.secure(), cookie.http_only(), cookie.path());
    assert_eq!(flags, (Some(true), Some(true), Some("/")));
    page.end().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it needs Chromium and its driver: CI installs them"]
async fn pages_are_accessible_in_light_and_dark_and_at_any_width() {
    let farm = busy();
    farm.guarded.client("admin", &["submit", "10", "--priority", "9", "--wait"]).success();
    for (dark, width) in
        [(false, 1_200), (true, 1_200), (false, 360), (true, 700), (false, 850), (false, 1_100)]
    {
        let looks = Looks { dark, width, ..Looks::default() };
        let page = Browser::start(&farm.guarded.farm.url(), looks).await;
        assert_eq!(faults(&page).await, Value::Array(Vec::new()), "the login, {looks:?}");
        page.log_in(&farm.admin).await;
        for path in
            ["/", "/jobs/1", "/jobs/2", "/workers", "/owners", "/public", "/jobs", "/jobs/99"]
        {
            page.open(path).await;
            assert_eq!(faults(&page).await, Value::Array(Vec::new()), "{path}, {looks:?}");
        }
        // The page of an owner, and then the page of one of its workers.
        for _ in 0..2 {
            if page.count("#credits").await == 0 {
                page.open("/owners").await;
            }
            page.press("#credits tbody a").await;
            assert_eq!(faults(&page).await, Value::Array(Vec::new()), "of somebody, {looks:?}");
        }
        page.end().await;
    }
}

/// Answers a request by an empty page.
fn answer(stream: &mut TcpStream, status: &str) {
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: 0");
    let _ = write!(stream, "{head}\r\nConnection: close\r\n\r\n");
}

/// The faults for people who do not see well, use no mouse or have a small screen.
async fn faults(page: &Browser) -> Value {
    page.run(include_str!("faults.js")).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it needs Chromium and its driver: CI installs them"]
async fn screenshots() {
    // Tests run in the folder of their crate.
    let top = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let folder = std::env::var_os("QUEENS_SCREENSHOTS").map(|folder| top.join(folder));
    let guarded = Guarded::with("--lease-ms 2000");
    let admin = std::fs::read_to_string(guarded.scratch.path("admin")).expect("it was made");
    let submit = |args: &[&str]| guarded.client("admin", &[&["submit"], args].concat()).success();
    submit(&["12", "--priority", "3"]);
    submit(&["18", "--rows", "5", "--name", "nightly-18", "--audit", "0.3"]);
    submit(&["20", "--priority", "-5", "--name", "weekend"]);
    let owners = ["rack7", "rack8"].map(|owner| guarded.create("worker", owner).0);
    let _workers: Vec<_> = (0..4).map(|at| guarded.start_worker(&owners[at % 2])).collect();
    let shots = [
        ("jobs", "/", Looks { height: 1010, ..Looks::default() }),
        ("workers", "/workers", Looks { height: 590, ..Looks::default() }),
        ("job", "/jobs/2", Looks { height: 1260, ..Looks::default() }),
        ("phone", "/", Looks { width: 390, height: 844, ..Looks::default() }),
    ];
    for (name, path, looks) in shots {
        let page = Browser::start(&guarded.farm.url(), looks).await;
        page.log_in(admin.trim()).await;
        page.open(path).await;
        page.wait_for("the page to be live", async || page.text("#live").await == "live").await;
        if folder.is_some() {
            // The chart and the map need some seconds to show something.
            tokio::time::sleep(Duration::from_secs(15)).await;
        }
        let png = page.client.screenshot().await.expect("it can be seen");
        assert!(png.starts_with(b"\x89PNG"), "{name}");
        if let Some(folder) = &folder {
            std::fs::write(folder.join(format!("page-{name}.png")), png)
                .expect("it can be written");
        }
        page.end().await;
    }
}
