//! Counts the subtotals of all tasks and writes them down, in the order of the tasks.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use count::{SubtotalKernel, Subtotals};
use farm::Known;

use super::read::{Reader, Sums};
use super::threads::Counted;
use super::{Certificate, CertificateEffort, CertificateError, Course, Scope, form};

/// How many tasks a thread takes at once.
const BATCH: usize = 4;

/// How long a counted task may wait for being written.
const FLUSH: Duration = Duration::from_secs(1);

/// Writes the certificate of `scope` to the file `path`. If the file has the beginning of it, from a process that was
/// stopped or killed, it is finished; if it has all of it, it is only read.
///
/// # Errors
///
/// [`CertificateError`]. The file is as it was if it is something else, and keeps what was counted if counting fails or is
/// stopped.
pub fn write(
    path: &Path,
    scope: &Scope,
    effort: CertificateEffort,
    course: &Arc<Course>,
) -> Result<Certificate, CertificateError> {
    let at_file = |error| CertificateError::Unwritten { path: path.to_path_buf(), error };
    let fit = effort.fit(scope.plan)?;
    let (file, sums) = match Begun::open(path, scope)? {
        Begun::Whole(certificate) => return Ok(certificate),
        Begun::Part(file, sums) => (file, sums),
    };
    let (done, tasks) = (sums.tasks, scope.tasks());
    course.begin(done, tasks);
    let left = scope.ordinals().zip(0..).skip(done as usize);
    let left = Arc::new(Mutex::new(left));
    let counted = Counted::by(fit.threads.get(), course, {
        let scope = scope.clone();
        move |tell| {
            let mut kernel = SubtotalKernel::new(fit.bytes, effort.backend, scope.n())?;
            loop {
                let batch: Vec<(u64, u64)> = left
                    .lock()
                    .expect("no thread panics while holding it")
                    .by_ref()
                    .take(BATCH)
                    .collect();
                if batch.is_empty() {
                    return Ok(());
                }
                for (ordinal, place) in batch {
                    let (prefix, weight) = scope.task(ordinal);
                    if !tell((place, kernel.count(prefix, weight)?)) {
                        return Ok(());
                    }
                }
            }
        }
    });
    let mut out = Out { file: BufWriter::new(file), sums, flushed: Instant::now() };
    let ended = out.write_in_order(&counted, course, at_file);
    // What was counted is kept, however it ended.
    out.file.flush().map_err(at_file)?;
    ended?;
    let sums = &out.sums;
    if sums.tasks < tasks {
        return Err(CertificateError::Stopped { done: sums.tasks, tasks });
    }
    if let Some(reason) = Known::of(&scope.plan, scope.slice).contradiction(sums.total) {
        return Err(CertificateError::Held(reason));
    }
    let certificate = Certificate { scope: scope.clone(), total: sums.total, name: sums.name() };
    let last = form::last_line(certificate.total, certificate.name);
    out.file.write_all(&with_end(last)).and_then(|()| out.file.flush()).map_err(at_file)?;
    out.file.get_ref().sync_all().map_err(at_file)?;
    Ok(certificate)
}

/// The file, and what stands in it.
struct Out {
    file: BufWriter<File>,
    sums: Sums,
    flushed: Instant,
}

impl Out {
    /// Writes what comes from the threads. A task that comes too early waits for those before it.
    fn write_in_order(
        &mut self,
        counted: &Counted<(u64, Subtotals)>,
        course: &Course,
        at_file: impl Fn(io::Error) -> CertificateError + Copy,
    ) -> Result<(), CertificateError> {
        let mut early = BTreeMap::new();
        while let Some((place, subtotals)) = counted.next()? {
            early.insert(place, subtotals);
            while let Some(subtotals) = early.remove(&self.sums.tasks) {
                let line = form::spell(&subtotals);
                self.sums.add(&line, &subtotals);
                self.file.write_all(&with_end(line)).map_err(at_file)?;
                course.step();
            }
            if self.flushed.elapsed() > FLUSH {
                self.file.flush().map_err(at_file)?;
                self.flushed = Instant::now();
            }
        }
        Ok(())
    }
}

fn with_end(mut line: Vec<u8>) -> Vec<u8> {
    line.push(b'\n');
    line
}

/// What a file has when work on it begins.
enum Begun {
    /// The certificate.
    Whole(Certificate),
    /// The first lines of it, which are sound; the file stands behind them.
    Part(File, Sums),
}

impl Begun {
    /// Opens the file, or makes it. A last line that is cut off is removed, and nothing else.
    fn open(path: &Path, scope: &Scope) -> Result<Begun, CertificateError> {
        let at_file = |error| CertificateError::Unwritten { path: path.to_path_buf(), error };
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path);
        let mut file = file.map_err(at_file)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(CertificateError::Busy(path.to_path_buf()));
            }
            Err(TryLockError::Error(error)) => return Err(at_file(error)),
        }
        let first = with_end(form::first_line(scope));
        if is_beginning(&mut file, &first).map_err(at_file)? {
            file.set_len(0).map_err(at_file)?;
            file.seek(SeekFrom::Start(0)).map_err(at_file)?;
            file.write_all(&first).map_err(at_file)?;
            return Ok(Begun::Part(file, Sums::new(scope)));
        }
        let holds = Reader::open(path)?.scope;
        if (holds.plan, holds.slice) != (scope.plan, scope.slice) {
            let (holds, wanted) = (holds.name(), scope.name());
            return Err(CertificateError::Another { path: path.to_path_buf(), holds, wanted });
        }
        let end = end_of_lines(&mut file).map_err(at_file)?;
        file.set_len(end).map_err(at_file)?;
        let mut reader = Reader::open(path)?;
        while reader.next()?.is_some() {}
        match reader.certificate() {
            Ok(certificate) => Ok(Begun::Whole(certificate)),
            Err(CertificateError::Unfinished { .. }) => {
                file.seek(SeekFrom::End(0)).map_err(at_file)?;
                Ok(Begun::Part(file, reader.sums))
            }
            Err(error) => Err(error),
        }
    }
}

/// Whether the file has a beginning of these bytes and nothing else.
fn is_beginning(file: &mut File, bytes: &[u8]) -> io::Result<bool> {
    let mut there = Vec::new();
    file.take(bytes.len() as u64).read_to_end(&mut there)?;
    Ok(there.len() < bytes.len() && bytes.starts_with(&there))
}

/// The place behind the last line feed.
fn end_of_lines(file: &mut File) -> io::Result<u64> {
    let mut end = file.seek(SeekFrom::End(0))?;
    let mut block = [0; 1 << 12];
    while end > 0 {
        let length = end.min(block.len() as u64);
        let block = &mut block[..length as usize];
        file.seek(SeekFrom::Start(end - length))?;
        file.read_exact(block)?;
        if let Some(at) = block.iter().rposition(|&byte| byte == b'\n') {
            return Ok(end - length + at as u64 + 1);
        }
        end -= length;
    }
    Ok(0)
}
