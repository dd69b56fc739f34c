//! Admits requests that carry the farm's bearer token. The token is compared before any handler runs.

use tonic::metadata::MetadataMap;
use tonic::service::Interceptor;
use tonic::{Request, Status};

use super::listen::Admission;
use crate::Token;

/// Admits requests that carry the token, or all requests if there is no token.
#[derive(Clone, Debug)]
pub(super) struct TokenGate {
    /// BLAKE3 hash of the token. Comparing hashes takes the same time wherever they differ, so that the time
    /// says nothing about the token.
    expected: Option<blake3::Hash>,
}

impl TokenGate {
    pub(super) fn new(token: Option<&Token>) -> TokenGate {
        TokenGate { expected: token.map(|token| blake3::hash(token.bearer().as_bytes())) }
    }

    fn admits(&self, metadata: &MetadataMap) -> bool {
        let Some(expected) = self.expected else { return true };
        let given = metadata.get("authorization");
        given.is_some_and(|given| blake3::hash(given.as_bytes()) == expected)
    }
}

impl Interceptor for TokenGate {
    fn call(&mut self, request: Request<()>) -> Result<Request<()>, Status> {
        if !self.admits(request.metadata()) {
            return Err(Status::unauthenticated("the token is wrong or missing"));
        }
        if let Some(admission) = request.extensions().get::<Admission>() {
            admission.grant();
        }
        Ok(request)
    }
}
