//! Tests of joining ledgers in any order.

use farm::{EvidenceRecord, Ground, Party};
use proptest::prelude::*;

use super::*;
use crate::{LedgerError, join_ledgers};

/// An event of a ledger. A liar has counted the first range.
#[derive(Clone, Copy, Debug)]
enum Happening {
    /// A worker counts a range, if it is free; the liar counts the first one wrongly.
    Counts(u64, char),
    /// Two workers prove the liar wrong, if its count is still there.
    Settles,
    /// An operator distrusts a principal.
    Distrusts(char),
    Trusts(char),
}

const LIAR: char = 'l';

fn happening() -> impl Strategy<Value = Happening> {
    let somebody = || prop::sample::select(vec!['a', 'b', LIAR]);
    prop_oneof![
        3 => (1..6_u64, prop::sample::select(vec!['a', 'b'])).prop_map(|(range, who)| Happening::Counts(range, who)),
        1 => prop::sample::select(vec!['a', 'b']).prop_map(|who| Happening::Counts(0, who)),
        2 => Just(Happening::Settles),
        2 => somebody().prop_map(Happening::Distrusts),
        2 => somebody().prop_map(Happening::Trusts),
    ]
}

fn party(who: char) -> Party {
    Party { owner: who.into(), machine: None }
}

fn provenance(who: char) -> Provenance {
    let of = super::provenance("worker");
    Provenance { principal: Principal { owner: who.into(), ..of.principal }, ..of }
}

/// Writes the ledger of a farm with these events. Returns whether this farm knows that the liar is
/// one.
fn write_farm(path: &Path, happenings: &[Happening]) -> bool {
    let ledger = open(path).expect("it opens");
    let range = |number: u64| interval(number * 10, number * 10 + 10);
    let accepts = |number, who| match (number, who) {
        (0, LIAR) => accept(lie(range(0)), who),
        _ => accept(report(range(number)), who),
    };
    ledger.apply(&[new_job(), accepts(0, LIAR)]).expect("it is new");
    let (mut is_there, mut is_known) = (true, false);
    let wrong = vec![party(LIAR)];
    for &happening in happenings {
        let reason = String::new();
        let commands = match happening {
            Happening::Counts(number, who) => vec![accepts(number, who)],
            Happening::Settles if !is_there => continue,
            Happening::Settles => vec![
                LedgerCommand::Dispute(report(range(0)), provenance('a')),
                LedgerCommand::Settle {
                    report: report(range(0)),
                    provenance: provenance('b'),
                    wrong: wrong.clone(),
                    ground: Ground::OwnMachines,
                },
            ],
            Happening::Distrusts(who) => {
                vec![LedgerCommand::Trust { party: party(who), trusted: false, reason }]
            }
            Happening::Trusts(who) => {
                vec![LedgerCommand::Trust { party: party(who), trusted: true, reason }]
            }
        };
        // A range that is not free is refused.
        if ledger.apply(&commands).is_err() {
            continue;
        }
        match happening {
            Happening::Settles | Happening::Distrusts(LIAR) => (is_there, is_known) = (false, true),
            Happening::Counts(0, LIAR) => is_there = true,
            _ => {}
        }
    }
    ledger.close().expect("it can be closed");
    is_known
}

fn accept(report: Report, who: char) -> LedgerCommand {
    LedgerCommand::Accept { report, provenance: provenance(who), audit: false }
}

fn lie(range: Range) -> Report {
    Report { checked_count: checked_count(range, 1_000), ..report(range) }
}

/// The count of each row that a ledger has of its job.
fn rows(path: &Path) -> Vec<u64> {
    let mut rows = Vec::new();
    let note = |record| {
        if let EvidenceRecord::Range { counted, .. } = record {
            rows.push(counted.row.checked_count.count);
        }
        Ok::<(), LedgerFault>(())
    };
    Evidence::open(path).and_then(|evidence| evidence.for_each(JOB, note)).expect("it is sound");
    rows
}

/// The principals that a ledger distrusts.
fn distrusted(path: &Path) -> Distrusted {
    Evidence::open(path).expect("it is sound").distrusted().clone()
}

const TASKS: u64 = 100;

