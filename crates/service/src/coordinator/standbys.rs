//! Stand-bys that follow the ledger, and the one that has taken over.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use farm::Standing;
use ledger::{Following, Piece, Shipment, follower};
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{MissedTickBehavior, interval};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};
use wire::v1::admin_service_client::AdminServiceClient;
use wire::v1::follow_response::Piece as Told;
use wire::v1::{FollowRequest, FollowResponse};

use super::metrics::Meters;
use super::{Credentials, HubHandle, Identity, SessionFault};
use crate::Endpoint;

/// Stand-bys at a time: decisions wait for each of them.
const MOST: usize = 4;
/// Bytes in one message.
const BLOCK: usize = 64 << 10;
/// How often a stand-by that has nothing to do is told that this coordinator lives.
const ALIVE: Duration = Duration::from_millis(500);
/// How long the network may take to accept a message.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often a coordinator that has taken over looks whether the earlier one is back.
const FENCE: Duration = Duration::from_secs(2);

/// Serves those who follow this ledger. Clones share the places.
#[derive(Clone)]
pub(super) struct Standbys {
    hub: HubHandle,
    places: Arc<Semaphore>,
}

/// What a stand-by is told.
pub(super) type Answers = ReceiverStream<Result<FollowResponse, Status>>;

impl Standbys {
    pub(super) fn new(hub: HubHandle) -> Standbys {
        Standbys { hub, places: Arc::new(Semaphore::new(MOST)) }
    }

    /// Lets a stand-by follow for as long as its credential is valid. If it shows a mark, its copy leads or has led: this
    /// coordinator stops if that is a later state than its own, and is followed only by who asks for it and by a state that
    /// its ledger contains.
    ///
    /// # Errors
    ///
    /// A status, if the ledger is in memory or does not contain the mark, or there are enough of them.
    pub(super) async fn begin(
        &self,
        mut requests: Streaming<FollowRequest>,
        identity: Identity,
        credentials: Credentials,
    ) -> Result<Answers, Status> {
        let first = requests.message().await?.unwrap_or_default();
        let owner = identity.owner.clone();
        let (sender, answers) = mpsc::channel(4);
        let answers = ReceiverStream::new(answers);
        if !first.mark.is_empty() {
            let by = format!("a stand-by of {owner} that has taken over");
            let standing = self.hub.shown(first.mark, by).await?;
            if !first.follows {
                return Ok(answers);
            }
            match standing {
                Standing::Contained => {}
                Standing::GivenUp => {
                    return Err(Status::aborted("it has given up what was decided in that copy"));
                }
                Standing::OfAnother | Standing::Later => {
                    return Err(Status::not_found("it does not know the ledger of that copy"));
                }
            }
        }
        let Some(path) = self.hub.ledger_path().map(Path::to_path_buf) else {
            return Err(Status::failed_precondition("the ledger is in no file"));
        };
        let place = self.places.clone().try_acquire_owned().map_err(|_| {
            Status::resource_exhausted(format!("{MOST} stand-bys follow this coordinator already"))
        })?;
        let (follower, following) = follower();
        let meters = self.hub.meters().clone();
        self.hub.follow(follower).await?;
        tracing::info!(owner, "a stand-by follows the ledger");
        tokio::spawn(async move {
            let _place = place;
            let last = sender.clone();
            let reason = tokio::select! {
                told = Feed { following, requests, sender, meters }.tell(&path) => match told {
                    Ok(()) => "it was given up".into(),
                    Err(reason) => reason,
                },
                () = credentials.ended(&identity) => {
                    let _ = last.try_send(Err(SessionFault::Expired.into()));
                    "its credential is no longer valid".into()
                }
            };
            tracing::info!(owner, reason, "a stand-by does not follow the ledger any more");
        });
        Ok(answers)
    }
}

/// What one stand-by is fed with, and what it acknowledges.
struct Feed {
    following: Following,
    requests: Streaming<FollowRequest>,
    sender: mpsc::Sender<Result<FollowResponse, Status>>,
    meters: Meters,
}

impl Feed {
    /// Sends the ledger's file and whatever is shipped. Returns why it ended; `Ok` if the ledger has no more to say.
    async fn tell(mut self, path: &Path) -> Result<(), String> {
        let unreadable = |error: io::Error| format!("the ledger cannot be read: {error}");
        let mut file = File::open(path).await.map_err(unreadable)?;
        let mut block = Vec::with_capacity(BLOCK);
        let mut is_read = false;
        let mut counted = None;
        let mut alive = interval(ALIVE);
        alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                request = self.requests.message() => match request {
                    Ok(Some(request)) => {
                        self.following.acknowledge(request.acknowledged);
                        if counted.is_none() && self.following.has_all() {
                            counted = Some(self.meters.standby());
                            self.send(Some(Told::Awaited(true)), 0).await?;
                        }
                    }
                    Ok(None) => return Err("it has hung up".into()),
                    Err(status) => return Err(status.message().into()),
                },
                shipment = self.following.shipments.recv() => match shipment {
                    Some(shipment) => self.ship(shipment).await?,
                    None => return Ok(()),
                },
                read = file.read_buf(&mut block), if !is_read => match read.map_err(unreadable)? {
                    0 => {
                        is_read = true;
                        self.following.file_is_sent();
                    }
                    _ => {
                        let block = std::mem::replace(&mut block, Vec::with_capacity(BLOCK));
                        self.send(Some(Told::File(block)), 0).await?;
                    }
                },
                _ = alive.tick() => self.send(None, 0).await?,
            }
        }
    }

    async fn ship(&self, Shipment { number, piece }: Shipment) -> Result<(), String> {
        match piece {
            Piece::Log(header) => self.send(Some(Told::Log(header.to_vec())), number).await,
            Piece::Whole => self.send(Some(Told::Whole(true)), number).await,
            Piece::Frames(frames) => {
                let mut blocks = frames.chunks(BLOCK).peekable();
                while let Some(block) = blocks.next() {
                    // The last of them is acknowledged.
                    let number = if blocks.peek().is_none() { number } else { 0 };
                    self.send(Some(Told::Frames(block.to_vec())), number).await?;
                }
                Ok(())
            }
        }
    }

    async fn send(&self, piece: Option<Told>, number: u64) -> Result<(), String> {
        let sent = self.sender.send_timeout(Ok(FollowResponse { piece, number }), PATIENCE).await;
        sent.map_err(|_| "it does not take what it is sent".into())
    }
}

/// Shows the mark of a coordinator that has taken over to the one that it stood by for, whenever that one can be reached,
/// so that it stops. Never returns.
pub async fn fence(hub: HubHandle, of: Endpoint) {
    let mut is_told = false;
    loop {
        let each = of.each().unwrap_or_else(|error| {
            if !std::mem::replace(&mut is_told, true) {
                tracing::warn!(%error, "cannot tell the earlier coordinator that this one has taken over: trying again");
            }
            Vec::new()
        });
        for one in each {
            let mark = hub.marks().borrow().clone();
            if let Ok(Ok(())) = tokio::time::timeout(FENCE, show(&one, mark)).await {
                tracing::debug!(to = one.url(), "has shown its mark");
            }
        }
        tokio::time::sleep(FENCE).await;
    }
}

async fn show(to: &Endpoint, mark: Vec<u8>) -> Result<(), Status> {
    let unreachable = |error: crate::ServiceError| Status::unavailable(error.to_string());
    let channel = to.connect().await.map_err(unreachable)?;
    let request = tokio_stream::once(FollowRequest { mark, ..FollowRequest::default() });
    AdminServiceClient::new(channel).follow(request).await?;
    Ok(())
}
