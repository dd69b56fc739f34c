//! The named fields of a form, or of what stands behind the question mark of an address.

use std::collections::HashMap;
use std::convert::Infallible;
use std::str::FromStr;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};

/// Fields by their names. Of several with one name, the last one counts.
pub(super) struct Fields(HashMap<String, String>);

impl Fields {
    /// Reads `application/x-www-form-urlencoded`.
    pub(super) fn read(text: &[u8]) -> Fields {
        Fields(form_urlencoded::parse(text).into_owned().collect())
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
        Ok(Fields::read(&form))
    }
}
