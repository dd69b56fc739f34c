//! Who may read what over HTTP, and what a browser is told.

mod api;
mod live;
mod public;

use std::io::Read as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use farm::{Hello, JobId};
use flate2::read::GzDecoder;
use ledger::{CheckedLedger, Credential, Ledger, Role};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::coordinator::{Credentials, FarmHandle, Limits, Listener, OwnFiles, serve};
use crate::tests::{authority, credential, hello, ledger, submit};
use crate::tls::Authority;
use crate::{Pin, Token};

const OWN: &str = "the-coordinators-own-secret";

/// What a reference in the page at `path` means.
///
/// # Panics
/// If it would leave the path under which a proxy may serve the farm.
fn resolved(path: &str, reference: &str) -> String {
    assert!(!reference.starts_with('/') && !reference.contains(':'), "{reference} at {path}");
    let path = path.split('?').next().unwrap_or_default();
    let mut folders: Vec<&str> = path.split('/').collect();
    folders.pop();
    let mut rest = reference.trim_start_matches("./");
    while let Some(above) = rest.strip_prefix("../") {
        assert!(folders.len() > 1 && folders.pop().is_some(), "{reference} at {path}");
        rest = above;
    }
    folders.push(rest);
    folders.join("/")
}

/// A coordinator that serves.
struct Served {
    address: SocketAddr,
    /// Its authority, if it serves TLS.
    pin: Option<Pin>,
    credentials: Credentials,
    farm: FarmHandle,
}

/// A coordinator with the credentials `viewer-secret-16`, `submitter-secret`, and so on, of owners
/// of the same name.
async fn serving(own: Option<Token>, authority: Option<Authority>) -> Served {
    serving_ledger(ledger(), own, authority).await
}

async fn serving_ledger(
    ledger: Ledger,
    own: Option<Token>,
    authority: Option<Authority>,
) -> Served {
    serving_public(ledger, own, authority, None).await
}

/// A coordinator with a page for everybody that names these owners, if any are given.
async fn serving_public(
    ledger: Ledger,
    own: Option<Token>,
    authority: Option<Authority>,
    public: Option<Arc<[String]>>,
) -> Served {
    let any = "127.0.0.1:0".parse().expect("it is an address");
    let listener = Listener::bind(&[any], Limits::default()).await.expect("some port is free");
    let address = listener.addresses().expect("it is bound")[0];
    let (farm, handle) = crate::tests::farm(ledger);
    tokio::spawn(farm.run());
    let own = own.map(|own| (own, OwnFiles::default()));
    let credentials = Credentials::new(own, known());
    let pin = authority.as_ref().map(Authority::pin);
    let tls = authority.map(|authority| authority.acceptor());
    let (phases, server) = serve(listener, tls).await;
    phases.open(credentials.clone(), handle.clone(), public).await;
    tokio::spawn(server);
    Served { address, pin, credentials, farm: handle }
}

async fn guarded() -> Served {
    serving(guard(), None).await
}

fn guard() -> Option<Token> {
    Token::new(OWN).ok()
}

const ROLES: [Role; 5] =
    [Role::Admin, Role::Submitter, Role::Viewer, Role::Worker, Role::TrustedWorker];

fn secret(role: Role) -> String {
    format!("{}-secret-of-16", role.name().replace(' ', "-"))
}

fn known() -> Vec<Credential> {
    let credential = |(id, role): (u64, Role)| {
        let owner = role.name().into();
        Credential { owner, ..credential(id, &secret(role), role) }
    };
    (1..).zip(ROLES).map(credential).collect()
}

/// An answer: what was asked for, its status, its headers in lower case, and its body.
struct Answer {
    path: String,
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Where a browser would be led.
    fn leads_to(&self) -> Option<String> {
        Some(resolved(&self.path, self.header("location")?))
    }

    /// Where the links, forms and files of a page lead.
    fn links(&self) -> Vec<String> {
        let named = ["href=\"", "src=\"", "action=\"", "data-live=\""];
        let of = |name| self.body.split(name).skip(1).filter_map(|rest| rest.split('"').next());
        let links = named.into_iter().flat_map(of).filter(|link| !link.starts_with('#'));
        links.map(|link| resolved(&self.path, &link.replace("&amp;", "&"))).collect()
    }

