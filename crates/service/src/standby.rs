//! A stand-by: follows a coordinator's ledger, and says when it is time to take over.
//!
//! ```text
//!   coordinator ──file, log──► Standby ──► FILE, FILE-wal
//!               ──I live─────►         nothing for so long, and the copy is whole ──► take over
//! ```

use std::path::{Path, PathBuf};
use std::time::Duration;

use farm::LoanKey;
use futures_util::future::join_all;
use ledger::{Beginning, LedgerFault, Mirror};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};
use wire::v1::admin_service_client::AdminServiceClient;
use wire::v1::follow_response::Piece;
use wire::v1::{FollowRequest, FollowResponse};

use crate::{Endpoint, ServiceError};

/// Pause between attempts to reach the coordinator.
const PAUSE: Duration = Duration::from_millis(200);
/// A connection on which nothing arrives for so long is given up: the coordinator tells twice a second that it lives.
const SILENCE: Duration = Duration::from_secs(10);
/// How long a stand-by that was held up itself may take to read what has arrived meanwhile.
const GRACE: Duration = Duration::from_millis(100);
/// Acknowledgements that may wait for the network.
const OUTGOING: usize = 64;

/// How long a coordinator may take to say whether it contains what a copy that has led has decided.
const PATIENCE: Duration = Duration::from_secs(5);

/// A copy of a ledger that follows its coordinator.
#[derive(Debug)]
pub struct Standby {
    of: Endpoint,
    path: PathBuf,
    /// Seals the mark of a copy that leads.
    key: LoanKey,
    mirror: Mirror,
    /// Whether the coordinator has said that decisions wait for this copy.
    is_awaited: bool,
    /// When it has begun to stand by.
    begun: Instant,
    seen: watch::Sender<Seen>,
}

/// What a stand-by knows of the coordinator.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// When anything was last heard of it.
    at: Instant,
    /// Whether the copy has all that the coordinator has waited for.
    is_whole: bool,
}

/// Why following ended.
enum End {
    /// It may go on later.
    Lost(String),
    /// It may go on later with the coordinator that answers: that one reads its ledger, is stopping, has no place, or one of
    /// the two clocks is wrong.
    NotYet(String),
    /// It cannot.
    Refused(ServiceError),
}

impl Standby {
    /// A stand-by of the coordinator `of` with its copy in the file `path`. Both have the key `key`.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Ledger`], if another process has the file, or it is something else; those of
    /// [`Endpoint::check`] but for [`ServiceError::Unreachable`].
    pub fn new(of: Endpoint, path: &Path, key: LoanKey) -> Result<Standby, ServiceError> {
        match of.check() {
            Ok(()) | Err(ServiceError::Unreachable { .. }) => {}
            Err(error) => return Err(error),
        }
        let mirror = Mirror::of(path).map_err(|fault| fault.at(Some(path)))?;
        let begun = Instant::now();
        let seen = watch::Sender::new(Seen { at: begun, is_whole: false });
        Ok(Standby { of, path: path.to_path_buf(), key, mirror, is_awaited: false, begun, seen })
    }

    /// Stands by until it is time to lead: when somebody has asked for it, or a whole copy has heard nothing for
    /// `promote_after`, or as soon as it is known, if the copy leads already, that nobody contains what it has decided.
    /// Returns how its coordinator begins.
    ///
    /// # Errors
    ///
    /// [`ServiceError`], if the copy cannot be written, or the coordinator refuses to be followed;
    /// [`LedgerFault::Lacking`] in it, if the copy has led, and a later coordinator has given up what was decided here.
    pub async fn stand_by(
        mut self,
        promote_after: Option<Duration>,
        asked: impl Future<Output = ()>,
    ) -> Result<Beginning, ServiceError> {
        tokio::pin!(asked);
        if self.mirror.led().is_some() {
            let is_continued = tokio::select! {
                is_continued = self.is_continued() => is_continued?,
                () = &mut asked => {
                    tracing::warn!("asked to take over again");
                    return Ok(Beginning::TakeOver);
                }
            };
            if !is_continued {
                tracing::warn!(
                    "this copy has taken over before, and goes on: no coordinator answers that has what was decided here"
                );
                return Ok(Beginning::GoOn);
            }
        }
        tracing::info!(of = self.of.url(), copy = %self.path.display(), "stand-by follows");
        tokio::select! {
            silent = self.follow(promote_after) => {
                silent?;
                tracing::warn!("nothing was heard of the coordinator for too long: taking over");
            }
            () = &mut asked => tracing::warn!("asked to take over"),
        }
        Ok(Beginning::TakeOver)
    }

