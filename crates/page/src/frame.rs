//! What surrounds every page, and the pages that show nothing of the farm.

use maud::{DOCTYPE, Markup, html};

/// Who reads a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reader {
    /// The owner of the credential.
    pub owner: String,
    /// The name of its role.
    pub role: &'static str,
    /// Whether they logged in, so that they can log out.
    pub logged_in: bool,
}

/// The page on which a person logs in; `refusal` says why the last try failed.
pub fn login(refusal: Option<&str>) -> Markup {
    let body = html! {
        h1 { "Log in" }
        @if let Some(refusal) = refusal { p.refusal role="alert" { (refusal) "." } }
        form.login method="post" action="/login" {
            label for="token" { "Token" }
            input #token type="password" name="token" required autocomplete="current-password" autofocus;
            button { "Log in" }
        }
        p.hint {
            "It is the secret that " code { "queens token create" } " printed, or the coordinator's own token. \
             That of a viewer suffices to look; that of a submitter or an admin can change jobs."
        }
    };
    document("Log in", &html! {}, &body)
}

/// A refusal: its HTTP status and one sentence.
pub fn fault(status: u16, text: &str) -> Markup {
    let body = html! {
        h1 { "This cannot be shown" }
        p role="alert" { (text) "." }
        p { a href="/" { "Back to the jobs" } " · HTTP status " (status) }
    };
    document("Refused", &html! {}, &body)
}

/// The front page.
pub fn front(reader: &Reader) -> Markup {
    page("Jobs", reader, &html! {})
}

/// A page of the farm for `reader`.
pub(crate) fn page(title: &str, reader: &Reader, body: &Markup) -> Markup {
    let header = html! {
        p.who {
            span { (reader.owner) " (" (reader.role) ")" }
            @if reader.logged_in {
                form method="post" action="/logout" { button { "Log out" } }
            }
        }
    };
    document(title, &header, body)
}

fn document(title: &str, header: &Markup, body: &Markup) -> Markup {
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
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                header { (header) }
                main #main { (body) }
            }
        }
    }
}