    /// The cookie that a browser would send from now on.
    fn cookie(&self) -> String {
        let set = self.header("set-cookie").expect("it sets a cookie");
        format!("Cookie: {}\r\n", set.split(';').next().expect("it is not empty"))
    }
}

impl Served {
    async fn get(&self, path: &str, headers: &str) -> Answer {
        self.ask("GET", path, headers, "").await
    }

    async fn post(&self, path: &str, headers: &str, form: &str) -> Answer {
        let headers = format!("{headers}Content-Type: application/x-www-form-urlencoded\r\n");
        self.ask("POST", path, &headers, form).await
    }

    async fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let (head, body) = self.bytes(method, path, headers, body).await;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.expect("it has a status");
        let body = String::from_utf8_lossy(&body).into_owned();
        Answer { path: path.into(), status, head, body }
    }

    /// The head of an answer, and its body as it is transferred.
    async fn bytes(
        &self,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> (String, Vec<u8>) {
        let host = if headers.contains("Host: ") { "" } else { "Host: localhost\r\n" };
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{host}{headers}Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let stream = TcpStream::connect(self.address).await.expect("it listens");
        let bytes = match self.pin {
            None => exchange(stream, &request).await,
            Some(pin) => {
                let (connector, name) = pin.connector(b"http/1.1");
                let stream = connector.connect(name, stream);
                exchange(stream.await.expect("the pin is right"), &request).await
            }
        };
        let at = bytes.windows(4).position(|end| end == b"\r\n\r\n").expect("it is an answer");
        (String::from_utf8_lossy(&bytes[..at]).into(), bytes[at + 4..].into())
    }

    async fn log_in(&self, role: Role) -> String {
        let form = format!("token={}", secret(role));
        let answer = self.post("/login", "", &form).await;
        assert_eq!((answer.status, answer.leads_to().as_deref()), (303, Some("/")));
        answer.cookie()
    }
}

async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> Vec<u8> {
    stream.write_all(request.as_bytes()).await.expect("it is connected");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.expect("it ends well");
    bytes
}

fn bearing(secret: &str) -> String {
    format!("Authorization: Bearer {secret}\r\n")
}

#[tokio::test]
async fn who_may_see_the_farm_may_read_it_and_its_metrics_and_nobody_else() {
    let farm = guarded().await;
    for (headers, status) in [
        (String::new(), 401),
        (bearing("not a secret of ours"), 401),
        (bearing(&secret(Role::Worker)), 403),
        (bearing(&secret(Role::Viewer)), 200),
        (bearing(&secret(Role::Submitter)), 200),
        (bearing(&secret(Role::Admin)), 200),
        (bearing(OWN), 200),
        ("Cookie: queens=0123456789abcdef\r\n".into(), 401),
    ] {
        for path in ["/", "/metrics"] {
            let answer = farm.get(path, &headers).await;
            assert_eq!(answer.status, status, "{path} {headers:?}: {}", answer.body);
        }
    }
    assert_eq!(farm.get("/no-such-page", "").await.status, 404);

    // Prometheus reads a format by its type, and this one has no end of its own.
    let metrics = farm.get("/metrics", &bearing(OWN)).await;
    let kind = metrics.header("content-type").expect("it has one");
    assert!(kind.starts_with("text/plain; version=0.0.4"), "{kind}");
    assert!(metrics.body.contains("\nqueens_workers 0\n"), "{}", metrics.body);
    assert!(!metrics.body.contains("# EOF"), "{}", metrics.body);
}

