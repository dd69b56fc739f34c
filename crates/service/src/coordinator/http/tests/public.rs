//! What the page for everybody shows, and what it does not open.

use super::*;

/// All addresses but those of `anybody`, with the methods that they answer.
const GUARDED: [(&str, &str); 18] = [
    ("GET", "/"),
    ("GET", "/live"),
    ("GET", "/jobs"),
    ("POST", "/jobs"),
    ("GET", "/jobs/1"),
    ("GET", "/jobs/1/live"),
    ("GET", "/jobs/1/bundle"),
    ("POST", "/jobs/1/cancel"),
    ("GET", "/workers"),
    ("GET", "/owners"),
    ("GET", "/owner?owner=submitter"),
    ("GET", "/worker?owner=o&machine=m&worker=w"),
    ("GET", "/metrics"),
    ("GET", "/api/v1/jobs"),
    ("GET", "/api/v1/jobs/1/events"),
    ("GET", "/api/v1/jobs/1/bundle"),
    ("GET", "/api/v1/tokens"),
    ("GET", "/api/v1/ledger"),
];

#[tokio::test]
async fn everybody_reads_the_public_page_which_names_nobody_and_leads_nowhere_else() {
    let farm = serving_public(ledger(), guard(), None, Some(Arc::default())).await;
    submitted(&farm, "hush-hush").await;
    let hello = Hello { machine: "secret-machine".into(), ..hello("secret-worker") };
    let _orders = farm.farm.join("secret-owner".into(), false, hello).await.expect("it runs");
    let known = ROLES.map(|role| bearing(&secret(role)));
    let strangers = [String::new(), bearing("wrong"), "Cookie: queens=0123\r\n".into()];
    for who in strangers.iter().chain(&known) {
        let page = farm.get("/public", who).await;
        assert_eq!(page.status, 200, "{who}");
        assert!(page.body.contains("total N=8") && page.body.contains("0.00%"), "{}", page.body);
        for private in ["submitter", "hush", "secret", "jobs/", "rows"] {
            assert!(!page.body.contains(private), "{private}: {}", page.body);
        }
        let mut links = page.links();
        links.sort();
        links.dedup();
        let public = ["/", "/icon.svg", "/live.js", "/login", "/style.css"];
        assert_eq!(links, public);
    }
    for who in &strangers {
        for (method, path) in GUARDED {
            let answer = farm.ask(method, path, who, "").await;
            assert_eq!(answer.status, 401, "{method} {path} by {who:?}: {}", answer.body);
        }
        for path in ["/public/live", "/public/", "/public/jobs/1", "/public?page=1&owner=submitter"]
        {
            let answer = farm.get(path, who).await;
            assert!(answer.status == 404 || !answer.body.contains("submitter"), "{path}");
        }
        assert_eq!(farm.post("/public", who, "n=8").await.status, 405);
    }
    assert!(farm.get("/login", "").await.links().contains(&"/public".into()));

    let private = guarded().await;
    for who in strangers.iter().chain(&known) {
        assert_eq!(private.get("/public", who).await.status, 404, "{who}");
    }
    assert!(!private.get("/login", "").await.body.contains("public"));
}

#[tokio::test]
async fn the_public_page_of_an_open_farm_opens_nothing_else_to_a_foreign_name() {
    let farm = serving_public(ledger(), None, None, Some(Arc::default())).await;
    let foreign = "Host: rebound.example\r\n";
    assert_eq!(farm.get("/public", foreign).await.status, 200);
    for (method, path) in GUARDED {
        assert_eq!(farm.ask(method, path, foreign, "").await.status, 403, "{method} {path}");
    }
}
