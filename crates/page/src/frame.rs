//! What surrounds every page, and the pages that show nothing of the farm.

use farm::{JobView, Origin};
use maud::{DOCTYPE, Markup, html};

/// Who reads a page, and what they may do.
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
}

impl Reader {
    /// Whether they may change this job.
    pub(crate) fn may_change(&self, job: &JobView) -> bool {
        let Origin { owner, .. } = &job.spec.origin;
        self.decides || self.submits && *owner == self.owner
    }
}

/// The page on which a person logs in; `refusal` says why the last try failed.
pub fn login(refusal: Option<&str>) -> Markup {
    let body = html! {
        h1 { "Log in" }
        @if let Some(refusal) = refusal { p.refusal role="alert" { (refusal) "." } }
        form.login method="post" action="/login" {
            label for="token" { "Join string or token" }
            input #token type="password" name="token" required autocomplete="current-password" autofocus;
            button { "Log in" }
        }
        p.hint {
            "It is what " code { "queens token create" } " printed, a join string or a token, or what is in the \
             coordinator's own file of one of them. That of a viewer suffices to look; that of a submitter or an \
             admin can change jobs."
        }
    };
    document("Log in", None, &html! {}, &body)
}

/// A refusal: its HTTP status and one sentence.
pub fn fault(status: u16, text: &str) -> Markup {
    let body = html! {
        h1 { "That did not work" }
        p.refusal role="alert" { (text) "." }
        p { a href="/" { "Back to the jobs" } " · HTTP status " (status) }
    };
    document("Refused", None, &html! {}, &body)
}

/// A page of the farm for `reader`. `live` is the path from which a browser hears of changed parts.
pub(crate) fn page(title: &str, live: Option<&str>, reader: &Reader, body: &Markup) -> Markup {
    let header = html! {
        nav aria-label="Pages" {
            a href="/" aria-current=[(title == "Jobs").then_some("page")] { "Jobs" }
            a href="/workers" aria-current=[(title == "Workers").then_some("page")] { "Workers" }
        }
        div.who {
            span #live .live role="status" { noscript { "loads anew every 5 s" } }
            span { (reader.owner) " (" (reader.role) ")" }
            @if reader.logged_in {
                form method="post" action="/logout" { button { "Log out" } }
            }
        }
    };
    document(title, live, &header, body)
}

fn document(title: &str, live: Option<&str>, header: &Markup, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · queens" }
                link rel="icon" href="/icon.svg";
                link rel="stylesheet" href="/style.css";
                @if live.is_some() {
                    noscript { meta http-equiv="refresh" content="5"; }
                    script src="/live.js" defer {}
                }
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                header { a.brand href="/" { img src="/icon.svg" alt="" width="24" height="24"; "queens" } (header) }
                main #main data-live=[live] { (body) }
            }
        }
    }
}