#[tokio::test]
async fn a_browser_logs_in_and_out() {
    let farm = guarded().await;
    let stranger = farm.get("/", "Accept: text/html\r\n").await;
    assert_eq!((stranger.status, stranger.leads_to().as_deref()), (303, Some("/login")));
    let stranger = farm.get("/jobs/1", "Accept: text/html\r\n").await;
    assert_eq!(stranger.leads_to().as_deref(), Some("/login"));
    assert!(farm.get("/login", "").await.body.contains("name=\"token\""));

    for wrong in ["", "token=", "token=wrong", &format!("token={}", secret(Role::Worker))] {
        let answer = farm.post("/login", "", wrong).await;
        assert_eq!((answer.status, answer.header("set-cookie")), (403, None), "{wrong}");
        assert!(answer.body.contains("role=\"alert\""), "{}", answer.body);
    }

    let cookie = farm.log_in(Role::Viewer).await;
    let page = farm.get("/", &cookie).await;
    assert_eq!(page.status, 200);
    assert!(page.body.contains("viewer<span class=\"role\"> (viewer)"), "{}", page.body);

    let out = farm.post("/logout", &cookie, "").await;
    assert!(out.header("set-cookie").is_some_and(|set| set.contains("Max-Age=0")));
    assert_eq!(farm.get("/", &cookie).await.status, 401, "its login has ended");
}

#[tokio::test]
async fn the_login_takes_what_the_command_has_printed() {
    let farm = guarded().await;
    let join = |secret: &str| format!("queens://{secret}@head-node:7410#{}", "a".repeat(64));
    let form = |pasted: &str| {
        let escaped = pasted.replace('%', "%25").replace('#', "%23").replace('+', "%2B");
        format!("token={}", escaped.replace(' ', "+").replace('\n', "%0A"))
    };
    let secret = secret(Role::Viewer);
    let link = format!("https://head-node:7410/login#{secret}");
    let with_mark = format!("\u{feff}{}\n", join(&secret));
    for pasted in [secret.clone(), format!(" {secret}\n"), join(&secret), link, with_mark] {
        let answer = farm.post("/login", "", &form(&pasted)).await;
        assert_eq!(answer.status, 303, "{pasted:?}: {}", answer.body);
        assert_eq!(farm.get("/", &answer.cookie()).await.status, 200, "{pasted:?}");
    }
    let whole = join(&secret);
    for (pasted, said) in [
        (join("the-secret-of-nobody"), "the token is wrong"),
        (whole[..whole.len() - 3].into(), "copy all of it"),
        (whole.replace('#', ""), "copy all of it"),
    ] {
        let answer = farm.post("/login", "", &form(&pasted)).await;
        assert_eq!((answer.status, answer.header("set-cookie")), (403, None), "{pasted}");
        assert!(answer.body.contains(said) && !answer.body.contains(&secret), "{}", answer.body);
    }
    assert!(farm.get("/login", "").await.body.contains("Join string or token"));
}

#[tokio::test]
async fn who_guesses_is_refused_unheard_and_who_is_logged_in_is_not() {
    let farm = guarded().await;
    let cookie = farm.log_in(Role::Viewer).await;
    let mut refused = 0;
    for _ in 0..40 {
        let answer = farm.post("/login", "", "token=wrong").await;
        assert!(matches!(answer.status, 403 | 429), "{}", answer.status);
        refused += u32::from(answer.status == 429);
    }
    assert!(refused > 0, "forty at once");
    assert_eq!(farm.get("/", &cookie).await.status, 200);
    assert_eq!(farm.get("/", &bearing(&secret(Role::Viewer))).await.status, 200);
}

#[tokio::test]
async fn forms_of_other_sites_are_refused() {
    let farm = guarded().await;
    let cookie = farm.log_in(Role::Admin).await;
    for site in ["Sec-Fetch-Site: cross-site\r\n", "Origin: https://elsewhere.example\r\n"] {
        let answer = farm.post("/logout", &format!("{cookie}{site}"), "").await;
        assert_eq!(answer.status, 403, "{site}");
    }
    assert_eq!(farm.get("/", &cookie).await.status, 200, "the login goes on");
    let own = format!("{cookie}Origin: http://localhost\r\nSec-Fetch-Site: same-origin\r\n");
    assert_eq!(farm.post("/logout", &own, "").await.status, 303);
}

