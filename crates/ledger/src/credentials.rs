//! The credentials of a coordinator. A ledger keeps the hash of each secret, never the secret.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

use farm::json::text;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::store::Store;
use super::{LedgerFault, Result};

farm::named! {
    /// The rights of a credential.
    #[derive(Serialize, Deserialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Role {
        /// Everything.
        Admin = "admin",
        /// To submit and change jobs, and to see them.
        Submitter = "submitter",
        /// To see jobs.
        Viewer = "viewer",
        /// To count.
        Worker = "worker",
        /// To count, and to settle a dispute by one recount.
        #[serde(rename = "trusted worker")]
        TrustedWorker = "trusted worker",
    }
}

/// A credential without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Token)]
pub struct Credential {
    /// Its number in the ledger, from 1 on.
    #[serde(rename = "token", with = "text")]
    #[schema(value_type = String)]
    pub id: u64,
    /// The owner, who is responsible for what is done with it.
    pub owner: String,
    /// What it allows.
    pub role: Role,
    /// BLAKE3 of the secret.
    #[serde(skip)]
    pub hash: [u8; 32],
    /// When it was made, Unix milliseconds.
    pub created_at_ms: i64,
    /// When it expires, Unix milliseconds; `None` if never.
    pub expires_at_ms: Option<i64>,
    /// When it was revoked, Unix milliseconds.
    pub revoked_at_ms: Option<i64>,
}

/// Reads all credentials, the oldest first.
pub(super) fn read(db: &Connection) -> Result<Vec<Credential>> {
    let query = "SELECT id, owner, role, hash, created_at, expires_at, revoked_at FROM credentials ORDER BY id";
    let fault = |what: &str| LedgerFault::Content(format!("a credential has an unknown {what}"));
    let read = |columns: &rusqlite::Row<'_>| {
        let role = Role::named(&columns.get::<_, String>(2)?);
        Ok(Credential {
            id: columns.get(0)?,
            owner: columns.get(1)?,
            role: role.ok_or_else(|| fault("role"))?,
            hash: columns.get(3)?,
            created_at_ms: columns.get(4)?,
            expires_at_ms: columns.get(5)?,
            revoked_at_ms: columns.get(6)?,
        })
    };
    Store::of(db).all(query, [], read)
}

/// Adds a credential. If the ledger has it already, notes when it was first revoked.
pub(super) fn write(db: &Connection, credential: &Credential) -> Result<()> {
    let written = db.execute(
        "INSERT INTO credentials VALUES (?, ?, ?, ?, ?, ?, ?) \
         ON CONFLICT (id) DO UPDATE SET revoked_at = coalesce(revoked_at, excluded.revoked_at) \
         WHERE hash = excluded.hash",
        (
            credential.id,
            &credential.owner,
            credential.role.name(),
            credential.hash,
            credential.created_at_ms,
            credential.expires_at_ms,
            credential.revoked_at_ms,
        ),
    )?;
    if written == 0 {
        let text = format!("another credential has the number {}", credential.id);
        return Err(LedgerFault::Content(text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::empty;

    #[test]
    fn credentials_are_read_back_as_they_were_written() {
        let ledger = empty();
        let credential = |id, role| Credential {
            id,
            owner: format!("owner {id}"),
            role,
            hash: [id as u8; 32],
            created_at_ms: 5,
            expires_at_ms: (id == 2).then_some(9),
            revoked_at_ms: None,
        };
        let mut all: Vec<Credential> =
            (1..).zip(Role::ALL).map(|(id, role)| credential(id, role)).collect();
        for one in &all {
            write(&ledger.db, one).expect("it is new");
        }
        assert_eq!(read(&ledger.db).expect("they are sound"), all);

        for at_ms in [78, 77] {
            all[2].revoked_at_ms = Some(at_ms);
            write(&ledger.db, &all[2]).expect("it is there");
        }
        all[2].revoked_at_ms = Some(78);
        let taken = Credential { hash: [9; 32], ..all[0].clone() };
        write(&ledger.db, &taken).expect_err("its number is used");
        assert_eq!(ledger.credentials().expect("they are sound"), all);
    }
}
