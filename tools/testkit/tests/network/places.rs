//! The places of coordinators. One serves, and others may stand by for it. The ledger of each survives the crashes of its process.
//!
//! ```text
//!              nothing is heard of whoever serves
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

use farm::{Config, LoanKey, Term};
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
const NAMES: [&str; 3] = ["first", "second", "third"];
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
    others: Vec<&'static str>,
    ledger: PathBuf,
    /// What its process is started with.
    command: Cell<Command>,
    /// What serves here now.
    serving: RefCell<Option<HubHandle>>,
    /// The latest term that a coordinator has served in here.
    term: Cell<Term>,
    /// When it last took over, since the beginning.
    pub(super) took_over: Cell<Option<Duration>>,
    pub(super) promotions: Cell<u64>,
    pub(super) fencings: Cell<u64>,
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
    /// A coordinator, and so many stand-bys, with ledgers in `folder`.
    pub(super) fn new(folder: &Path, standbys: usize) -> Places {
        let commands = [Command::Coordinator, Command::Standby, Command::Standby];
        let names = &NAMES[..=standbys];
        let place = |(&name, command)| {
            Rc::new(Place {
                name,
                others: names.iter().copied().filter(|other| *other != name).collect(),
                ledger: folder.join(format!("{name}.db")),
                command: Cell::new(command),
                serving: RefCell::default(),
                term: Cell::default(),
                took_over: Cell::default(),
                promotions: Cell::default(),
                fencings: Cell::default(),
                has_ended: Cell::default(),
            })
        };
        Places(names.iter().zip(commands).map(place).collect())
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

    /// Whether one place serves alone, in the latest term that there was, and all others follow it.
    pub(super) fn are_settled(&self) -> bool {
        let latest = self.iter().map(|place| place.term.get()).max().unwrap_or_default();
        let leads = |place: &Rc<Place>| place.is_followed_by_all() && place.term.get() >= latest;
        self.serving() == 1 && self.iter().any(leads)
    }

    /// Whether two coordinators serve that have taken over from the same opening.
    pub(super) fn have_tie(&self) -> bool {
        let serving = self.iter().filter(|place| place.is_serving());
        let terms: Vec<Term> = serving.map(|place| place.term.get()).collect();
        let is_tied = |one: &Term, other: &Term| one.epoch == other.epoch && one != other;
        terms.iter().any(|one| terms.iter().any(|other| is_tied(one, other)))
    }

    pub(super) fn ledgers(&self) -> impl Iterator<Item = &Path> {
        self.iter().map(|place| place.ledger.as_path())
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { name, command, term, .. } = self;
        let (command, term, standbys) = (command.get(), term.get(), self.standbys());
        write!(f, "{name}: {command:?}, {term:?}, serves with stand-bys: {standbys:?}")
    }
}

impl Place {
    pub(super) fn is_serving(&self) -> bool {
        self.serving.borrow().is_some()
    }

    /// How many stand-bys have all of the ledger of whoever serves here.
    fn standbys(&self) -> Option<usize> {
        self.serving.borrow().as_ref().map(HubHandle::standbys)
    }

    /// Whether somebody serves here, and all other places have what is decided.
    pub(super) fn is_followed_by_all(&self) -> bool {
        self.standbys().is_some_and(|standbys| standbys >= self.others.len())
    }

    /// One life of its process.
    pub(super) async fn live(self: Rc<Place>) -> turmoil::Result {
        let earlier = endpoint(&self.others);
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
        self.fencings.update(|times| times + 1);
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
        self.term.set(ledger.history().mark().ok_or("it is open")?.term);
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
