//! The places of coordinators. One serves, and the other one may stand by for it. The ledger of each survives the crashes of its
//! process.
//!
//! ```text
//!              nothing is heard of the other one
//!   stand-by ─────────────────────────────────────► coordinator
//!            ◄─────────────────────────────────────
//!              somebody shows a later mark: the process ends, and is started as a stand-by
//! ```

use std::cell::{Cell, RefCell};
use std::fmt;
use std::fs;
use std::future::pending;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use farm::{Config, LoanKey};
use tokio::sync::watch;
use turmoil::net::{TcpListener, TcpStream};

use super::hosts::{PORT, endpoint};
use ledger::{Beginning, FaultKind, Ledger, LedgerHandle};
use service::coordinator::{
    Accept, Access, Credentials, Hub, HubHandle, Limits, Phase, accept_within, fence, serve,
};
use service::standby::Standby;
use service::{Endpoint, ServiceError};

/// What all places seal loans and marks with.
const KEY: LoanKey = LoanKey::new([8; 32]);
const NAMES: [&str; 2] = ["first", "second"];
/// How long a stand-by hears nothing before it takes over.
const PROMOTE_AFTER: Duration = Duration::from_secs(2);
/// What a transaction waits for the disk, before and after.
const DISK: Duration = Duration::from_millis(30);

/// All places of a farm.
#[derive(Debug)]
pub(super) struct Places(Vec<Rc<Place>>);

/// One of them.
pub(super) struct Place {
    pub(super) name: &'static str,
    other: &'static str,
    ledger: PathBuf,
    /// What its process is started with.
    command: Cell<Command>,
    /// What serves here now.
    serving: RefCell<Option<HubHandle>>,
    /// The number of the latest opening of a ledger here.
    epoch: Cell<u32>,
    /// When it last took over, since the beginning.
    pub(super) took_over: Cell<Option<Duration>>,
    pub(super) promotions: Cell<u64>,
    pub(super) fencings: Cell<u64>,
    /// How often its copy was not replaced because it had decisions that whoever served had given up.
    pub(super) refusals: Cell<u64>,
    /// Its process has ended by itself.
    pub(super) has_ended: Cell<bool>,
}

/// `queens coordinator`, or `queens standby` for the other place.
#[derive(Clone, Copy, Debug)]
enum Command {
    Coordinator,
    Standby,
}

impl Places {
    /// A coordinator, and perhaps a stand-by, with ledgers in `folder`.
    pub(super) fn new(folder: &Path, has_standby: bool) -> Places {
        let commands =
            [Command::Coordinator, Command::Standby].into_iter().take(1 + usize::from(has_standby));
        let place = |(at, command)| {
            Rc::new(Place {
                name: NAMES[at],
                other: NAMES[1 - at],
                ledger: folder.join(format!("{}.db", NAMES[at])),
                command: Cell::new(command),
                serving: RefCell::default(),
                epoch: Cell::default(),
                took_over: Cell::default(),
                promotions: Cell::default(),
                fencings: Cell::default(),
                refusals: Cell::default(),
                has_ended: Cell::default(),
            })
        };
        Places(commands.enumerate().map(place).collect())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Rc<Place>> {
        self.0.iter()
    }

    pub(super) fn names(&self) -> Vec<&'static str> {
        self.iter().map(|place| place.name).collect()
    }

    /// How workers and clients find whoever serves.
    pub(super) fn endpoint(&self) -> Endpoint {
        endpoint(&self.names())
    }

    /// How many coordinators serve.
    pub(super) fn serving(&self) -> usize {
        self.iter().filter(|place| place.is_serving()).count()
    }

    /// Whether one place serves alone, with the latest opening that there was, and the other one follows it.
    pub(super) fn are_settled(&self) -> bool {
        let latest = self.iter().map(|place| place.epoch.get()).max();
        let leads = |place: &Rc<Place>| {
            place.is_serving() && place.epoch.get() >= latest.unwrap_or_default()
        };
        let is_followed = self.0.len() == 1 || self.iter().any(|place| place.is_followed());
        self.serving() == 1 && is_followed && self.iter().any(leads)
    }

    pub(super) fn ledgers(&self) -> impl Iterator<Item = &Path> {
        self.iter().map(|place| place.ledger.as_path())
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { name, command, epoch, .. } = self;
        let (command, epoch) = (command.get(), epoch.get());
        let (serves, is_followed) = (self.is_serving(), self.is_followed());
        write!(
            f,
            "{name}: {command:?}, opening {epoch}, serves: {serves}, is followed: {is_followed}"
        )
    }
}