#[tokio::test]
async fn a_browser_may_load_nothing_from_elsewhere_and_run_nothing_in_the_page() {
    let farm = guarded().await;
    for path in ["/", "/login", "/style.css", "/no-such-page"] {
        let answer = farm.get(path, &bearing(&secret(Role::Viewer))).await;
        let policy = answer.header("content-security-policy").expect("every answer has one");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"));
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert!(!answer.body.contains("style=\"") && !answer.body.contains("onclick"), "{path}");
    }
}

#[tokio::test]
async fn a_cookie_is_kept_from_scripts_from_other_sites_and_from_plain_text() {
    let plain = guarded().await;
    let form = format!("token={}", secret(Role::Viewer));
    let set = plain.post("/login", "", &form).await;
    let set = set.header("set-cookie").expect("it logs in");
    assert!(set.starts_with("queens=") && set.ends_with("; HttpOnly; SameSite=Strict"), "{set}");
    let lasting = "strict-transport-security";
    assert_eq!(plain.get("/login", "").await.header(lasting), None);

    let encrypted = serving(guard(), Some(authority())).await;
    let answer = encrypted.post("/login", "", &form).await;
    let set = answer.header("set-cookie").expect("it logs in");
    assert!(set.starts_with("__Host-queens=") && set.contains("; Path=/;"), "{set}");
    assert!(set.ends_with("; HttpOnly; SameSite=Strict; Secure"), "{set}");
    assert_eq!(answer.header(lasting), Some("max-age=2592000"));
    assert_eq!(encrypted.get("/", &answer.cookie()).await.status, 200);
}

#[tokio::test]
async fn an_open_farm_needs_no_login_and_answers_to_no_name_of_somebody_else() {
    let farm = serving(None, None).await;
    for own in ["127.0.0.1:7410", "localhost:7410", "[::1]:7410", "coordinator", "a.localhost"] {
        let answer = farm.get("/", &format!("Host: {own}\r\n")).await;
        assert_eq!(answer.status, 200, "{own}: {}", answer.body);
    }
    for foreign in ["rebound.example", "rebound.example:7410", "127.0.0.1.example"] {
        let answer = farm.get("/", &format!("Host: {foreign}\r\n")).await;
        assert_eq!(answer.status, 403, "{foreign}");
    }
}

/// A job of the submitter; its number.
async fn submitted(farm: &Served, key: &str) -> String {
    let key: String = key.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let form = format!("problem=total&n=8&method=&priority=0&audit=0&key={key}");
    let answer = farm.post("/jobs", &bearing(&secret(Role::Submitter)), &form).await;
    assert_eq!(answer.status, 303, "{}", answer.body);
    answer.leads_to().expect("it leads to the job")
}

#[tokio::test]
async fn a_job_and_its_priority_are_changed_by_those_who_may_and_nobody_else() {
    let farm = guarded().await;
    let job = submitted(&farm, "").await;
    let other = farm.credentials.create(&farm.farm, "another", Role::Submitter, None);
    let (token, _) = other.await.expect("it runs");
    let [viewer, submitter, admin] = [Role::Viewer, Role::Submitter, Role::Admin].map(&secret);
    for (who, action, form, status, then) in [
        ("", "cancel", "", 401, ("running", 0)),
        (&secret(Role::Worker), "cancel", "", 403, ("running", 0)),
        (&viewer, "cancel", "", 403, ("running", 0)),
        (token.secret(), "cancel", "", 403, ("running", 0)),
        (&submitter, "explode", "", 404, ("running", 0)),
        (&submitter, "pause", "", 303, ("paused", 0)),
        (&admin, "resume", "", 303, ("running", 0)),
        (&viewer, "priority", "priority=5", 403, ("running", 0)),
        (&submitter, "priority", "priority=5", 303, ("running", 5)),
        (&submitter, "priority", "priority=11", 403, ("running", 5)),
        (&admin, "priority", "priority=-1000", 303, ("running", -1000)),
        (&submitter, "priority", "priority=high", 400, ("running", -1000)),
        (&submitter, "cancel", "", 303, ("cancelled", -1000)),
        (&admin, "resume", "", 409, ("cancelled", -1000)),
    ] {
        let answer = farm.post(&format!("{job}/{action}"), &bearing(who), form).await;
        assert_eq!(answer.status, status, "{action} {form} by {who:?}: {}", answer.body);
        let view = farm.farm.job(JobId(1)).await.expect("it runs").expect("there is one");
        let found = (view.state.name(), view.spec.priority);
        assert_eq!(found, then, "after {action} {form} by {who:?}");
    }
}