    /// Whether a coordinator serves that has all that was decided in this copy, which leads. One that answers, and does not
    /// tell yet, is asked until it does or is gone.
    async fn is_continued(&self) -> Result<bool, ServiceError> {
        let mut is_told = false;
        loop {
            let each = match self.of.each() {
                Err(ServiceError::Unreachable { .. }) => return Ok(false),
                each => each?,
            };
            let asked = each.iter().map(|one| timeout(PATIENCE, self.begin(one)));
            let (mut refused, mut untold) = (None, None);
            for (one, answer) in each.iter().zip(join_all(asked).await) {
                match answer {
                    Ok(Ok(_)) => return Ok(true),
                    Ok(Err(End::Refused(error))) => refused = Some(error),
                    Ok(Err(End::NotYet(reason))) => untold = Some((one, reason)),
                    Ok(Err(End::Lost(_))) | Err(_) => {}
                }
            }
            if let Some(error) = refused {
                return Err(error);
            }
            let Some((one, reason)) = untold else { return Ok(false) };
            if !std::mem::replace(&mut is_told, true) {
                tracing::warn!(
                    of = one.url(),
                    reason,
                    "this copy has taken over before, and goes on once it is known that the coordinator that answers lacks what \
                     was decided here: asking again until it tells or is gone"
                );
            }
            sleep(PAUSE).await;
        }
    }

    /// Follows, over any number of lost connections, until a whole copy has heard nothing for `promote_after`; for ever
    /// without that.
    async fn follow(&mut self, promote_after: Option<Duration>) -> Result<(), ServiceError> {
        let seen = self.seen.subscribe();
        let silence = silence(seen, promote_after);
        tokio::pin!(silence);
        // When it was last heard of, as the log has it.
        let mut told = None;
        loop {
            let end = tokio::select! {
                biased;
                end = self.follow_once() => end,
                () = &mut silence => return Ok(()),
            };
            match end {
                End::Refused(error) => return Err(error),
                End::Lost(reason) | End::NotYet(reason) => {
                    let at = self.seen.borrow().at;
                    if told.replace(at) == Some(at) {
                        tracing::debug!(reason, "the coordinator is not followed");
                    } else if at == self.begun {
                        tracing::warn!(
                            reason,
                            "waiting for the coordinator: this stand-by takes over by itself only once it has followed"
                        );
                    } else {
                        tracing::warn!(reason, "the coordinator is not followed: trying again");
                    }
                }
            }
            tokio::select! {
                () = sleep(PAUSE) => {}
                () = &mut silence => return Ok(()),
            }
        }
    }

    /// Begins to follow the coordinator `of`. If the copy leads, it must contain what was decided here.
    async fn begin(&self, of: &Endpoint) -> Result<Connection, End> {
        let channel = of.connect().await.map_err(|error| match error {
            ServiceError::Unreachable { reason, .. } => End::Lost(reason),
            error @ ServiceError::Untimely { .. } => End::NotYet(error.to_string()),
            error => End::Refused(error),
        })?;
        let (acknowledge, acknowledged) = mpsc::channel(OUTGOING);
        let mark = self.mirror.led().map(|mark| mark.sealed(&self.key).to_vec());
        let first = FollowRequest {
            follows: mark.is_some(),
            mark: mark.unwrap_or_default(),
            ..FollowRequest::default()
        };
        acknowledge.try_send(first).expect("it has room");
        let requests = ReceiverStream::new(acknowledged);
        match AdminServiceClient::new(channel).follow(requests).await {
            Ok(answers) => Ok(Connection { acknowledge, answers: answers.into_inner() }),
            Err(status) => Err(self.ended(of, status)),
        }
    }

