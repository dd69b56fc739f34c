//! What a browser hears that follows a page.

use super::*;

/// A browser that looks on.
pub(super) struct Looking(TcpStream);

impl Looking {
    pub(super) async fn on(farm: &Served, path: &str, headers: &str) -> Looking {
        let mut stream = TcpStream::connect(farm.address).await.expect("it listens");
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.expect("it is connected");
        Looking(stream)
    }

    /// What it hears until it has heard `words`; `None` if the stream ends before.
    pub(super) async fn hear(&mut self, words: &str) -> Option<String> {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
        let mut heard = Vec::new();
        loop {
            let mut part = [0; 4_096];
            let read = tokio::time::timeout_at(deadline, self.0.read(&mut part)).await;
            let length = read.expect("it says so, or ends").expect("the connection is whole");
            heard.extend_from_slice(&part[..length]);
            let text = String::from_utf8_lossy(&heard);
            if text.contains(words) {
                return Some(text.into());
            }
            // The end of the connection, or of the body.
            if length == 0 || text.ends_with("0\r\n\r\n") {
                return None;
            }
        }
    }
}

#[tokio::test]
async fn who_looks_on_hears_what_changes_until_the_login_or_the_credential_ends() {
    let farm = guarded().await;
    let job = submitted(&farm, "").await;
    let [login, other] = [farm.log_in(Role::Viewer).await, farm.log_in(Role::Submitter).await];
    let mut looking =
        Looking::on(&farm, &format!("{job}/live"), &bearing(&secret(Role::Viewer))).await;
    let first = looking.hear("[\"log\"").await.expect("all parts come first");
    assert!(first.contains("text/event-stream") && first.contains("[\"map\""), "{first}");

    farm.post(&format!("{job}/pause"), &bearing(&secret(Role::Admin)), "").await;
    let next = looking.hear("paused").await.expect("it changed");
    assert!(!next.contains("[\"map\""), "the map has not changed: {next}");

    farm.credentials.revoke(&farm.farm, 3).await.expect("it runs").expect("there is one");
    assert_eq!(looking.hear("nothing that is ever said").await, None);
    assert_eq!(farm.get("/", &login).await.status, 401, "it ends with its credential");

    assert_eq!(farm.get("/", &other).await.status, 200);
    let mut looking = Looking::on(&farm, "/live", &other).await;
    looking.hear("</div>").await.expect("all parts come first");
    farm.post("/logout", &other, "").await;
    assert_eq!(looking.hear("nothing that is ever said").await, None);
}

#[tokio::test]
async fn who_follows_a_thousand_jobs_is_sent_what_changes_at_once_and_nothing_else() {
    let farm = guarded().await;
    submit(&farm.farm, 1_000).await;
    let headers = format!("{}Accept-Encoding: gzip\r\n", bearing(&secret(Role::Viewer)));
    let mut looking = Looking::on(&farm, "/live", &headers).await;
    let first = looking.hear("[\"ended\"").await.expect("all parts come first");
    assert!(!first.contains("content-encoding"), "an event must not wait in a buffer: {first}");
    assert!(first.len() > 10_000, "{first}");

    farm.post("/jobs/77/pause", &bearing(OWN), "").await;
    let next = looking.hear("state paused").await.expect("it changed");
    assert!(next.len() < 1_000, "{}: {next}", next.len());
}
