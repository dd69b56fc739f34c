//! Makes one certificate of certificates of all parts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use farm::{Known, Range, Slice};

use super::read::{Reader, Sums};
use super::{Certificate, CertificateError, Scope, form};
use crate::new_file::NewFile;

/// Writes the certificate of a whole board to the new file `into`, from those of all its parts. The file is compressed if
/// its name ends in `.zst`.
///
/// # Errors
///
/// [`CertificateError`]; then there is no such file.
pub fn join(parts: &[PathBuf], into: &Path) -> Result<Certificate, CertificateError> {
    let at_file = |error| CertificateError::Unwritten { path: into.to_path_buf(), error };
    let (scope, mut readers) = all_parts(parts)?;
    let mut file = NewFile::begin(into).map_err(at_file)?;
    let mut sums = Sums::new(&scope);
    let mut line = |line: &[u8]| file.write_all(line).and_then(|()| file.write_all(b"\n"));
    line(&form::first_line(&scope)).map_err(at_file)?;
    for (range, index) in ranges(&scope, &readers) {
        let (path, reader) = readers.get_mut(&index).expect("all parts are there");
        for expected in range.start()..range.end() {
            let Some((ordinal, subtotals)) = reader.next()? else {
                let (done, tasks) = (reader.sums.tasks, reader.scope.tasks());
                return Err(CertificateError::Unfinished { path: path.clone(), done, tasks });
            };
            assert_eq!(ordinal, expected, "parts have the tasks of their slices");
            let spelled = form::spell(&subtotals);
            sums.add(&spelled, &subtotals);
            line(&spelled).map_err(at_file)?;
        }
    }
    for (_, reader) in readers.values_mut() {
        // Behind its tasks stands its last line, which says that they are right.
        reader.next()?;
        reader.certificate()?;
    }
    if let Some(reason) = Known::of(&scope.plan, scope.slice).contradiction(sums.total) {
        return Err(CertificateError::Held(reason));
    }
    let certificate = Certificate { total: sums.total, name: sums.name(), scope };
    line(&form::last_line(certificate.total, certificate.name)).map_err(at_file)?;
    file.finish().map_err(at_file)?;
    Ok(certificate)
}

/// Readers of the parts, by their numbers.
type Parts = BTreeMap<u32, (PathBuf, Reader)>;

/// The whole board, and a reader of each of its parts.
fn all_parts(paths: &[PathBuf]) -> Result<(Scope, Parts), CertificateError> {
    let mut readers = Parts::new();
    for path in paths {
        let reader = Reader::open(path)?;
        if let Some((_, (_, first))) = readers.first_key_value() {
            let alike = |scope: &Scope| (scope.plan, scope.slice.of());
            if alike(&first.scope) != alike(&reader.scope) {
                let (holds, first) = (reader.scope.name(), first.scope.name());
                let wanted = format!("another of the parts that {first} is one of");
                return Err(CertificateError::Another { path: path.clone(), holds, wanted });
            }
        }
        let slice = reader.scope.slice;
        if let Some((other, _)) = readers.insert(slice.index(), (path.clone(), reader)) {
            return Err(CertificateError::Twice { paths: [other, path.clone()], slice });
        }
    }
    let (_, (_, first)) = readers.first_key_value().expect("at least one part is given");
    let of = first.scope.slice.of();
    let whole = Scope { slice: Slice::ALL, ..first.scope.clone() };
    if let Some(first) = (1..=of).find(|index| !readers.contains_key(index)) {
        let first = Slice::new(first, of).expect("it is one of them");
        return Err(CertificateError::Missing { first, others: of as usize - readers.len() - 1 });
    }
    Ok((whole, readers))
}

/// All ranges of ordinals in ascending order, each with the number of the part that has it.
fn ranges(scope: &Scope, readers: &Parts) -> Vec<(Range, u32)> {
    let of_part = |(&index, (_, reader)): (&u32, &(PathBuf, Reader))| {
        let ranges: Vec<_> = reader.scope.slice.ordinals(scope.plan.tasks).iter().collect();
        ranges.into_iter().map(move |range| (range, index))
    };
    let mut all: Vec<(Range, u32)> = readers.iter().flat_map(of_part).collect();
    all.sort_by_key(|(range, _)| range.start());
    all
}
