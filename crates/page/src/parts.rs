//! A page, and the parts of it that are sent to a browser one by one when they change.
//!
//! All readers share a page, except for the parts that depend on what a reader may do.

use maud::{Markup, PreEscaped, Render, html};
use serde_json::Value;

use crate::changes::changes;
use crate::frame::{self, Reader};

/// A page of the farm.
#[derive(Clone, Debug)]
pub struct Page {
    pub(crate) title: String,
    /// The relative path from this page to the farm's first page: empty, or `../` once or more.
    pub(crate) root: &'static str,
    /// The address from which a browser gets changed parts, relative to the farm's first page.
    pub(crate) live: String,
    /// The parts, in the order in which they are shown.
    pub(crate) parts: Vec<Part>,
}

/// A part of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its id within the page.
    pub id: &'static str,
    /// The element of that id, as HTML.
    pub html: String,
}

impl Part {
    /// The element that holds `content`.
    pub(crate) fn new(id: &'static str, content: &Markup) -> Part {
        Part { id, html: html! { div id=(id) { (content) } }.into_string() }
    }
}

impl Page {
    /// The whole document for `reader`, with `own` instead of the parts of the same ids.
    pub fn document(&self, reader: &Reader, own: &[Part]) -> Markup {
        let body = html! { @for part in self.parts_with(own) { (PreEscaped(&part.html)) } };
        frame::page(&self.title, self.root, Some(&self.live), reader, &body)
    }

    /// What has changed in its parts since `former`, which is another state of this page with the
    /// own parts of that time. For each part that differs, it is the JSON of a list: the part's id,
    /// and the steps that make its text of the former one.
    pub fn changes(&self, own: &[Part], former: Option<(&Page, &[Part])>) -> Vec<String> {
        let formers: Vec<&Part> =
            former.into_iter().flat_map(|(page, own)| page.parts_with(own)).collect();
        let of_part = |part: &Part| {
            let former = formers.iter().find(|former| former.id == part.id);
            let former = former.map_or("", |former| former.html.as_str());
            let steps = (former != part.html).then(|| changes(former, &part.html))?;
            let list: Vec<Value> = [part.id.into()].into_iter().chain(steps).collect();
            Some(Value::from(list).to_string())
        };
        self.parts_with(own).filter_map(of_part).collect()
    }

    /// Its parts, with `own` instead of those of the same ids.
    pub fn parts_with<'a>(&'a self, own: &'a [Part]) -> impl Iterator<Item = &'a Part> {
        let choose = |part: &'a Part| own.iter().find(|other| other.id == part.id).unwrap_or(part);
        self.parts.iter().map(choose)
    }
}

/// The most rows of a list on a page.
pub(crate) const ON_A_PAGE: usize = 100;

/// Links to the pages before and after the page with this number of a list of `things`. The first
/// page is 0. `address` gives the address of a page.
pub(crate) fn pager(
    things: &str,
    page: usize,
    last: usize,
    address: impl Fn(usize) -> String,
) -> Markup {
    html! {
        @if last > 0 {
            nav.pager aria-label=(format!("Pages of {things}")) {
                @if page > 0 { a href=(address(page - 1)) rel="prev" { "Previous" } }
                span { "Page " (page + 1) " of " (last + 1) }
                @if page < last { a href=(address(page + 1)) rel="next" { "Next" } }
            }
        }
    }
}

/// A name and a value, for a list of them.
pub(crate) fn fact(name: &str, value: impl Render) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

/// A number that stands out: its name, the number, and a remark, which may be empty.
pub(crate) type Stat = (&'static str, String, Markup);

/// Numbers that stand out.
pub(crate) fn stats<const N: usize>(numbers: [Stat; N]) -> Markup {
    html! {
        dl.stats {
            @for (name, number, more) in numbers {
                div { dt { (name) } dd { div.big { (number) } @if !more.0.is_empty() { div.small { (more) } } } }
            }
        }
    }
}

/// The share of `part` in `all`, as a bar and in percent.
pub(crate) fn share(part: f64, all: f64) -> Markup {
    let percent = if all > 0.0 { 100.0 * part / all } else { 0.0 };
    html! { div.sharecell { (bar(part, all)) span { (format!("{percent:.1}%")) } } }
}

pub(crate) fn bar(part: f64, whole: f64) -> Markup {
    let percent = if whole > 0.0 { (100.0 * part / whole).clamp(0.0, 100.0) } else { 0.0 };
    html! {
        svg.bar aria-hidden="true" { rect width=(format!("{percent:.2}%")) height="100%" {} }
    }
}
