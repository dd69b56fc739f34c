//! A worker's key, and what it signs: the reports, on their way to the coordinator.
//!
//! ```text
//!   Hello   ──► with the public key; its machine's name is signed from then on
//!   Welcome ──► the ledger, without which nothing can be signed
//!   Report  ──► SignedReport; what it says of stretches is signed, too
//! ```

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use farm::{
    Hello, LedgerId, PublicKey, Report, Signer, SigningKey, Statement, WorkerMessage, WorkerOrder,
};

use crate::{ServiceError, secret_file};

/// Signs what a worker reports. Its copies are one pen.
#[derive(Clone, Debug)]
pub struct Pen(Arc<Signing>);

#[derive(Debug)]
struct Signing {
    key: SigningKey,
    /// What the last session was begun with.
    context: Mutex<Context>,
}

#[derive(Debug, Default)]
struct Context {
    machine: String,
    /// `None` if the coordinator does not say which ledger it has: an older one does not know signatures.
    ledger: Option<LedgerId>,
}

impl Pen {
    /// A pen with this key.
    #[must_use]
    pub fn new(key: SigningKey) -> Pen {
        Pen(Arc::new(Signing { key, context: Mutex::default() }))
    }

    /// A pen with a key that is kept nowhere, and ends with this process.
    #[must_use]
    pub fn of_this_process() -> Pen {
        Pen::new(SigningKey::from_seed(&rand::random()))
    }

    /// A pen with the key in the file at `path`, which is made with its folder if there is none.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SecretFile`], if the file cannot be read or made, if others may read it, or if it is no key.
    pub fn in_file(path: &Path) -> Result<Pen, ServiceError> {
        let fault = |reason| ServiceError::SecretFile { path: path.into(), reason };
        if let Some(folder) = path.parent().filter(|folder| *folder != Path::new("")) {
            secret_file::make_folder(folder).map_err(|error| fault(error.to_string()))?;
        }
        let seed = secret_file::read_or_make(path, || rand::random::<[u8; 32]>().to_vec())?;
        let seed = <[u8; 32]>::try_from(seed);
        let seed = seed.map_err(|_| {
            fault("it must hold 32 bytes; remove it, and a new key is made, which others do not know yet".into())
        })?;
        Ok(Pen::new(SigningKey::from_seed(&seed)))
    }

    /// The key by which others know it.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        self.0.key.public()
    }

    /// The message as it is sent.
    #[must_use]
    pub fn sign(&self, message: WorkerMessage) -> WorkerMessage {
        match message {
            WorkerMessage::Hello(hello) => {
                self.context().machine.clone_from(&hello.machine);
                WorkerMessage::Hello(Hello { key: Some(self.public()), ..hello })
            }
            WorkerMessage::Report(report) => {
                let context = self.context();
                let Some(ledger) = context.ledger else { return WorkerMessage::Report(report) };
                let (key, job, kind) = (self.public(), report.job, report.proof.kind);
                let signer = Signer { key, ledger, job, kind };
                let statement = Statement::of(&report, &signer, &context.machine);
                let sign = |statement: Statement<'_>| statement.sign(&self.0.key).signature;
                let signature = sign(statement);
                let mut stretches = report.stretches.clone();
                for stretch in &mut stretches {
                    stretch.signature = Some(sign(statement.of_stretch(stretch)));
                }
                WorkerMessage::SignedReport(Report { stretches, ..report }, signature)
            }
            other => other,
        }
    }

    /// Looks at what the coordinator says.
    pub fn hear(&self, order: &WorkerOrder) {
        if let WorkerOrder::Welcome { ledger, .. } = order {
            self.context().ledger = *ledger;
        }
    }

    fn context(&self) -> MutexGuard<'_, Context> {
        self.0.context.lock().expect("nobody panics while holding it")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_stays_the_same_and_nobody_else_may_read_it() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("below").join("worker.key");
        let key = Pen::in_file(&path).expect("it is made").public();
        assert_eq!(Pen::in_file(&path).expect("it is there").public(), key);
        assert_ne!(Pen::of_this_process().public(), key);
        #[cfg(unix)]
        {
            use std::fs::{Permissions, metadata, set_permissions};
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o600);
            set_permissions(&path, Permissions::from_mode(0o604)).expect("it is ours");
            Pen::in_file(&path).expect_err("others may read it");
        }
        std::fs::write(&path, "short").expect("it can be written");
        Pen::in_file(&path).expect_err("it is no key");
    }
}