    /// Follows over one connection.
    async fn follow_once(&mut self) -> End {
        let Connection { acknowledge, mut answers } = match self.begin(&self.of).await {
            Ok(connection) => connection,
            Err(end) => return end,
        };
        let mut has_begun = false;
        loop {
            let answer = match timeout(SILENCE, answers.message()).await {
                Ok(Ok(Some(answer))) => answer,
                Ok(Ok(None)) => return End::Lost("the coordinator has ended it".into()),
                Ok(Err(status)) => return self.ended(&self.of, status),
                Err(_) => return End::Lost("nothing arrives".into()),
            };
            let number = answer.number;
            match self.take(answer, &mut has_begun) {
                Ok(true) => {}
                Ok(false) => {
                    let reason = "another program has opened the copy and moved its log away, as sqlite3 does without \
                                  -readonly: the copy begins anew";
                    return End::Lost(reason.into());
                }
                Err(fault) => return End::Refused(fault.at(Some(&self.path)).into()),
            }
            let request = FollowRequest { acknowledged: number, ..FollowRequest::default() };
            if number > 0 && acknowledge.send(request).await.is_err() {
                return End::Lost("the connection is closed".into());
            }
        }
    }

    /// Does what the coordinator says, until it is on disk. `false` if that is of no use, because the copy was changed by others.
    fn take(&mut self, answer: FollowResponse, has_begun: &mut bool) -> Result<bool, LedgerFault> {
        if !std::mem::replace(has_begun, true) {
            // The coordinator lives: what it has decided meanwhile is not in an earlier copy.
            self.mirror.begin()?;
            self.is_awaited = false;
        }
        let is_kept = in_place(|| {
            match answer.piece {
                None => {}
                Some(Piece::File(bytes)) => self.mirror.add_to_file(&bytes)?,
                Some(Piece::Log(header)) => self.mirror.begin_log(&header)?,
                Some(Piece::Frames(frames)) => self.mirror.add_frames(&frames)?,
                Some(Piece::Whole(_)) => self.mirror.finish()?,
                Some(Piece::Awaited(is_awaited)) => {
                    self.is_awaited = is_awaited;
                    tracing::info!(is_awaited, "the copy is whole, and follows");
                }
            }
            Ok::<_, LedgerFault>(match answer.number {
                0 => self.mirror.is_in_place()?,
                _ => self.mirror.sync()?,
            })
        })?;
        let is_whole = is_kept && self.mirror.is_whole() && self.is_awaited;
        self.seen.send_replace(Seen { at: Instant::now(), is_whole });
        Ok(is_kept)
    }

    fn ended(&self, of: &Endpoint, status: Status) -> End {
        let url = || of.url().to_string();
        if let Some(mismatch) = of.mismatch(&status) {
            return End::Refused(mismatch);
        }
        let reason = status.message().to_string();
        match status.code() {
            Code::PermissionDenied => End::Refused(ServiceError::Forbidden(reason)),
            Code::Unauthenticated => End::Refused(ServiceError::Token { url: url(), reason }),
            Code::Aborted => End::Refused(self.lacking(of)),
            Code::Unimplemented | Code::FailedPrecondition => {
                End::Refused(ServiceError::Incompatible(format!(
                    "the coordinator at {} cannot be followed: {reason}",
                    url()
                )))
            }
            // A connection that cannot be made, or breaks, ends otherwise.
            Code::Unavailable | Code::ResourceExhausted => End::NotYet(reason),
            _ => End::Lost(reason),
        }
    }

    /// The coordinator `of` would replace this copy, and lacks what was decided in it.
    fn lacking(&self, of: &Endpoint) -> ServiceError {
        let decisions = self.mirror.led().map_or(0, |mark| mark.decisions);
        let url = of.url();
        let reason = format!(
            "the coordinator at {url} serves, and lacks some of the {decisions} decisions that were made until this copy \
             ended"
        );
        LedgerFault::Lacking(reason).at(Some(&self.path)).into()
    }
}

/// A connection over which a coordinator is followed.
struct Connection {
    acknowledge: mpsc::Sender<FollowRequest>,
    answers: Streaming<FollowResponse>,
}

/// Does here what waits for the disk, so that nothing is under way when this stand-by ends. If the runtime has other
/// threads, its other tasks go on.
fn in_place<T>(what: impl FnOnce() -> T) -> T {
    match Handle::current().runtime_flavor() {
        RuntimeFlavor::MultiThread => tokio::task::block_in_place(what),
        _ => what(),
    }
}

/// Completes when a whole copy has heard nothing for this time.
async fn silence(mut seen: watch::Receiver<Seen>, promote_after: Option<Duration>) {
    let Some(after) = promote_after else { return std::future::pending().await };
    loop {
        let Seen { at, is_whole } = *seen.borrow_and_update();
        if !is_whole {
            if seen.changed().await.is_err() {
                return std::future::pending().await;
            }
            continue;
        }
        sleep_until(at + after).await;
        sleep(GRACE).await;
        if seen.borrow().at == at {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
