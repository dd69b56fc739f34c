//! Files of keys that a reader trusts: `queens verify --keys FILE`.
//!
//! ```text
//!   # one key a line: a name, which may have spaces, and the key
//!   node 12 of the lab  ed25519:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use farm::PublicKey;

use crate::failure::Failure;

/// Keys that a reader trusts, and what the reader calls them.
#[derive(Debug)]
pub(super) struct TrustedKeys {
    pub(super) file: PathBuf,
    names: BTreeMap<PublicKey, String>,
}

impl TrustedKeys {
    /// Reads the file at `path`.
    pub(super) fn read(path: &Path) -> Result<TrustedKeys, Failure> {
        let fault = |reason: String| {
            Failure::Usage(format!(
                "cannot read the keys in {} ({reason}); each line is a name and a key such as ed25519:d75a98…, or begins \
                 with #",
                path.display()
            ))
        };
        let text = std::fs::read_to_string(path).map_err(|error| fault(error.to_string()))?;
        let mut names = BTreeMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, key) = line
                .rsplit_once(char::is_whitespace)
                .ok_or_else(|| fault(format!("line {number} has no name or no key")))?;
            let key: PublicKey =
                key.parse().map_err(|error| fault(format!("line {number}: {error}")))?;
            if names.insert(key, name.trim().to_string()).is_some() {
                return Err(fault(format!("line {number} has a key that is there already")));
            }
        }
        Ok(TrustedKeys { file: path.to_path_buf(), names })
    }

    /// What the reader calls a key; `None` if it is not trusted.
    pub(super) fn name(&self, key: &PublicKey) -> Option<&str> {
        self.names.get(key).map(String::as_str)
    }
}
