//! The ledger of a count that nobody keeps: the farm's rules over the farm's own rows, without a file.

use farm::rules::{self, MemoryStore};
use tokio::sync::mpsc;

use super::writer::{MAX_BATCH, QUEUE};
use super::{LedgerEvent, LedgerHandle, LedgerRequest};

/// Makes both ends of a ledger in memory: what is to run beside the farm, and the farm's end. It is for a farm within one
/// process, which has no credentials: a request to change them gets no answer.
pub fn in_memory() -> (impl Future<Output = ()> + Send + 'static, LedgerHandle) {
    let (requests, mut queue) = mpsc::channel(QUEUE);
    let (answers, events) = mpsc::unbounded_channel();
    let serve = async move {
        let (mut store, mut batch) = (MemoryStore::default(), Vec::new());
        while queue.recv_many(&mut batch, MAX_BATCH).await > 0 {
            for request in batch.drain(..) {
                let LedgerRequest::Farm(asker, command) = request else { continue };
                // If the receiver is gone, nobody needs the answer.
                let _ = match rules::execute(&mut store, &command) {
                    Ok(answer) => {
                        answers.send(LedgerEvent::Answered(asker, Box::new(command), answer))
                    }
                    Err(fault) => return drop(answers.send(LedgerEvent::Failed(fault.into()))),
                };
            }
        }
        let _ = answers.send(LedgerEvent::Closed);
    };
    (serve, LedgerHandle { requests, events })
}

#[cfg(test)]
mod tests {
    use farm::{Asker, JobChange, JobId, JobState, LedgerCommand};

    use super::*;

    fn resume(job: u64) -> LedgerRequest {
        let (job, state) = (JobId(job), JobState::Running);
        LedgerRequest::Farm(
            Asker::Farm,
            LedgerCommand::Change { job, change: JobChange::State(state), by: String::new() },
        )
    }

    #[tokio::test]
    async fn its_last_word_is_that_it_is_closed_or_what_does_not_fit_its_rows() {
        let (serve, LedgerHandle { requests, mut events }) = in_memory();
        tokio::spawn(serve);
        drop(requests);
        assert!(matches!(events.recv().await, Some(LedgerEvent::Closed)));

        let (serve, LedgerHandle { requests, mut events }) = in_memory();
        tokio::spawn(serve);
        requests.send(resume(7)).await.expect("it listens");
        assert!(
            matches!(events.recv().await, Some(LedgerEvent::Failed(_))),
            "there is no such job"
        );
        assert!(events.recv().await.is_none());
    }
}