/// The ranges that a process had counted when it was stopped: about this share of those into which
/// it had cut the plan.
fn counted(share: f64) -> impl Strategy<Value = Vec<Range>> {
    let cuts = prop::collection::btree_set(1..TASKS, 0..12);
    let has = prop::collection::vec(prop::bool::weighted(share), 12);
    (cuts, has).prop_map(|(cuts, has)| {
        let starts = std::iter::once(0).chain(cuts.iter().copied());
        let ends = cuts.iter().copied().chain([TASKS]);
        let ranges = starts.zip(ends).zip(has).filter(|(_, has)| *has);
        ranges.map(|((start, end), _)| interval(start, end)).collect()
    })
}

/// The report of a range in which every task counts its ordinal. All are of one lease, so that
/// neighbours become one row.
fn report(range: Range) -> Report {
    let with = |sum: CheckedCount, ordinal| sum.with(fingerprint(), ordinal, ordinal % 7);
    let checked_count = (range.start()..range.end()).try_fold(CheckedCount::EMPTY, with);
    let checked_count = checked_count.expect("the counts are small");
    Report { lease: LeaseId(1), checked_count, ..super::report(range, 0) }
}

/// Writes a ledger with these commands.
fn write(path: &Path, commands: &[LedgerCommand]) {
    let ledger = open(path).expect("it opens");
    ledger.apply(commands).expect("it is written");
    ledger.close().expect("it can be closed");
}

