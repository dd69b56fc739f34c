//! `queens token`: the credentials of a coordinator.

use clap::{Args, Subcommand};
use ledger::{Credential, Role, unix_ms};
use service::api::{MadeToken, NewToken, Tokens};
use service::{HostPort, Method};

use super::client::{Client, ClientArgs, CoordinatorArgs, NO_BODY};
use super::options::{in_units, name};
use crate::failure::{Failure, usage};
use crate::progress::clock;
use crate::table::{Column, Table};
use crate::{output, stderr};

#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    /// Make a credential, and print its join string, or its secret where the coordinator serves no
    /// TLS
    Create(CreateArgs),
    /// List all credentials
    List(ClientArgs),
    /// End a credential and the sessions that began with it
    Revoke(RevokeArgs),
}

#[derive(Debug, Args)]
pub(super) struct CreateArgs {
    /// worker, viewer, submitter or admin
    ///
    /// A worker counts, a viewer sees jobs, a submitter submits and changes them, an admin does
    /// everything.
    #[arg(long, value_name = "ROLE", value_parser = role)]
    role: Role,
    /// Let one recount by this worker settle a dispute: for a machine that you answer for yourself
    #[arg(long)]
    trusted: bool,
    /// The person or group that answers for its use
    #[arg(long, value_name = "NAME", value_parser = name)]
    owner: String,
    /// How long it is valid, in whole days, also as in 13weeks or 1year [default: for ever]
    #[arg(long, value_name = "DAYS", value_parser = in_units(86_400_000, 1..=36_500))]
    days: Option<u64>,
    /// Print a link to the coordinator's page instead, which logs a browser in; URL is where
    /// browsers reach the coordinator [default: its own address]
    #[arg(long, value_name = "URL", num_args = 0..=1, conflicts_with = "json", value_parser = page)]
    login: Option<Option<String>>,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
pub(super) struct RevokeArgs {
    /// The credential's number; 0 is the coordinator's own token, which it replaces by a new one
    id: u64,
    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

fn role(text: &str) -> anyhow::Result<Role> {
    let role = Role::named(text).filter(|&role| role != Role::TrustedWorker);
    role.ok_or_else(|| anyhow::anyhow!("a role is worker, viewer, submitter or admin"))
}

/// The URL of the page, of a host with or without a port. The scheme and a path may be left out.
fn page(text: &str) -> anyhow::Result<String> {
    let url = if text.contains("://") { text.into() } else { format!("https://{text}") };
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let rest = rest.unwrap_or_default();
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let is_host = [host, &format!("{host}:443")].iter().any(|it| it.parse::<HostPort>().is_ok());
    let is_path = path.chars().all(|sign| sign.is_ascii_graphic() && !"?#".contains(sign));
    anyhow::ensure!(
        is_host && is_path,
        "it is neither a URL, such as https://farm.example.org, nor a host"
    );
    Ok(url)
}

pub(super) async fn run(command: TokenCommand) -> Result<(), Failure> {
    match command {
        TokenCommand::Create(args) => create(args).await,
        TokenCommand::List(args) => list(args).await,
        TokenCommand::Revoke(args) => revoke(args).await,
    }
}

async fn create(args: CreateArgs) -> Result<(), Failure> {
    let mut client = Client::connect(&args.client.coordinator).await?;
    let role = match (args.role, args.trusted) {
        (Role::Worker, true) => Role::TrustedWorker,
        (_, true) => return usage("--trusted is for --role worker"),
        (role, false) => role,
    };
    if args.login.is_some() && args.role == Role::Worker {
        return usage("--login is for roles that see the page: a worker's sees nothing");
    }
    let lifetime_s = args.days.map(|days| days * 24 * 60 * 60);
    let wanted = NewToken { role, owner: args.owner, lifetime_s };
    let made: MadeToken = client.ask(Method::POST, "/tokens", Some(&wanted)).await?;
    let MadeToken { token, secret } = &made;
    let join = client.join_string(secret)?;
    let plain = || client.url().into();
    let own = join.as_ref().map_or_else(plain, |join| format!("https://{}", join.address));
    let login =
        args.login.map(|at| format!("{}/login#{secret}", at.unwrap_or(own).trim_end_matches('/')));
    let join = join.map(|join| join.to_string());
    if args.client.json {
        let mut object = output::json(&made);
        object["join"] = join.into();
        return output::print(object);
    }
    stderr::print(format_args!(
        "token {} of {}; what follows is a secret, and is printed only once\n",
        token.id, token.owner
    ));
    output::print(login.or(join).unwrap_or_else(|| secret.clone()))
}

async fn list(args: ClientArgs) -> Result<(), Failure> {
    let mut client = Client::connect(&args.coordinator).await?;
    let Tokens { tokens } = client.get("/tokens").await?;
    if args.json {
        return tokens.iter().try_for_each(|token| output::print(output::json(token)));
    }
    let columns: [Column<Credential>; 4] = [
        ("TOKEN", true, |token| token.id.to_string()),
        ("ROLE", false, |token| token.role.name().into()),
        ("VALID", false, valid),
        ("OWNER", false, |token| token.owner.clone()),
    ];
    let nothing = "there is no credential; `queens token create` makes one";
    Table::new(&tokens, &columns).print(&[], nothing)
}

async fn revoke(args: RevokeArgs) -> Result<(), Failure> {
    let mut client = Client::connect(&args.coordinator).await?;
    let revoked = client.ask(Method::DELETE, &format!("/tokens/{}", args.id), NO_BODY).await?;
    let Credential { owner, .. } = revoked;
    output::print(format_args!("token {} of {owner} is revoked", args.id))?;
    if args.id == 0 {
        stderr::print(format_args!(
            "the coordinator has written a new one into the files of its token and of its join string\n"
        ));
    }
    Ok(())
}

/// How long a credential is still valid, as text.
fn valid(token: &Credential) -> String {
    let left_ms = token.expires_at_ms.map(|at_ms| at_ms.saturating_sub(unix_ms()));
    match (token.revoked_at_ms, left_ms) {
        (Some(_), _) => "revoked".into(),
        (None, None) => "for ever".into(),
        (None, Some(..=0)) => "expired".into(),
        (None, Some(left_ms)) => clock(left_ms as f64 / 1_000.0),
    }
}
