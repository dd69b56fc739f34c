//! What a client accepts, and what it is shown.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio_rustls::rustls::Error;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::{TlsConnector, client, server};

use super::server::{Shown, wall_clock};
use super::{Authority, Refusal, ServerTls, Trust, refusal};
use crate::{KeyFolder, Pin};

const DAY: Duration = Duration::from_hours(24);

#[tokio::test]
async fn what_the_pinned_authority_has_signed_is_accepted_whatever_was_dialled() {
    let authority = authority();
    let server = issued_at(&authority, wall_clock());
    for dialled in ["127.0.0.1", "[::1]", "tunnel.example"] {
        let (client, server) = handshake(&server, authority.pin(), dialled).await;
        client.expect("it is accepted");
        server.expect("it is accepted");
    }
}

#[tokio::test]
async fn another_authority_is_refused() {
    let [ours, other] = [authority(), authority()];
    let server = issued_at(&other, wall_clock());
    let reason = why_refused(&server, ours.pin()).await;
    assert!(reason.contains("not the one in the join string; get"), "{reason}");
}

#[tokio::test]
async fn a_strangers_leaf_beside_our_authority_is_refused() {
    let [ours, stranger] = [authority(), authority()];
    let now = wall_clock();
    let our_chain = ours.leaf(now).expect("it can be signed").cert;
    let theirs = stranger.leaf(now).expect("it can be signed");
    let (leaf, root) = (&theirs.cert[0], &our_chain[1]);

    for chain in [vec![leaf, root], vec![leaf, &our_chain[0], root], vec![root, leaf]] {
        let chain = chain.into_iter().cloned().collect();
        let server = serving(CertifiedKey::new(chain, theirs.key.clone()));
        why_refused(&server, ours.pin()).await;
    }

    // Neither is our own leaf of any use without its key.
    let stolen = serving(CertifiedKey::new(our_chain, theirs.key));
    let (client, _) = handshake(&stolen, ours.pin(), "127.0.0.1").await;
    client.expect_err("the signature is another key's");
}

#[tokio::test]
async fn a_leaf_counts_for_ninety_days() {
    let authority = authority();
    let now = wall_clock();
    let (early, late) = (now - 89 * DAY, now + DAY / 2);
    for issued in [early, late] {
        let (client, _) =
            handshake(&issued_at(&authority, issued), authority.pin(), "127.0.0.1").await;
        client.expect("it is valid");
    }
    for issued in [now - 91 * DAY, now + 2 * DAY] {
        let refusal = refusal_of(&issued_at(&authority, issued), authority.pin()).await;
        assert!(matches!(refusal, Refusal::Untimely(_)), "{refusal}");
        assert!(refusal.to_string().contains("clocks"), "{refusal}");
    }
}

#[tokio::test]
async fn a_leaf_is_replaced_while_sessions_go_on() {
    let authority = authority();
    let pin = authority.pin();
    let often = Duration::from_millis(5);
    let server = ServerTls::renewed(authority, Duration::ZERO, often).expect("it can be signed");
    let (client, mut far) = handshake(&server, pin, "127.0.0.1").await;
    let (mut client, mut far) = (client.expect("it is accepted"), far.as_mut().expect("it agrees"));

    // New connections get new leaves,
    let first = leaf(&client);
    let another = async {
        while leaf(&handshake(&server, pin, "127.0.0.1").await.0.expect("it is accepted")) == first
        {
        }
    };
    tokio::time::timeout(Duration::from_secs(30), another).await.expect("it is replaced");

    // and the old connection lives.
    client.write_all(b"still here").await.expect("it is open");
    client.flush().await.expect("it is open");
    let mut heard = [0; 10];
    (&mut far).read_exact(&mut heard).await.expect("it is open");
    assert_eq!(&heard, b"still here");
}

