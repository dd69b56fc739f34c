//! The map of a plan: a square of 64 by 64 cells, row by row.
//!
//! Neighbouring cells that look alike become one rectangle, so that the size of the HTML grows with
//! the number of borders and not with the number of cells. If there are too many rectangles to say
//! of each which tasks it stands for, those of one row and kind become one path without words.

use std::fmt::Write;

use farm::{Cell, PlanMap, Range};
use maud::{Markup, html};

use crate::snapshot::{CellRecord, JobRecord};
use crate::text::grouped;

const SIDE: usize = 64;
/// The most rectangles that say which tasks they stand for. One takes some 150 bytes.
const MOST_TITLES: usize = 600;

farm::named! {
    /// The kind of a cell, with its class in the style sheet.
    pub enum Kind {
        Free = "free",
        Leased = "leased",
        Partly = "partly",
        Accepted = "accepted",
        Audited = "audited",
        Disputed = "disputed",
        Failed = "failed",
        Foreign = "foreign",
    }
}

impl Kind {
    /// The kind of a cell. A cell may be of several kinds; this is the one that people most need to
    /// see.
    fn of(cell: &Cell, record: Option<&CellRecord>) -> Kind {
        let audited = record.map_or(0, |record| record.audited);
        match cell {
            Cell { disputed: 1.., .. } => Kind::Disputed,
            Cell { failed: 1.., .. } => Kind::Failed,
            Cell { wanted: 0, .. } => Kind::Foreign,
            Cell { leased: 1.., .. } => Kind::Leased,
            Cell { accepted: 0, .. } => Kind::Free,
            Cell { accepted, wanted, .. } if accepted < wanted => Kind::Partly,
            Cell { wanted, .. } if audited >= *wanted => Kind::Audited,
            _ => Kind::Accepted,
        }
    }

    /// What the legend says of a kind with this number of tasks.
    fn legend(self, tasks: u64) -> String {
        match self {
            Kind::Partly => "a cell that is accepted in part".into(),
            Kind::Foreign => "not of this shard".into(),
            _ => format!("{}\u{a0}{}", grouped(tasks), self.name()),
        }
    }

    /// What the kind says of a task.
    fn meaning(self) -> &'static str {
        match self {
            Kind::Disputed => "counted with different results",
            Kind::Failed => "not leased any more: workers were lost with it",
            Kind::Leased => "leased to workers",
            Kind::Audited => "accepted, and counted by two parties alike",
            Kind::Accepted => "accepted",
            Kind::Partly => "accepted in part",
            Kind::Free => "to be leased",
            Kind::Foreign => "not of this job's shard of the plan",
        }
    }
}

/// Cells of a row of the map that look alike.
struct Run<'a> {
    x: usize,
    y: usize,
    width: usize,
    kind: Kind,
    workers: &'a [String],
    range: Range,
}

/// The map, with a legend that has each colour of the map, and the number of tasks of each kind.
pub(crate) fn map(map: &PlanMap, record: Option<&JobRecord>) -> Markup {
    let rows = map.cells.len().div_ceil(SIDE);
    let runs = runs(map, record);
    let said = Kind::ALL.map(|kind| (kind, tasks_of(map, record, kind)));
    let is_said =
        |&(kind, tasks): &(Kind, u64)| tasks > 0 || runs.iter().any(|run| run.kind == kind);
    let said: Vec<_> = said.into_iter().filter(is_said).collect();
    let label: Vec<_> = said.iter().map(|&(kind, tasks)| kind.legend(tasks)).collect();
    let has_titles = runs.len() <= MOST_TITLES;
    html! {
        p.hint {
            @if has_titles { "A cell says which tasks they are, and who holds or has counted them." }
            @else { "There are too many pieces for each of them to say who holds or has counted it." }
        }
        svg.map viewBox=(format!("0 0 {SIDE} {}", rows.max(1))) role="img"
            aria-label=(format!("Map of the plan: {}", label.join(", "))) {
            @if has_titles { (rectangles(&runs)) } @else { (paths(&runs)) }
        }
        ul.legend {
            @for (kind, tasks) in said {
                li { span class=(format!("swatch {}", kind.name())) aria-hidden="true" {} (kind.legend(tasks)) }
            }
        }
    }
}