impl Place {
    pub(super) fn is_serving(&self) -> bool {
        self.serving.borrow().is_some()
    }

    /// Whether whoever serves here has a whole stand-by.
    pub(super) fn is_followed(&self) -> bool {
        self.serving.borrow().as_ref().is_some_and(HubHandle::is_followed)
    }

    /// One life of its process.
    pub(super) async fn live(self: Rc<Place>) -> turmoil::Result {
        let earlier = endpoint(&[self.other]);
        let path = self.ledger.as_path();
        match self.command.get() {
            Command::Coordinator => self.coordinate(Beginning::GoOn, None).await,
            Command::Standby => {
                let standby = Standby::new(earlier.clone(), path, KEY)?;
                let beginning = match standby.stand_by(Some(PROMOTE_AFTER), pending()).await {
                    Err(error) if fault_of(&error) == Some(FaultKind::Lacking) => {
                        return self.begin_anew();
                    }
                    beginning => beginning?,
                };
                if beginning == Beginning::TakeOver {
                    self.promotions.update(|times| times + 1);
                    self.took_over.set(turmoil::sim_elapsed());
                }
                self.coordinate(beginning, Some(earlier)).await
            }
        }
    }

    /// Its copy has decisions that others have given up: whoever runs the farm moves it away, and starts the stand-by again.
    fn begin_anew(&self) -> turmoil::Result {
        self.refusals.update(|times| times + 1);
        for end in ["", "-wal", "-leads"] {
            let mut name = self.ledger.clone().into_os_string();
            name.push(end);
            fs::rename(&name, self.ledger.with_extension(format!("given-up{end}")))?;
        }
        self.has_ended.set(true);
        Ok(())
    }

    async fn coordinate(&self, beginning: Beginning, earlier: Option<Endpoint>) -> turmoil::Result {
        let ledger = beginning.open(&self.ledger)?;
        self.epoch.set(ledger.history().mark().ok_or("it is open")?.epoch);
        let config = Config {
            lease_ms: 1_000,
            lease_ttl_ms: 5_000,
            grace_ms: 1_000,
            probe_tasks: 2,
            ..Config::default()
        };
        let (hub, handle) = Hub::with_writer(config, KEY, ledger, write_as_task);
        if let Some(earlier) = earlier {
            tokio::spawn(fence(handle.clone(), earlier));
        }
        let credentials = Credentials::new(&Access::Open, Vec::new());
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).await?;
        let connections = accept_within(Limits::default(), vec![SimulatedListener(listener)]);
        let (_phase, phases) = watch::channel(Phase::Serving(credentials, handle.clone()));
        let server = serve(connections, phases);
        *self.serving.borrow_mut() = Some(handle);
        let _end = Serves(self);
        tokio::select! {
            ended = tokio::spawn(hub.run()) => match ended? {
                Err(error) if fault_of(&error) == Some(FaultKind::Older) => {
                    self.fencings.update(|times| times + 1);
                    self.command.set(Command::Standby);
                    self.has_ended.set(true);
                    return Ok(());
                }
                ended => ended?,
            },
            ended = server => ended?,
        }
        Err("the coordinator ended by itself".into())
    }
}

/// Somebody serves at this place until the value is dropped, which a crash does, too.
struct Serves<'p>(&'p Place);

impl Drop for Serves<'_> {
    fn drop(&mut self) {
        *self.0.serving.borrow_mut() = None;
    }
}

/// A listener of the simulated network.
struct SimulatedListener(TcpListener);

impl Accept for SimulatedListener {
    type Stream = TcpStream;

    async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        self.0.accept().await
    }
}

/// What has befallen the ledger.
fn fault_of(error: &ServiceError) -> Option<FaultKind> {
    match error {
        ServiceError::Ledger(error) => Some(error.fault.kind()),
        _ => None,
    }
}

/// Writes as the ledger's thread does, on a slow disk: a crash may come before a transaction, or between it and its answers.
fn write_as_task(ledger: Ledger) -> LedgerHandle {
    let (writer, handle) = ledger::writer(ledger);
    tokio::spawn(writer.run(|| tokio::time::sleep(DISK)));
    handle
}
