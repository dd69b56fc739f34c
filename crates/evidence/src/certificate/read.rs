//! Reads a certificate and checks that its numbers go together. It counts nothing and trusts nothing.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use blake3::Hash;
use count::Subtotals;
use farm::{Known, Merkle};

use super::{Certificate, CertificateError, Scope, form};
use crate::lines::{CutOff, Lines};

/// Reads a whole certificate.
///
/// # Errors
///
/// [`CertificateError::Wrong`], if it contradicts itself or what is known; [`CertificateError::Unfinished`], if its end is
/// missing.
pub fn read(path: &Path) -> Result<Certificate, CertificateError> {
    let mut reader = Reader::open(path)?;
    while reader.next()?.is_some() {}
    reader.certificate()
}

/// The lines of a certificate, one after the other.
pub(super) struct Reader {
    pub(super) scope: Scope,
    path: PathBuf,
    lines: Lines,
    ordinals: Box<dyn Iterator<Item = u64>>,
    known: Known,
    pub(super) sums: Sums,
    /// The name, after the last line was read.
    name: Option<Hash>,
}

/// What is known of a certificate as far as it was read or written.
pub(super) struct Sums {
    leaves: Merkle,
    pub(super) total: u128,
    /// The number of tasks.
    pub(super) tasks: u64,
}

impl Sums {
    pub(super) fn new(scope: &Scope) -> Sums {
        let mut leaves = Merkle::default();
        leaves.add(&form::first_line(scope));
        Sums { leaves, total: 0, tasks: 0 }
    }

    /// Adds a task.
    pub(super) fn add(&mut self, line: &[u8], subtotals: &Subtotals) {
        self.leaves.add(line);
        self.total += sum(subtotals);
        self.tasks += 1;
    }

    /// The name of the certificate, if this is all.
    pub(super) fn name(&self) -> Hash {
        self.leaves.root()
    }
}

/// The count of a task.
fn sum(subtotals: &Subtotals) -> u128 {
    subtotals.iter().map(|&subtotal| u128::from(subtotal)).sum()
}

impl Reader {
    pub(super) fn open(path: &Path) -> Result<Reader, CertificateError> {
        let unreadable = |error| CertificateError::Unreadable { path: path.to_path_buf(), error };
        let mut lines = Lines::open(path).map_err(unreadable)?;
        let scope = lines.next().and_then(|first| form::scope(first.context("it is empty")?));
        let scope = scope.map_err(|error| wrong(path, 1, &error))?;
        let known = Known::of(&scope.plan, scope.slice);
        let (ordinals, sums) = (Box::new(scope.ordinals()), Sums::new(&scope));
        Ok(Reader { scope, path: path.to_path_buf(), lines, ordinals, known, sums, name: None })
    }

    /// The next task: its ordinal and its subtotals. `None` at the end, whether the last line was there or not.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Subtotals)>, CertificateError> {
        let task = self.task();
        task.map_err(|error| wrong(&self.path, self.lines.number, &error))
    }

    fn task(&mut self) -> Result<Option<(u64, Subtotals)>> {
        let line = match self.lines.next() {
            Ok(Some(line)) => line,
            Ok(None) => return Ok(None),
            // Whoever writes the file was killed within the line, or is still about it.
            Err(error) if is_end(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        if form::is_last(line) {
            let (tasks, of) = (self.sums.tasks, self.scope.tasks());
            ensure!(tasks == of, "it ends after {tasks} of {of} tasks");
            let name = self.sums.name();
            form::check_last(line, self.sums.total, name)?;
            ensure!(self.lines.next()?.is_none(), "something stands behind the last line");
            let contradiction = self.known.contradiction(self.sums.total);
            ensure!(contradiction.is_none(), "{}", contradiction.unwrap_or_default());
            self.name = Some(name);
            return Ok(None);
        }
        let subtotals = form::subtotals(line)?;
        let ordinal = self.ordinals.next().context("it has more lines than tasks")?;
        let (count, most) = (sum(&subtotals), self.known.most_per_task);
        ensure!(count <= most, "a task counts {most} at most, not {count}");
        self.sums.add(line, &subtotals);
        Ok(Some((ordinal, subtotals)))
    }

    /// What was read, after the end.
    pub(super) fn certificate(&self) -> Result<Certificate, CertificateError> {
        let Some(name) = self.name else {
            let (done, tasks) = (self.sums.tasks, self.scope.tasks());
            return Err(CertificateError::Unfinished { path: self.path.clone(), done, tasks });
        };
        Ok(Certificate { scope: self.scope.clone(), total: self.sums.total, name })
    }
}

/// Whether the file ends within a line.
fn is_end(error: &anyhow::Error) -> bool {
    error.downcast_ref().is_some_and(|cut: &CutOff| cut.is_end)
}

/// What is wrong with a line, or why it cannot be read.
fn wrong(path: &Path, line: u64, error: &anyhow::Error) -> CertificateError {
    let path = path.to_path_buf();
    match error.downcast_ref::<io::Error>() {
        Some(system) if system.raw_os_error().is_some() => {
            let error = io::Error::new(system.kind(), format!("{error:#}"));
            CertificateError::Unreadable { path, error }
        }
        _ => CertificateError::Wrong { path, reason: format!("line {line}: {error:#}") },
    }
}
