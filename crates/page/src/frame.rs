//! The frame of every page, and the pages that show nothing of the farm.

use farm::{JobView, Origin};
use maud::{DOCTYPE, Markup, html};

use crate::text::sentence;

/// The reader of a page, and their rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reader {
    /// The owner of the credential.
    pub owner: String,
    /// The name of its role.
    pub role: &'static str,
    /// Whether they logged in, so that they can log out.
    pub logged_in: bool,
    /// Whether they may submit jobs and change their own.
    pub submits: bool,
    /// Whether they may change all jobs.
    pub decides: bool,
    /// The options by which their commands reach the coordinator.
    pub coordinator: String,
}

impl Reader {
    pub(crate) fn may_change(&self, job: &JobView) -> bool {
        let Origin { owner, .. } = &job.spec.origin;
        self.decides || self.submits && *owner == self.owner
    }
}

/// The relative path from the page at `path` to the farm's first page. A proxy may serve the farm
/// under any path, so no link begins with a slash.
pub fn root(path: &str) -> String {
    "../".repeat(path.matches('/').count().saturating_sub(1))
}

/// The page on which a person logs in; `refusal` says why the last try failed. It leads to the page
/// for everybody, if there is one.
pub fn login(refusal: Option<&str>, has_public: bool) -> Markup {
    let body = html! {
        h1 { "Log in" }
        @if let Some(refusal) = refusal { p.refusal role="alert" { (refusal) "." } }
        form #login .login method="post" action="login" {
            label for="token" { "Join string or token" }
            input #token type="password" name="token" required autocomplete="current-password" autofocus;
            button.main { "Log in" }
        }
        p.hint {
            "Paste what " code { "queens token create" } " printed, or what is in the coordinator's file "
            code { "join" } " or " code { "token" } ". A viewer's credential suffices to look; a submitter's or an \
             admin's can change jobs."
        }
        @if has_public { p { a href="public" { "What this farm counts" } } }
        script src="login.js" defer {}
    };
    document("Log in", "", None, &html! {}, &body)
}

/// The page of a refusal: its HTTP status, and one sentence without an end. `root` is the relative
/// path to the farm's first page.
pub fn fault(status: u16, text: &str, root: &str) -> Markup {
    let body = html! {
        h1 { "That did not work" }
        p.refusal role="alert" { (sentence(text)) "." }
        p { a href=(home(root)) { "Back to the farm" } " · HTTP status " (status) }
    };
    document("Refused", root, None, &html! {}, &body)
}

/// A page of the farm for `reader`. `live` is the address from which a browser gets changed parts.
pub(crate) fn page(
    title: &str,
    root: &str,
    live: Option<&str>,
    reader: &Reader,
    body: &Markup,
) -> Markup {
    let link = |page: &str, to: &str| {
        html! { a href=(to) aria-current=[(title == page).then_some("page")] { (page) } }
    };
    let header = html! {
        nav aria-label="Pages" {
            (link("Farm", &home(root)))
            (link("Workers", &format!("{root}workers")))
            (link("Owners", &format!("{root}owners")))
        }
        div.who {
            span #live .live role="status" { noscript { "loads anew every 5 s, times are UTC" } }
            span { (reader.owner) span.role { " (" (reader.role) ")" } }
            @if reader.logged_in {
                form method="post" action=(format!("{root}logout")) { button { "Log out" } }
            }
        }
    };
    document(title, root, live, &header, body)
}

/// A link to the farm's first page. It is never empty, because an empty link leads to the page that
/// it stands on.
fn home(root: &str) -> String {
    if root.is_empty() { "./".into() } else { root.into() }
}

/// A whole document.
pub(crate) fn document(
    title: &str,
    root: &str,
    live: Option<&str>,
    header: &Markup,
    body: &Markup,
) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · queens" }
                link rel="icon" href=(format!("{root}icon.svg"));
                link rel="stylesheet" href=(format!("{root}style.css"));
                @if live.is_some() {
                    noscript { meta http-equiv="refresh" content="5"; }
                }
                script src=(format!("{root}live.js")) defer {}
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                header.top {
                    a.brand href=(home(root)) {
                        img src=(format!("{root}icon.svg")) alt="" width="24" height="24"; "queens"
                    }
                    (header)
                }
                main #main data-live=[live.map(|live| format!("{root}{live}"))] { (body) }
            }
        }
    }
}