/// In the third case both copies know that the liar was distrusted once. Only one knows of its
/// second lie.
#[test]
fn an_invalidated_count_stays_invalid_after_a_reinstatement() {
    use Happening::{Counts, Distrusts, Settles, Trusts};
    let reinstated = [Distrusts(LIAR), Trusts(LIAR)];
    let again = [&reinstated[..], &[Counts(0, LIAR)]].concat();
    let truth = report(interval(0, 10)).checked_count.count;
    for (later, older, counts) in [
        (reinstated.to_vec(), vec![], vec![]),
        ([&reinstated[..], &[Counts(0, 'a')]].concat(), vec![], vec![truth]),
        ([&again[..], &[Settles]].concat(), again, vec![truth]),
    ] {
        let folder = TempDir::new().expect("a temporary directory");
        let [first, second, into, other] =
            ["later.db", "older.db", "into.db", "other.db"].map(|name| folder.path().join(name));
        write_farm(&first, &later);
        write_farm(&second, &older);
        for (parts, into) in [([&first, &second], into), ([&second, &first], other)] {
            join_ledgers(&parts.map(Clone::clone), &into).expect("nothing conflicts");
            assert_eq!(rows(&into), counts, "{later:?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_ledger_that_is_named_twice_is_one_part() {
    let folder = TempDir::new().expect("a temporary directory");
    let [part, link] = ["part.db", "link.db"].map(|name| folder.path().join(name));
    write_farm(&part, &[]);
    std::os::unix::fs::symlink(&part, &link).expect("it can be made");
    let parts = [part.clone(), folder.path().join(".").join("part.db"), link, part];
    let joined = join_ledgers(&parts, &folder.path().join("into.db")).expect("it is one ledger");
    assert_eq!((joined.parts.len(), joined.tasks_done), (1, 10));
}

/// A row grows with each report of its lease. A copy of a ledger has the row as it was at that
/// time.
#[test]
fn an_invalidated_row_stays_so_beside_other_copies_of_it() {
    let short = [new_job(), accept(lie(interval(0, 5)), LIAR)];
    let long = [accept(report(interval(5, 10)), LIAR)];
    let trust = |trusted| {
        let (party, reason) = (party(LIAR), String::new());
        LedgerCommand::Trust { party, trusted, reason }
    };
    let taken_back = [trust(false), trust(true)];
    let folder = TempDir::new().expect("a temporary directory");
    let write = |name: &str, commands: &[&[LedgerCommand]]| {
        let path = folder.path().join(name);
        self::write(&path, &commands.concat());
        path
    };
    for (name, taken, other) in [
        ("shorter", write("1.db", &[&short, &long, &taken_back]), write("2.db", &[&short])),
        ("longer", write("3.db", &[&short, &taken_back]), write("4.db", &[&short, &long])),
    ] {
        assert_eq!((rows(&taken).len(), rows(&other).len()), (0, 1), "{name}");
        let parts = [taken, other];
        let joined = join_ledgers(&parts, &folder.path().join(name)).expect("nothing conflicts");
        assert_eq!((joined.tasks_done, joined.missing.len()), (0, TASKS), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn in_every_order_the_fullest_part_is_all_there(
        parts in prop::collection::vec(counted(0.6), 1..4),
        complete in counted(1.0),
        place in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let folder = TempDir::new().expect("a temporary directory");
        let mut parts = parts;
        if let Some(place) = place {
            parts.insert(place.index(parts.len() + 1), complete);
        }
        let paths: Vec<PathBuf> =
            (0..parts.len()).map(|part| folder.path().join(format!("{part}.db"))).collect();
        for (part, path) in parts.iter().zip(&paths) {
            let accepted = part.iter().map(|&range| accept(report(range), 'a'));
            let commands = std::iter::once(new_job()).chain(accepted);
            write(path, &commands.collect::<Vec<_>>());
        }

        let joined = join_ledgers(&paths, &folder.path().join("joined.db"));

        let tasks = |part: &Vec<Range>| part.iter().map(|range| range.len()).sum();
        let most: u64 = parts.iter().map(tasks).max().expect("there is one");
        let left = joined.expect("they agree").missing.len();
        prop_assert!(TASKS - left >= most, "the fullest part is all there");
    }

    /// Copies of a farm's ledger that were used separately, as after a wrong restore.
    #[test]
    fn no_copy_undoes_a_settlement_or_decision_of_another(
        before in prop::collection::vec(happening(), 0..6),
        after in prop::collection::vec(prop::collection::vec(happening(), 0..6), 2..4),
        order in Just(vec![0, 1, 2]).prop_shuffle(),
    ) {
        let folder = TempDir::new().expect("a temporary directory");
        let path = |name: &str| folder.path().join(name);
        let paths: Vec<PathBuf> = (0..after.len()).map(|part| path(&format!("{part}.db"))).collect();
        let mut is_known = false;
        for (after, path) in after.iter().zip(&paths) {
            is_known |= write_farm(path, &[before.as_slice(), after].concat());
        }
        let in_order = order.into_iter().filter_map(|part| paths.get(part));
        let shuffled: Vec<PathBuf> = in_order.cloned().collect();
        // The parts are joined in one step, in another order, and one after the other.
        let (straight, other, steps) = (path("straight.db"), path("other.db"), path("steps.db"));
        let joined = join_ledgers(&paths, &straight);
        // Rows that lost their second count first need another one.
        let is_unsettled =
            matches!(joined, Err(LedgerError { fault: LedgerFault::Unsettled(_), .. }));
        prop_assume!(!is_unsettled);
        let joined = joined.expect("nothing conflicts");
        join_ledgers(&shuffled, &other).expect("nothing conflicts");
        fs::copy(&shuffled[0], &steps).expect("it is closed");
        for path in &shuffled[1..] {
            join_ledgers(std::slice::from_ref(path), &steps).expect("nothing conflicts");
        }

        let trusted_by_none = distrusted(&straight);
        prop_assert_eq!(&distrusted(&other), &trusted_by_none);
        prop_assert_eq!(&distrusted(&steps), &trusted_by_none);
        for who in ['a', 'b', LIAR].map(party) {
            let everywhere = paths.iter().all(|path| distrusted(path).0.contains(&who));
            prop_assert!(!everywhere || trusted_by_none.0.contains(&who), "{:?}", who);
        }
        let right: u64 = (0..TASKS)
            .filter(|&task| !joined.missing.intersects(interval(task, task + 1)))
            .map(|task| task % 7)
            .sum();
        let lies = if is_known { 0 } else { 1_000 - (0..10).map(|task| task % 7).sum::<u64>() };
        for path in [&straight, &other, &steps] {
            let evidence = Evidence::open(path).expect("it is sound");
            let job = &evidence.jobs()[0];
            if path == &straight {
                prop_assert_eq!(job.counted, u128::from(right + lies));
            }
            prop_assert!(!is_known || job.counted < 1_000, "the lie is back");
        }
    }
}