#[tokio::test]
async fn an_owners_page_tells_its_hours() {
    let farm = guarded().await;
    let page = "/owner?owner=submitter";
    let viewer = bearing(&secret(Role::Viewer));
    let job = submitted(&farm, "").await;

    let answer = farm.get(page, &viewer).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(!answer.body.contains("GPU time"), "a zero is left out: {}", answer.body);
    for (name, value) in [("Processor time", "0\u{a0}ms"), ("Live jobs", "1")] {
        let fact = format!("<dt>{name}</dt><dd>{value}</dd>");
        assert!(answer.body.contains(&fact), "{fact}: {}", answer.body);
    }
    let answer = farm.get(&job, &viewer).await;
    assert!(answer.body.contains("<dt>Processor time</dt><dd>0\u{a0}ms</dd>"), "{}", answer.body);
    assert!(answer.links().contains(&page.to_string()), "{:?}", answer.links());
}

/// The page once it is ready. What the ledger tells is read beside the farm, for whoever asks next.
async fn once(farm: &Served, path: &str, is_ready: impl Fn(&Answer) -> bool) -> Answer {
    let ready = async {
        loop {
            let page = farm.get(path, &bearing(&secret(Role::Viewer))).await;
            if is_ready(&page) {
                break page;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let ready = tokio::time::timeout(Duration::from_secs(60), ready).await;
    ready.unwrap_or_else(|_| panic!("{path} is never ready"))
}

#[tokio::test]
async fn what_the_ledger_tells_is_shown_and_nobody_of_a_name_that_it_does_not_have() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let ledger = CheckedLedger::open(&folder.path().join("ledger.db"));
    let ledger = ledger.and_then(CheckedLedger::begin).expect("it is new");
    let farm = serving_ledger(ledger, guard(), None).await;
    let job = submitted(&farm, "").await;
    let paused = farm.post(&format!("{job}/pause"), &bearing(&secret(Role::Admin)), "").await;
    assert_eq!(paused.status, 303, "{}", paused.body);

    let page = once(&farm, &job, |page| page.body.contains("<h2>Log</h2>")).await.body;
    let log = page.split("<h2>Log</h2>").nth(1).and_then(|log| log.split("</ol>").next());
    let entries = log.expect("it has a log").split("</time> ").skip(1);
    let mut reported: Vec<&str> = entries.filter_map(|entry| entry.split("</li>").next()).collect();
    // Both may have happened within one millisecond.
    reported.sort_unstable();
    assert_eq!(reported, ["paused by admin", "submitted by submitter"]);

    // Until the ledger has been read for the first time, the page says that it is being read.
    for nobody in ["/owner?owner=nobody", "/worker?owner=submitter&machine=b&worker=c"] {
        once(&farm, nobody, |page| page.status == 404).await;
    }
    let is_read = |page: &Answer| !page.body.contains("is being read");
    let own = once(&farm, "/owner?owner=submitter", is_read).await;
    assert_eq!(own.status, 200, "it has a job");
}

#[tokio::test]
async fn what_cannot_be_submitted_is_refused_with_a_reason() {
    let farm = guarded().await;
    let form = |n: &str, priority: &str, audit: &str| {
        format!("problem=total&n={n}&method=&priority={priority}&audit={audit}&key=")
    };
    for (who, form, status, reason) in [
        (Role::Viewer, form("8", "0", "0"), 403, "needs that of a submitter"),
        (Role::Submitter, form("8", "11", "0"), 403, "is for admins only"),
        (Role::Submitter, form("99", "0", "0"), 422, "a size of at most 32"),
        (Role::Submitter, form("eight", "0", "0"), 400, "whole numbers"),
        (Role::Submitter, form("8", "0", "101"), 422, "from 0 to 100"),
        (Role::Submitter, form("8", "0", "NaN"), 422, "from 0 to 100"),
        (Role::Submitter, "n=8".into(), 400, "is not filled in"),
        (Role::Submitter, form("8", "0", "0").replace("key=", "key=a%20b"), 422, "no space"),
    ] {
        let answer = farm.post("/jobs", &bearing(&secret(who)), &form).await;
        assert_eq!(answer.status, status, "{form}: {}", answer.body);
        assert!(answer.body.contains(reason), "{form}: {}", answer.body);
    }
    for nothing in ["/owner", "/jobs/1", "/jobs/one", "/jobs/1/live", "/jobs/-1"] {
        let answer = farm.get(nothing, &bearing(&secret(Role::Viewer))).await;
        assert_eq!(answer.status, 404, "{nothing}");
    }
}

#[tokio::test]
async fn an_address_of_a_form_shows_the_form_or_says_that_nothing_is_to_be_seen() {
    let farm = guarded().await;
    let submitter = bearing(&secret(Role::Submitter));
    let form = farm.get("/jobs", &submitter).await;
    assert!(form.status == 200 && form.body.contains("name=\"priority\""), "{}", form.body);
    for (path, status, said) in
        [("/jobs/1/pause", 405, "such a request"), ("/logout", 405, "such a request")]
    {
        let answer = farm.get(path, &submitter).await;
        assert_eq!(answer.status, status, "{path}");
        assert!(answer.body.contains(said), "{path}: {}", answer.body);
    }
    let elsewhere = format!("{submitter}Origin: http://proxy\r\n");
    let answer = farm.post("/jobs", &elsewhere, "n=8").await;
    assert!(answer.status == 403 && answer.body.contains("Host"), "{}", answer.body);
}

#[tokio::test]
async fn hostile_names_are_only_text() {
    const HOSTILE: &str = "<script>alert(1)</script>\"'<img/src=x>";
    let farm = guarded().await;
    let job = submitted(&farm, HOSTILE).await;
    let _orders = farm.farm.join(HOSTILE.into(), false, hello(HOSTILE)).await.expect("it runs");
    let workers = farm.get("/workers?page=7", &bearing(&secret(Role::Viewer))).await;
    let links = workers.links();
    let to = |page: &str| links.iter().find(|link| link.starts_with(page)).expect("it leads there");
    for path in ["/", &job, "/workers", "/owners", to("/owner?"), to("/worker?")] {
        let page = farm.get(path, &bearing(&secret(Role::Viewer))).await.body;
        assert!(page.contains("&lt;script&gt;alert(1)"), "{path} does not name it: {page}");
        assert!(!page.contains("<script>alert") && !page.contains("<img/"), "{path}");
    }
}

#[tokio::test]
async fn a_refused_form_keeps_what_was_typed() {
    let farm = guarded().await;
    let form = "problem=toroidal&n=77&method=prefixes&priority=-3&audit=2.5&key=night";
    let answer = farm.post("/jobs", &bearing(&secret(Role::Submitter)), form).await;
    assert_eq!(answer.status, 422);
    for kept in ["value=\"77\"", "value=\"-3\"", "value=\"2.5\"", "value=\"night\""] {
        assert!(answer.body.contains(kept), "{kept}: {}", answer.body);
    }
    for chosen in ["<option selected>toroidal", "value=\"prefixes\" selected"] {
        assert!(answer.body.contains(chosen), "{chosen}: {}", answer.body);
    }
    let job = submitted(&farm, "").await;
    let form = "priority=4711";
    let answer =
        farm.post(&format!("{job}/priority"), &bearing(&secret(Role::Submitter)), form).await;
    assert!(answer.body.contains("value=\"4711\""), "{}", answer.body);
    assert!(answer.links().contains(&format!("{job}/priority")), "the form can be sent again");
}

#[tokio::test]
async fn every_link_leads_to_a_page_under_any_prefix() {
    let farm = guarded().await;
    let job = submitted(&farm, "").await;
    let _orders = farm.farm.join("w".into(), false, hello("w")).await.expect("it runs");
    let cookie = farm.log_in(Role::Viewer).await;
    let worker = "/worker?owner=w&machine=w&worker=w";
    for page in ["/", "/login", &job, "/workers", "/owners", "/owner?owner=w", worker, "/a/b/c"] {
        let page = farm.get(page, &format!("{cookie}Accept: text/html\r\n")).await;
        let links = page.links();
        assert!(links.len() > 3, "{}", page.body);
        for link in links.into_iter().filter(|link| !link.contains("/live") && link != "/logout") {
            assert_eq!(farm.get(&link, &cookie).await.status, 200, "{link} on {}", page.path);
        }
    }
}

#[tokio::test]
async fn unfinished_jobs_come_in_pages_and_those_that_are_counted_first() {
    // Given a farm that is full of jobs, the highest of which a worker counts
    let farm = guarded().await;
    submit(&farm.farm, 1_000).await;
    farm.post("/jobs/950/priority", &bearing(OWN), "priority=9").await;
    let _orders = farm.farm.join("w".into(), false, hello("w")).await.expect("it runs");
    let viewer = bearing(&secret(Role::Viewer));
    let jobs = |page: &Answer| -> Vec<u64> {
        let heads = page.body.split("<th scope=\"row\"><a href=\"jobs/").skip(1);
        heads.filter_map(|head| head.split('"').next()?.parse().ok()).collect()
    };

    // Then it stands on the first page, and the others follow in order.
    let first = farm.get("/", &viewer).await;
    assert_eq!(jobs(&first), [950].into_iter().chain(1..100).collect::<Vec<_>>());
    let next = "/?page=1&before=500";
    assert!(first.links().contains(&"/?page=1".into()), "{:?}", first.links());
    for (page, expected) in [(next, 100..200), ("/?page=9", 900..950), ("/?page=99", 900..950)] {
        assert!(jobs(&farm.get(page, &viewer).await).starts_with(&Vec::from_iter(expected)));
    }
    for link in ["/live?page=1&before=500", "/?before=500", "/?page=2&before=500"] {
        let links = farm.get(next, &viewer).await.links();
        assert!(links.contains(&link.into()), "{link}: {links:?}");
    }
}

#[tokio::test]
async fn pages_and_metrics_are_compressed_for_those_who_take_it() {
    let farm = guarded().await;
    submit(&farm.farm, 1_000).await;
    let viewer = bearing(&secret(Role::Viewer));
    let gzip = format!("{viewer}Accept-Encoding: gzip, deflate, br\r\n");
    for path in ["/", "/jobs/1", "/metrics", "/style.css", "/api/v1/jobs"] {
        let plain = farm.get(path, &viewer).await;
        assert_eq!(plain.header("content-encoding"), None, "{path}");
        let (head, body) = farm.bytes("GET", path, &gzip, "").await;
        assert!(head.contains("content-encoding: gzip\r\n"), "{path}: {head}");
        assert!(head.contains("vary: accept-encoding\r\n"), "{path}: {head}");
        assert!(body.len() < 60_000 && plain.body.len() < 150_000, "{path}: {}", body.len());
        let mut text = String::new();
        let chunks = unchunked(&body);
        GzDecoder::new(&chunks[..]).read_to_string(&mut text).expect("it is whole");
        let is_equal = text.split("Last report").next() == plain.body.split("Last report").next();
        assert!(is_equal || path == "/metrics", "{path}: {text}");
    }
}

/// A body that came in chunks.
fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = body.windows(2).position(|end| end == b"\r\n") {
        let length = std::str::from_utf8(&body[..end]).expect("it is a number");
        let length = usize::from_str_radix(length, 16).expect("it is a number");
        whole.extend_from_slice(&body[end + 2..][..length]);
        body = &body[end + 2 + length + 2..];
    }
    whole
}

#[tokio::test]
async fn the_evidence_is_downloaded_by_who_may_see_it() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let ledger = CheckedLedger::open(&folder.path().join("ledger.db"));
    let ledger = ledger.and_then(CheckedLedger::begin).expect("it is new");
    let farm = serving_ledger(ledger, guard(), None).await;
    let bundle = format!("{}/bundle", submitted(&farm, "").await);
    let cookie = farm.log_in(Role::Viewer).await;
    for (who, status) in [
        (String::new(), 401),
        (bearing(&secret(Role::Worker)), 403),
        (bearing(&secret(Role::Viewer)), 200),
        (cookie.clone(), 200),
    ] {
        let who = format!("{who}Accept-Encoding: gzip\r\n");
        let (head, body) = farm.bytes("GET", &bundle, &who, "").await;
        assert!(head.contains(&format!(" {status} ")), "{who}: {head}");
        if status == 200 {
            assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{head}");
            assert!(head.contains("filename=\"job-1.bundle.gz\""), "{head}");
            assert!(
                !head.contains("content-encoding") && body.starts_with(&[0x1f, 0x8b]),
                "{head}"
            );
        }
    }
    assert_eq!(farm.get("/jobs/7/bundle", &cookie).await.status, 404);
}

