//! How histories ended.

histories::tally! {
    finished: "histories that ended with exact totals",
    jobs_done: "jobs done, with the exact total",
}