#[tokio::test]
async fn a_leaf_that_is_young_stays() {
    let authority = authority();
    let pin = authority.pin();
    let often = Duration::from_millis(1);
    let server = ServerTls::renewed(authority, DAY, often).expect("it can be signed");
    let shown = async || leaf(&handshake(&server, pin, "h").await.0.expect("it is accepted"));
    let first = shown().await;
    tokio::time::sleep(50 * often).await;
    assert_eq!(shown().await, first);
}

#[test]
fn an_authority_is_made_once_and_read_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let keys = KeyFolder::beside(&folder.path().join("ledger.db"));
    let made = Authority::read_or_make(&keys).expect("it can be made");
    let again = Authority::read_or_make(&keys).expect("it is there");
    assert_eq!(again.pin(), made.pin());

    // The leaf of the one that was read is good for the pin of the one that was made.
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it can be made");
    let (client, _) = runtime.block_on(async {
        handshake(&issued_at(&again, wall_clock()), made.pin(), "127.0.0.1").await
    });
    client.expect("it is accepted");
}

#[test]
fn a_damaged_authority_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let keys = ["a", "b"].map(|name| KeyFolder::beside(&folder.path().join(name)));
    let files = keys.each_ref().map(|keys| {
        Authority::read_or_make(keys).expect("it can be made");
        keys.path("authority.pem")
    });
    let [one, other] =
        files.each_ref().map(|file| std::fs::read_to_string(file).expect("it is text"));
    let certificate = |pem: &str| pem.find("-----BEGIN CERTIFICATE").expect("it has one");
    let key_of_another = format!("{}{}", &one[..certificate(&one)], &other[certificate(&other)..]);

    for damaged in ["", &one[..certificate(&one)], &one[certificate(&one)..], &key_of_another] {
        std::fs::write(&files[0], damaged).expect("it can be written");
        let refused = Authority::read_or_make(&keys[0]).err().expect("it is refused").to_string();
        assert!(refused.contains("holds no authority"), "{refused}");
    }
}

fn authority() -> Authority {
    let folder = tempfile::tempdir().expect("a temporary folder");
    Authority::read_or_make(&KeyFolder::beside(&folder.path().join("l"))).expect("it can be made")
}

/// Shows the leaf that `authority` issues at this time.
fn issued_at(authority: &Authority, now: SystemTime) -> ServerTls {
    serving(authority.leaf(now).expect("it can be signed"))
}

fn serving(certified: CertifiedKey) -> ServerTls {
    ServerTls::show(Shown::new(certified)).expect("the versions are known")
}

type Client = client::TlsStream<DuplexStream>;
type Server = server::TlsStream<DuplexStream>;

/// The ends of a connection, as far as either agrees to it.
async fn handshake(
    server: &ServerTls,
    pin: Pin,
    dialled: &str,
) -> (io::Result<Client>, io::Result<Server>) {
    let trust = Trust::Pin(pin);
    let connector = TlsConnector::from(Arc::new(trust.client().expect("no file is read")));
    let name = trust.name(dialled).expect("any name will do");
    let (near, far) = tokio::io::duplex(64 << 10);
    tokio::join!(connector.connect(name, near), server.acceptor().accept(far))
}

/// Why whoever shows this proves nothing.
async fn why_refused(server: &ServerTls, pin: Pin) -> String {
    match refusal_of(server, pin).await {
        Refusal::Unproven(reason) => reason,
        untimely => panic!("it is valid now: {untimely}"),
    }
}

async fn refusal_of(server: &ServerTls, pin: Pin) -> Refusal {
    let (client, _) = handshake(server, pin, "127.0.0.1").await;
    let error = client.expect_err("it is refused");
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<Error>());
    cause.and_then(refusal).unwrap_or_else(|| panic!("it is no refusal: {error}"))
}

fn leaf(client: &Client) -> CertificateDer<'static> {
    let (_, session) = client.get_ref();
    session.peer_certificates().expect("it was shown some")[0].clone()
}
