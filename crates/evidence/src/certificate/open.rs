//! Opens a certificate: one class of each task is drawn and counted again.

use std::path::Path;
use std::sync::{Arc, Mutex};

use blake3::Hash;
use board::halves::Class;
use count::ClassKernel;
use farm::{Range, Slice};

use super::read::{Reader, read};
use super::threads::Counted;
use super::{Certificate, CertificateEffort, CertificateError, Course};
use crate::verdict::RISK;

/// What is opened.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// What decides the draws: a random value that nobody knew when the certificate's name was published.
    pub value: &'a str,
    /// The share of the tasks of which a class is drawn, in millionths.
    pub share_ppm: u32,
    /// The part of the tasks of which classes are drawn.
    pub slice: Slice,
}

/// A certificate in which everything that was opened is right.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The certificate.
    pub certificate: Certificate,
    /// How many subtotals were opened, of as many tasks.
    pub subtotals: u64,
    /// How many tasks the part has from which was drawn.
    pub tasks: u64,
}

impl Opened {
    /// With 95% confidence fewer than so many subtotals of the part are wrong; `None` if it has no more.
    ///
    /// If `m` subtotals are wrong, each is opened with the share p of all subtotals that was opened. They are found with
    /// 1 - (1 - p)^m, or more if several of them are of one task. The result is the least m for which that is 95%.
    #[must_use]
    pub fn fewer_wrong_than(&self) -> Option<u64> {
        let all = self.tasks * Class::COUNT as u64;
        let missed = 1.0 - self.subtotals as f64 / all as f64;
        let least = (RISK.ln() / missed.ln()).ceil();
        (self.subtotals > 0 && least <= all as f64).then_some(least as u64)
    }
}

/// Reads the certificate `path`, draws a class of each of its tasks and counts it.
///
/// # Errors
///
/// [`CertificateError::Wrong`], if the certificate does not hold or a count differs; other variants if it cannot be read or
/// counted.
pub fn open(
    path: &Path,
    opening: Opening<'_>,
    effort: CertificateEffort,
    course: &Arc<Course>,
) -> Result<Opened, CertificateError> {
    let wrong = |reason| CertificateError::Wrong { path: path.to_path_buf(), reason };
    let certificate = read(path)?;
    let scope = &certificate.scope;
    let fit = effort.fit(scope.plan)?;
    let draws = Draws::of(path, &certificate, opening)?;
    let (drawn, tasks) = (draws.drawn(), draws.tasks);
    course.begin(0, drawn);
    let draws = Arc::new(Mutex::new(draws));
    let counted = Counted::by(fit.threads.get(), course, {
        let scope = scope.clone();
        move |tell| {
            let (mut now, left) = (None, || draws.lock().expect(NO_PANIC));
            loop {
                let next = left().next(&mut now);
                let Some((class, mut batch)) = next else { return Ok(()) };
                let mut kernel = ClassKernel::new(fit.bytes, effort.backend, scope.n(), class)?;
                while !batch.is_empty() {
                    for draw in batch {
                        let (prefix, weight) = scope.task(draw.ordinal);
                        if !tell((class, draw, kernel.count(prefix, weight)?)) {
                            return Ok(());
                        }
                    }
                    batch = left().more(class);
                }
            }
        }
    });
    let mut done = 0;
    while let Some((class, Draw { ordinal, subtotal }, found)) = counted.next()? {
        if found != subtotal {
            course.stop();
            return Err(wrong(format!(
                "the subtotal of class {} of task {ordinal} is {subtotal} there, and {found} here by {}: one of the two \
                 machines counted wrong",
                class.number(),
                effort.backend
            )));
        }
        course.step();
        done += 1;
    }
    if done < drawn {
        return Err(CertificateError::Stopped { done, tasks: drawn });
    }
    Ok(Opened { certificate, subtotals: drawn, tasks })
}

const NO_PANIC: &str = "no thread panics while holding it";

/// The class of a task that a value draws, and a number below 2^64 that decides whether it is opened.
fn drawn(name: Hash, value: &str, ordinal: u64) -> (Class, u64) {
    let text = format!("queens certificate; name {name}; value {value}; task {ordinal}");
    let hash = blake3::hash(text.as_bytes());
    let (class, rest) = hash.as_bytes().split_first_chunk().expect("it has 32 bytes");
    let (place, _) = rest.split_first_chunk().expect("16 bytes are left");
    let number = u128::from_le_bytes(*class) % Class::COUNT as u128;
    let class = Class::from_number(number as usize).expect("it is less than their number");
    (class, u64::from_le_bytes(*place))
}

/// A subtotal that is to be counted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Draw {
    ordinal: u64,
    subtotal: u64,
}

/// What is left to be counted, by class. A kernel serves one class and takes time to be made, so threads stay with theirs.
struct Draws {
    classes: Vec<Left>,
    /// The number of tasks from which was drawn.
    tasks: u64,
}

/// The draws of a class that no thread has taken yet.
struct Left {
    class: Class,
    draws: Vec<Draw>,
    /// How many threads count the class.
    threads: usize,
}

impl Draws {
    /// How many a thread takes at once.
    const BATCH: usize = 16;

    /// Reads the certificate again, which must still be the same, and draws.
    fn of(
        path: &Path,
        certificate: &Certificate,
        opening: Opening<'_>,
    ) -> Result<Draws, CertificateError> {
        let mut classes: Vec<Left> =
            Class::all().map(|class| Left { class, draws: Vec::new(), threads: 0 }).collect();
        let plan = &certificate.scope.plan;
        let (ordinals, mut tasks) = (opening.slice.ordinals(plan.tasks), 0);
        let mut reader = Reader::open(path)?;
        while let Some((ordinal, subtotals)) = reader.next()? {
            let one = Range::new(ordinal, ordinal + 1).expect("it is one task");
            if !ordinals.contains(one) {
                continue;
            }
            tasks += 1;
            let (class, place) = drawn(certificate.name, opening.value, ordinal);
            if (u128::from(place) * 1_000_000) >> 64 < u128::from(opening.share_ppm) {
                let subtotal = subtotals[class.number()];
                classes[class.number()].draws.push(Draw { ordinal, subtotal });
            }
        }
        if reader.certificate()?.name != certificate.name {
            let reason = "it changes while it is read".to_string();
            return Err(CertificateError::Wrong { path: path.to_path_buf(), reason });
        }
        Ok(Draws { classes, tasks })
    }

    /// How many there are.
    fn drawn(&self) -> u64 {
        self.classes.iter().map(|left| left.draws.len() as u64).sum()
    }

    /// A class for a thread that has counted the class `now`, with its first draws: the one that has the most left for
    /// each of its threads. `None` if nothing is left.
    fn next(&mut self, now: &mut Option<Class>) -> Option<(Class, Vec<Draw>)> {
        if let Some(class) = now.take() {
            self.classes[class.number()].threads -= 1;
        }
        let share = |left: &&mut Left| left.draws.len() / (left.threads + 1);
        let left = self.classes.iter_mut().max_by_key(share)?;
        left.threads += 1;
        let class = left.class;
        *now = Some(class);
        let draws = self.more(class);
        (!draws.is_empty()).then_some((class, draws))
    }

    /// Further draws of a class.
    fn more(&mut self, class: Class) -> Vec<Draw> {
        let left = &mut self.classes[class.number()].draws;
        left.split_off(left.len().saturating_sub(Draws::BATCH))
    }
}