#[tokio::test]
async fn a_job_may_have_given_queens() {
    let farm = guarded().await;
    let submitter = bearing(&secret(Role::Submitter));
    let form = |problem: &str, given: &str| {
        format!("problem={problem}&n=8&method=&priority=0&audit=0&key=&given={given}")
    };
    let answer = farm.post("/jobs", &submitter, &form("total", "a1%2Cc2")).await;
    assert_eq!(answer.status, 303, "{}", answer.body);
    let job = farm.farm.job(JobId(1)).await.expect("it runs").expect("there is one");
    assert_eq!(job.spec.plan.problem.text(), "completions a1,c2");
    for (form, reason) in [
        (form("total", "a1%2Cb2"), "there is no problem"),
        (form("toroidal", "a1"), "there is no problem"),
    ] {
        let answer = farm.post("/jobs", &submitter, &form).await;
        assert_eq!(answer.status, 422, "{form}");
        assert!(
            answer.body.contains(reason) && answer.body.contains("value=\"a1"),
            "{}",
            answer.body
        );
    }
}

#[tokio::test]
async fn a_head_of_http_1_has_a_bound() {
    let farm = guarded().await;
    for (kib, is_heard) in [(15, true), (17, false), (380, false)] {
        // One long field, or some that are shorter
        for fields in [1, 20] {
            let field = format!("A: {}\r\n", "a".repeat((kib << 10) / fields));
            let head =
                format!("GET /login HTTP/1.1\r\nHost: localhost\r\n{}", field.repeat(fields));
            let end = if is_heard { "Connection: close\r\n\r\n" } else { "" };
            let mut stream = TcpStream::connect(farm.address).await.expect("it listens");
            let asked = format!("{head}{end}");

            let mut answer = Vec::new();
            let answered = async {
                stream.write_all(asked.as_bytes()).await?;
                stream.read_to_end(&mut answer).await
            };
            let answered = tokio::time::timeout(Duration::from_secs(5), answered).await;

            // It may be cut off while it speaks, and it does not wait for the end of its head.
            let answered = answered.expect("it is not waited for").is_ok();
            let status = answer.get(9..12);
            let is_refused = !answered || status == Some(b"431");
            assert!(if is_heard { status == Some(b"200") } else { is_refused }, "{kib} KiB");
        }
    }
}

#[tokio::test]
async fn a_form_is_no_grpc() {
    let farm = serving(None, None).await;
    for path in ["/queens.v1.FarmService/Work", "/grpc.health.v1.Health/Check"] {
        for kind in ["text/plain", "application/grpc"] {
            let headers = format!("Content-Type: {kind}\r\n");
            let answer = farm.ask("POST", path, &headers, "\0\0\0\0\x02\x08\x01").await;
            assert_eq!(answer.status, 415, "{path} as {kind}");
        }
    }
}
