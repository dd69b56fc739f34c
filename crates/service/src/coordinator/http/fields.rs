//! The named fields of a form, or of what stands behind the question mark of an address.

use std::collections::HashMap;
use std::convert::Infallible;
use std::str::FromStr;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use percent_encoding::percent_decode_str;

/// Fields by their names. Of several with one name, the last one counts.
pub(super) struct Fields(HashMap<String, String>);

impl Fields {
    /// Reads `application/x-www-form-urlencoded`.
    pub(super) fn read(text: &str) -> Fields {
        let plain = |text: &str| {
            percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
        };
        let fields = text.split('&').map(|field| field.split_once('=').unwrap_or((field, "")));
        Fields(fields.map(|(name, value)| (plain(name), plain(value))).collect())
    }

    /// The text of a field, if there is one with this name.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The number of a field, if there is one with this name that holds such a number.
    pub(super) fn number<T: FromStr>(&self, name: &str) -> Option<T> {
        self.text(name)?.parse().ok()
    }
}

/// A form that is too long has no fields.
impl<S: Send + Sync> FromRequest<S> for Fields {
    type Rejection = Infallible;

    async fn from_request(request: Request, state: &S) -> Result<Fields, Infallible> {
        let form = Bytes::from_request(request, state).await.unwrap_or_default();
        Ok(Fields::read(&String::from_utf8_lossy(&form)))
    }
}
