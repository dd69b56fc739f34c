//! Budgets: how much work a search may do.

/// The work that may still be done, in steps of about a nanosecond.
pub(super) struct Budget<'a> {
    left: u64,
    until_asked: u64,
    stop: &'a mut dyn FnMut() -> bool,
    /// Whether `stop` has ended the search.
    pub(super) stopped: bool,
}

/// The work between two calls of `stop`.
const UNASKED: u64 = 1_000_000;

impl<'a> Budget<'a> {
    pub(super) fn new(work: u64, stop: &'a mut dyn FnMut() -> bool) -> Budget<'a> {
        Budget { left: work, until_asked: 0, stop, stopped: false }
    }

    /// Subtracts work that is about to be done, and returns whether it may be done.
    pub(super) fn spend(&mut self, work: u64) -> bool {
        self.until_asked = self.until_asked.saturating_sub(work);
        if self.until_asked == 0 {
            self.stopped = self.stopped || (self.stop)();
            self.until_asked = UNASKED;
        }
        self.left = self.left.saturating_sub(work);
        self.left > 0 && !self.stopped
    }
}
