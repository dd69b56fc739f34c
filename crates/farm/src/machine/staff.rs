//! How many workers may count a job, for lists of many jobs.

use std::collections::{BTreeMap, BTreeSet};

use crate::session::Session;
use crate::{Principal, SessionId};

/// What is known of the connected workers while one list is made. Jobs that need equally much memory ask for
/// the same number, so that the sessions are looked through only once for each amount.
#[derive(Debug, Default)]
pub(super) struct Staff {
    /// Sessions that have memory for a thread of a job that needs so many bytes.
    fit: BTreeMap<u64, usize>,
    /// The machines that have memory for a thread of a job that needs so many bytes.
    principals: BTreeMap<u64, BTreeSet<Principal>>,
}

impl Staff {
    /// Those who may give second counts of a job that needs so many bytes for a thread.
    pub(super) fn principals(
        &mut self,
        sessions: &BTreeMap<SessionId, Session>,
        thread_memory: u64,
    ) -> &BTreeSet<Principal> {
        let stays = |session: &&Session| session.may_count(thread_memory) && !session.draining;
        let found =
            || sessions.values().filter(stays).map(|session| session.principal().clone()).collect();
        self.principals.entry(thread_memory).or_insert_with(found)
    }

    /// The number of sessions that may count a job that needs so many bytes for a thread.
    pub(super) fn able(
        &mut self,
        sessions: &BTreeMap<SessionId, Session>,
        thread_memory: u64,
    ) -> usize {
        let fits = |session: &&Session| session.may_count(thread_memory);
        let count = || sessions.values().filter(fits).count();
        *self.fit.entry(thread_memory).or_insert_with(count)
    }
}