/// A rectangle for each run, with its title.
fn rectangles(runs: &[Run<'_>]) -> Markup {
    html! {
        @for run in runs {
            rect class=(run.kind.name()) x=(run.x) y=(run.y) width=(run.width) height="1" {
                title { (title(run)) }
            }
        }
    }
}

/// A path for all runs of one row and one kind.
fn paths(runs: &[Run<'_>]) -> Markup {
    let line = |text: &mut String, Run { x, y, width, .. }: &Run<'_>| {
        let _ = write!(text, "M{x} {y}h{width}v1h-{width}z");
    };
    html! {
        @for row in runs.chunk_by(|a, b| a.y == b.y) {
            @for kind in Kind::ALL {
                @let mut text = String::new();
                @let () = row.iter().filter(|run| run.kind == kind).for_each(|run| line(&mut text, run));
                @if !text.is_empty() { path class=(kind.name()) d=(text) {} }
            }
        }
    }
}

/// The number of tasks of a kind. A disputed task is accepted, too, but is included only in the
/// disputed ones.
fn tasks_of(map: &PlanMap, record: Option<&JobRecord>, kind: Kind) -> u64 {
    let of = |(at, cell): (usize, &Cell)| {
        let audited = record.and_then(|record| record.cells.get(at)).map_or(0, |cell| cell.audited);
        let audited = audited.min(cell.accepted - cell.disputed.min(cell.accepted));
        match kind {
            Kind::Disputed => cell.disputed,
            Kind::Failed => cell.failed,
            Kind::Leased => cell.leased,
            Kind::Audited => audited,
            Kind::Accepted => cell.accepted.saturating_sub(cell.disputed + audited),
            Kind::Free => cell.wanted.saturating_sub(cell.accepted + cell.leased + cell.failed),
            Kind::Partly | Kind::Foreign => 0,
        }
    };
    map.cells.iter().enumerate().map(of).sum()
}

fn runs<'a>(map: &'a PlanMap, record: Option<&'a JobRecord>) -> Vec<Run<'a>> {
    let mut runs: Vec<Run<'_>> = Vec::new();
    for (at, cell) in map.cells.iter().enumerate() {
        let of_cell = record.and_then(|record| record.cells.get(at));
        let kind = Kind::of(cell, of_cell);
        let workers = match kind {
            Kind::Leased => &cell.holders,
            _ => of_cell.map_or(&cell.holders, |record| &record.workers),
        };
        let (x, y) = (at % SIDE, at / SIDE);
        match runs.last_mut() {
            Some(run) if run.y == y && run.kind == kind && run.workers == workers => {
                run.width += 1;
                run.range = run.range.hull(cell.range);
            }
            _ => runs.push(Run { x, y, width: 1, kind, workers, range: cell.range }),
        }
    }
    runs
}

fn title(run: &Run<'_>) -> String {
    let tasks = match run.range.len() {
        1 => format!("Task {}", grouped(run.range.start())),
        _ => format!("Tasks {} to {}", grouped(run.range.start()), grouped(run.range.end() - 1)),
    };
    let workers = run.workers.join(", ");
    let by = match run.kind {
        Kind::Free | Kind::Foreign => String::new(),
        _ if workers.is_empty() => String::new(),
        Kind::Leased => format!(": {workers}"),
        _ => format!(", counted by {workers}"),
    };
    format!("{tasks}: {}{by}", run.kind.meaning())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn cell(start: u64, change: impl FnOnce(&mut Cell)) -> Cell {
        let mut cell = Cell {
            range: Range::new(start, start + 10).expect("not empty"),
            wanted: 10,
            accepted: 0,
            leased: 0,
            disputed: 0,
            failed: 0,
            holders: Vec::new(),
        };
        change(&mut cell);
        cell
    }

    #[test]
    fn cells_of_which_the_same_can_be_said_are_one_rectangle() {
        let leased = |cell: &mut Cell| {
            cell.leased = 10;
            cell.holders = vec!["w1".into()];
        };
        let cells = vec![
            cell(0, |cell| cell.accepted = 10),
            cell(10, |cell| cell.accepted = 10),
            cell(20, |cell| cell.accepted = 4),
            cell(30, leased),
            cell(40, leased),
            cell(50, |cell| cell.failed = 1),
            cell(60, |cell| (cell.accepted, cell.disputed) = (10, 10)),
            cell(70, |_| {}),
        ];
        let by = |name: &str, audited| CellRecord { workers: vec![name.into()], audited };
        let mut record = JobRecord {
            cells: vec![by("w1", 0), by("w2", 10)],
            is_whole: true,
            ..JobRecord::default()
        };
        record.cells.resize(8, CellRecord::default());
        let html = map(&PlanMap { cells }, Some(&record)).into_string();

        let titles: Vec<&str> =
            html.split("<title>").skip(1).filter_map(|rest| rest.split('<').next()).collect();
        assert_eq!(
            titles,
            [
                "Tasks 0 to 9: accepted, counted by w1",
                "Tasks 10 to 19: accepted, and counted by two parties alike, counted by w2",
                "Tasks 20 to 29: accepted in part",
                "Tasks 30 to 49: leased to workers: w1",
                "Tasks 50 to 59: not leased any more: workers were lost with it",
                "Tasks 60 to 69: counted with different results",
                "Tasks 70 to 79: to be leased",
            ]
        );
        assert!(!html.contains("<path"), "{html}");
        let label = "Map of the plan: 25 free, 20 leased, a cell that is accepted in part, 14 accepted, \
                     10 audited, 10 disputed, 1 failed";
        assert!(html.replace('\u{a0}', " ").contains(label), "{html}");
        let classes = |element: &str| {
            let elements = html.split(element).skip(1).filter_map(|rest| rest.split('"').next());
            elements.collect::<BTreeSet<_>>()
        };
        assert_eq!(classes("<rect class=\""), classes("<span class=\"swatch "), "{html}");
    }

    #[test]
    fn a_map_in_thousands_of_pieces_is_drawn_without_words() {
        // Each cell has another kind than its neighbours, and is of other workers.
        let cells = (0..4_096).map(|at| {
            cell(10 * at, |cell| match at % 3 {
                0 => cell.leased = 10,
                1 => cell.accepted = 10,
                _ => cell.accepted = 4,
            })
        });
        let html = map(&PlanMap { cells: cells.collect() }, None).into_string();
        assert!(!html.contains("<rect") && !html.contains("<title"), "{html}");
        assert_eq!(html.matches("<path ").count(), 64 * 3);
        assert!(html.contains("<path class=\"accepted\" d=\"M0 1h1v1h-1zM3 1h1v1h-1z"), "{html}");
        assert!(html.len() < 80_000, "{}", html.len());
    }
}
