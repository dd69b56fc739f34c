//! The join string: all that a worker or client needs to connect to a coordinator.

use std::fmt;
use std::net::Ipv6Addr;
use std::path::Path;
use std::str::FromStr;

use super::{Token, bare, files};
use crate::{Pin, ServiceError};

/// `queens://SECRET@HOST:PORT#PIN`: the address of a coordinator, the hash of its certificate, and
/// the secret that it wants. The text contains the secret. The debug output does not.
#[derive(Clone)]
pub struct JoinString {
    /// The secret.
    pub token: Token,
    /// Where the coordinator is.
    pub address: HostPort,
    /// Which certificate the coordinator shows.
    pub pin: Pin,
}

/// A host, which is a name or an IP address, and a port, which is not 0. An IPv6 address is in
/// brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort(String);

/// Why a text is no join string. The error does not repeat the secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JoinStringError(String);

/// A text is no host and port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no HOST:PORT, such as head-node:7410 or [2001:db8::1]:7410")]
pub struct HostPortError(pub String);

impl JoinString {
    pub(crate) const SCHEME: &str = "queens://";

    /// Reads the join string from the file `path`. `None` if there is no such file. It fails with
    /// [`ServiceError::Secret`] if other users can read the file, or if it holds no join string.
    pub fn read(path: &Path) -> Result<Option<JoinString>, ServiceError> {
        let Some(text) = files::read(path)? else { return Ok(None) };
        let join = String::from_utf8_lossy(&text).parse().map_err(|error: JoinStringError| {
            ServiceError::secret_file(path, format!("it holds no join string: {error}"))
        })?;
        Ok(Some(join))
    }

    /// Writes the join string to the file `path`, which only its owner can read if it is new. A
    /// reader finds either the old text or the new one.
    pub fn write(&self, path: &Path) -> Result<(), ServiceError> {
        files::replace(path, format!("{self}\n").as_bytes())
    }
}

impl FromStr for JoinString {
    type Err = JoinStringError;

    fn from_str(text: &str) -> Result<JoinString, JoinStringError> {
        let fault = |reason: &str| JoinStringError(format!("{reason}; copy all of it"));
        let parts = bare(text).strip_prefix(Self::SCHEME).and_then(|rest| {
            // A secret may contain any of the separators.
            let (rest, pin) = rest.rsplit_once('#')?;
            let (secret, address) = rest.rsplit_once('@')?;
            Some((secret, address, pin))
        });
        let (secret, address, pin) = parts.ok_or_else(|| {
            let form = "it does not have the form queens://SECRET@HOST:PORT#HASH; copy all of it, or use \
                        --coordinator URL if it serves without TLS";
            JoinStringError(form.into())
        })?;
        let token = Token::new(secret);
        let token = token.map_err(|error| fault(&format!("of its secret, {error}")))?;
        let address = address.parse::<HostPort>();
        let address = address.map_err(|error| JoinStringError(error.to_string()))?;
        let pin = pin.parse();
        let pin = pin.map_err(|_| fault("what follows # is no hash of 64 hexadecimal digits"))?;
        Ok(JoinString { token, address, pin })
    }
}

impl fmt::Display for JoinString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JoinString { token, address, pin } = self;
        write!(f, "{}{}@{address}#{pin}", Self::SCHEME, token.secret())
    }
}

impl fmt::Debug for JoinString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}…@{}#{}", Self::SCHEME, self.address, self.pin)
    }
}

impl FromStr for HostPort {
    type Err = HostPortError;

    fn from_str(text: &str) -> Result<HostPort, HostPortError> {
        let is_host = |host: &str| match host.strip_prefix('[').map(|host| host.strip_suffix(']')) {
            Some(address) => address.is_some_and(|it| it.parse::<Ipv6Addr>().is_ok()),
            None => {
                let fits = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
                !host.is_empty() && host.chars().all(fits)
            }
        };
        let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
        match text.rsplit_once(':') {
            Some((host, port)) if is_host(host) && is_port(port) => Ok(HostPort(text.into())),
            _ => Err(HostPortError(text.into())),
        }
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef";

    fn text(secret: &str, address: &str) -> String {
        format!("queens://{secret}@{address}#{}", "5e".repeat(32))
    }

    #[test]
    fn a_join_string_is_read_back_as_it_was_written_and_never_logged() {
        for address in ["head-node:7410", "10.0.0.1:1", "[2001:db8::1]:65535"] {
            for secret in [SECRET, "a#b@c:d/e?f[g]h&i", "queens://0123456@"] {
                let text = text(secret, address);
                let join: JoinString = format!(" {text}\n").parse().expect("it is one");
                assert_eq!(join.to_string(), text);
                assert_eq!(join.token.secret(), secret);
                assert!(!format!("{join:?}").contains(secret), "it is hidden from logs");
                assert_eq!(join.address, address.parse().expect("it is an address"));
            }
        }
    }

    #[test]
    fn nonsense_is_refused_without_repeating_the_secret() {
        let whole = text(SECRET, "h:1");
        let is_refused = |text: &str, wanted: &str| {
            let error = text.parse::<JoinString>().expect_err(text).to_string();
            assert!(error.contains(wanted), "{text}: {error}");
            assert!(!error.contains(SECRET), "{error}");
        };
        for text in ["", "queens://", &whole[1..], &whole[..25], "http://h:1", SECRET] {
            is_refused(text, "the form");
        }
        is_refused(&whole[..whole.len() - 1], "no hash");
        is_refused(&format!("{whole}0"), "no hash");
        is_refused(&text("", "h:1"), "of its secret, it is empty");
        is_refused(&text("short", "h:1"), "it has 5 characters, and a token has at least 16");
        is_refused(&text("with a space in it", "h:1"), "its character 5 is a blank");
        is_refused(&text("0123456789abcdef\u{e9}", "h:1"), "its character 17, \\u{e9},");
        for address in ["", "h", "h:", ":1", "h:0", "h:65536", "h/x:1", "::1:1", "[h]x:1", "[::1]"]
        {
            is_refused(&text(SECRET, address), &HostPortError(address.into()).to_string());
        }
    }
}
