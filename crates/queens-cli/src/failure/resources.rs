//! Resources of the system that can run out. Each has one exit code and one sentence.
//!
//! Errors come from many places, most of them in the text of another error. The system's own words
//! are the same everywhere: the standard library writes them with the system's number. A thread
//! that is refused has no such number, and is [`Failure::no_thread`].

use super::Failure;

/// A resource that has run out.
struct Resource {
    /// The system's number of the error, and words of a library that knows no number.
    number: i32,
    words: Option<&'static str>,
    /// Whether it helps to wait.
    comes_back: bool,
    /// What has run out and, if it helps to wait, what else helps.
    sentence: &'static str,
}

const FILES: &str = "this process may open no further file: allow more (`ulimit -n`, LimitNOFILE= of systemd), then run \
                     the same command again";
const MEMORY: &str = "the system refuses memory: allow more (`ulimit -v`, the limit of a container or a batch job), or end \
                      other programs, then run the same command again";
const DISK: &str = "the disk is full";

#[cfg(unix)]
const RESOURCES: [Resource; 6] = {
    use rustix::io::Errno;
    const fn resource(error: Errno, comes_back: bool, sentence: &'static str) -> Resource {
        Resource { number: error.raw_os_error(), words: None, comes_back, sentence }
    }
    [
        resource(Errno::MFILE, true, FILES),
        resource(
            Errno::NFILE,
            true,
            "the system may open no further file or pipe: end other programs, then run the same command again",
        ),
        Resource { words: Some("out of memory"), ..resource(Errno::NOMEM, true, MEMORY) },
        resource(Errno::FBIG, false, "a limit keeps files from growing (`ulimit -f`)"),
        resource(Errno::NOSPC, false, DISK),
        resource(Errno::DQUOT, false, "the quota of disk space is used up"),
    ]
};

/// The numbers of Windows.
#[cfg(windows)]
const RESOURCES: [Resource; 3] = [
    Resource { number: 4, words: None, comes_back: true, sentence: FILES },
    Resource { number: 8, words: Some("out of memory"), comes_back: true, sentence: MEMORY },
    Resource { number: 112, words: None, comes_back: false, sentence: DISK },
];

impl Resource {
    /// Where the words end that say in `text` that it has run out.
    fn end_in(&self, text: &str) -> Option<usize> {
        let end_of = |words: &str| Some(text.find(words)? + words.len());
        let debugged = || {
            let end = end_of(&format!("Os {{ code: {},", self.number))?;
            Some(end + text[end..].find('}')? + 1)
        };
        let shown = end_of(&format!("(os error {})", self.number));
        shown.or_else(debugged).or_else(|| end_of(self.words?))
    }
}

impl Failure {
    /// The same failure, or the one of the resource that it says has run out.
    pub(super) fn of_resource(self) -> Failure {
        let text = self.parts().1;
        let found = RESOURCES.iter().find_map(|it| Some((it, it.end_in(text)?)));
        let Some((resource, end)) = found else { return self };
        let is_closed = text[end..].starts_with(')');
        let (said, rest) = text.split_at(end + usize::from(is_closed));
        match resource.comes_back {
            // Whatever else it advises is about something that is not the reason.
            true => Failure::Stopped(format!("{said}: {}", resource.sentence)),
            false => Failure::Unwritten(format!("{said}: {}{rest}", resource.sentence)),
        }
    }

    /// The system refuses a thread.
    pub(crate) fn no_thread() -> Failure {
        let text = "the system refuses a thread: allow more processes (`ulimit -u`, `pids.max` of a container, TasksMax= of \
                    systemd) or memory, or count with fewer --threads";
        Failure::Stopped(text.into())
    }

    /// The failure of a panic with this text, if a resource that has run out is its reason. It is
    /// recognised by the words with which the standard library and Tokio panic. The crates here use
    /// the same words where they cannot start a thread.
    pub(crate) fn of_panic(text: &str) -> Option<Failure> {
        if ["failed to spawn thread", "OS can't spawn worker thread"]
            .iter()
            .any(|it| text.starts_with(it))
        {
            return Some(Failure::no_thread());
        }
        let failure = Failure::Internal(text.into()).of_resource();
        (!matches!(failure, Failure::Internal(_))).then_some(failure)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Error;

    use rustix::io::Errno;

    use super::*;

    #[test]
    fn each_resource_has_one_code_and_one_sentence_wherever_its_error_is() {
        for (errno, code, sentence) in [
            (Errno::MFILE, 75, "no further file: allow more"),
            (Errno::NFILE, 75, "the system may open no further file"),
            (Errno::NOMEM, 75, "refuses memory"),
            (Errno::FBIG, 10, "`ulimit -f`"),
            (Errno::NOSPC, 10, "the disk is full"),
            (Errno::DQUOT, 10, "quota"),
        ] {
            let error = Error::from(errno);
            for failure in [
                Failure::Secret(format!("cannot use the secret in x: {error}")),
                Failure::Unwritten(format!("cannot open the ledger x ({error}); give another")),
                Failure::Internal(format!("internal fault: {error}; please report this")),
                Failure::Usage(format!("cannot read the bundle x ({error})")),
                Failure::Listen(error.to_string()),
            ] {
                let text = failure.to_string();
                let failure = failure.of_resource();
                assert_eq!(failure.code(), code, "{text}");
                let said = failure.to_string();
                assert!(said.contains(sentence) && said.contains("os error"), "{text}: {said}");
                let opened = said.matches('(').count();
                assert_eq!(opened, said.matches(')').count(), "{said}");
            }
            let panic = format!("a folder can be made: {error:?}");
            assert_eq!(Failure::of_panic(&panic).map(|it| it.code()), Some(code), "{panic}");
        }
        let others = [Error::from(Errno::ACCESS).to_string(), "os error 24".into()];
        for text in others {
            assert_eq!(Failure::Secret(text).of_resource().code(), 6);
        }
        assert!(Failure::of_panic("index out of bounds").is_none());
    }
}
