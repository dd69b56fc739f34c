//! How often each thing happened.

histories::tally! {
    worker_partitions: "links between a worker and a coordinator that lost everything",
    client_partitions: "links between the client and a coordinator that lost everything",
    standby_partitions: "links between two places that lost everything",
    one_way_partitions: "links that lost everything in one direction",
    holds: "links on which nothing arrived for a while",
    latencies: "links on which everything took seconds",
    worker_crashes: "workers that died",
    coordinator_crashes: "coordinators that died",
    standby_crashes: "stand-bys that died",
    promotions: "stand-bys that took over",
    fencings: "coordinators that gave way to a later one",
    tied: "seeds with two coordinators at a time that had taken over from the same opening",
    twice_served: "seeds with two coordinators at a time",
    with_two_standbys: "seeds with two stand-bys",
    followed_decisions: "decisions that all places had when they were answered",
    lone_decisions: "decisions that a place lacked when they were answered",
}
