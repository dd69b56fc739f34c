//! `queens standby` and `queens promote`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use ledger::{Ledger, LedgerFault, LedgerLock};
use sd_notify::NotifyState;
use service::coordinator::{has_loan_key, loan_key};
use service::standby::Standby;
use service::{Endpoint, JoinString, KeyFolder, Proofs};
use tokio::time::{Instant, sleep};

use super::coordinator::{self, CoordinatorArgs};
use super::signal::asked_to_stop;
use super::systemd;
use crate::failure::Failure;
use crate::output;

/// How often a stand-by looks whether it was asked to take over, and how long `queens promote` waits for that.
const LOOK: Duration = Duration::from_millis(250);
const PATIENCE: Duration = Duration::from_secs(5);

const EXAMPLES: &str = "\
Started again after it has taken over, which the file COPY-leads says, it asks the addresses of --of. It follows a
coordinator that has all that was decided in the copy, and else goes on as the coordinator. One that answers but still
reads its ledger, or has no place, is asked again; `queens promote` ends the waiting. If a later coordinator has given up
some of that, it refuses and replaces nothing (exit code 18).

Before: copy the folder of keys beside the coordinator's ledger, FILE-keys, to the folder COPY-keys beside the copy.

Example:
  queens standby --of farm-join --ledger copy.db --listen 0.0.0.0:7410 --promote-after 30s";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct StandbyArgs {
    /// The coordinator to stand by for: its URL, or the file with its join string or address
    #[arg(long, value_name = "FILE|URL", env = "QUEENS_OF")]
    of: String,
    /// Take over when nothing was heard of the coordinator for so long, such as 30s [default: wait for `queens promote`]
    #[arg(long, value_name = "DURATION", env = "QUEENS_PROMOTE_AFTER", value_parser = humantime::parse_duration)]
    promote_after: Option<Duration>,
    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

const PROMOTED: &str = "\
The copy leads from then on, which the file COPY-leads says: `queens standby`, started again with it, goes on as the
coordinator unless another one has all that was decided in it.";

#[derive(Debug, Args)]
#[command(after_help = PROMOTED)]
pub(super) struct PromoteArgs {
    /// The copy of a stand-by
    copy: PathBuf,
}

/// The shortest silence that tells anything: a coordinator that lives says so twice a second.
const SHORTEST: Duration = Duration::from_secs(1);

/// Follows a coordinator, and becomes one when that one has fallen silent or somebody says so. Started again after that, it
/// goes on as the coordinator, unless another one has gone on with what it has decided.
///
/// # Errors
///
/// Those of the copy and of the coordinator that is followed, and later those of `queens coordinator`.
pub(super) async fn standby(args: StandbyArgs) -> Result<(), Failure> {
    let StandbyArgs { of, promote_after, coordinator } = args;
    if promote_after.is_some_and(|after| after < SHORTEST) {
        return Err(Failure::Usage(
            "--promote-after wants a second at least: a coordinator that lives says so twice a second".into(),
        ));
    }
    let copy = coordinator.ledger().to_path_buf();
    coordinator::check_folder(&copy)?;
    let keys = KeyFolder::beside(&copy);
    if !has_loan_key(&keys) {
        return Err(Failure::Usage(format!(
            "the stand-by lacks the coordinator's keys: copy the folder of keys beside the coordinator's ledger to {}",
            keys.path("").display()
        )));
    }
    if let Some(missing) = coordinator.token_file().filter(|file| !file.exists()) {
        return Err(Failure::Usage(format!(
            "the stand-by lacks the coordinator's token: copy its file to {}",
            missing.display()
        )));
    }
    coordinator::rehearse(&coordinator, &keys).await?;
    let of = endpoint(&of, coordinator.token_file())?;
    let asked = asked_to_stop();
    tokio::pin!(asked);
    let wish = wish(&copy);
    let _ = fs::remove_file(&wish);
    let standby = Standby::new(of.clone(), &copy, loan_key(&keys)?)?;
    systemd::tell(&[NotifyState::Ready, NotifyState::Status("standing by")]);
    let beginning = tokio::select! {
        beginning = standby.stand_by(promote_after, wished(&wish)) => beginning?,
        () = &mut asked => return Ok(()),
    };
    let _ = fs::remove_file(&wish);
    coordinator::lead(coordinator, beginning, Some(of)).await
}

/// The coordinator to follow, by whatever names it.
fn endpoint(of: &str, token_file: Option<&Path>) -> Result<Endpoint, Failure> {
    let unusable = |error| Failure::Usage(format!("cannot use the join string: {error}"));
    let proofs = Proofs { token_file: token_file.map(Path::to_path_buf), authority_file: None };
    Ok(match of {
        join if join.starts_with("queens://") => {
            Endpoint::join(join.parse::<JoinString>().map_err(unusable)?)
        }
        url if url.contains("://") => Endpoint::new(url, proofs),
        // The secret of a join string is in its file.
        file => Endpoint::join_file(file.into(), Proofs::default()),
    })
}

/// The file by which a stand-by is asked to take over.
fn wish(copy: &Path) -> PathBuf {
    let mut name = copy.as_os_str().to_owned();
    name.push("-promote");
    name.into()
}

async fn wished(wish: &Path) {
    while !wish.exists() {
        sleep(LOOK).await;
    }
}

/// Has a stand-by take over, or makes its copy a ledger that goes on by itself.
///
/// # Errors
///
/// Those of the ledger.
pub(super) async fn promote(args: PromoteArgs) -> Result<(), Failure> {
    let copy = args.copy;
    if !copy.is_file() {
        return Err(Failure::LedgerOpen {
            path: copy,
            reason: "there is no such copy; name the --ledger of `queens standby`".into(),
        });
    }
    match LedgerLock::of(&copy) {
        Ok(lock) => drop(lock),
        Err(LedgerFault::Held) => return ask(&copy).await,
        Err(fault) => return Err(fault.at(Some(&copy)).into()),
    }
    ledger::take_over(&copy).and_then(Ledger::close).map_err(|fault| fault.at(Some(&copy)))?;
    output::print(format!(
        "{copy} goes on by itself: start `queens coordinator --ledger {copy}`",
        copy = copy.display()
    ))
}

/// Asks the stand-by that holds the copy.
async fn ask(copy: &Path) -> Result<(), Failure> {
    let (wish, begun) = (wish(copy), Instant::now());
    fs::write(&wish, "").map_err(|error| Failure::Output {
        what: wish.display().to_string(),
        reason: error.to_string(),
    })?;
    while wish.exists() {
        if begun.elapsed() > PATIENCE {
            let _ = fs::remove_file(&wish);
            // By one that is no stand-by: a coordinator may serve it already.
            return Err(LedgerFault::Held.at(Some(copy)).into());
        }
        sleep(LOOK).await;
    }
    output::print(format!("the stand-by with {} takes over", copy.display()))
}
