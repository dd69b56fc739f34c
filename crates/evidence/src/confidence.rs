//! What a recounted sample says about the ranges that were not recounted.

/// Says in plain words what follows when `recounted` of `ranges` ranges, drawn at random, were all right.
///
/// If a share p of the ranges is wrong, k draws miss all of them with a probability of at most
/// (1 - p)^k. So p above 1 - 0.05^(1/k) is ruled out with 95% confidence.
pub fn confidence(ranges: u64, recounted: u64) -> String {
    match recounted {
        0 => {
            "nothing was counted again here: the total is as reliable as the workers of the bundle"
                .into()
        }
        all if all == ranges => {
            "every range was counted again here, with the same result: the total \
                                 is as certain as this machine and its counting loops"
                .into()
        }
        some => {
            let wrong = 1.0 - 0.05_f64.powf(1.0 / some as f64);
            let at_most = ((wrong * ranges as f64).floor() as u64).min(ranges - some);
            format!(
                "{some} of {ranges} ranges, drawn at random, were counted again here with the same result: \
                 with 95% confidence fewer than {:.2}% of the ranges ({}) are wrong. A single wrong \
                 range would have been missed with a probability of {:.1}%; only a recount of every range rules it out",
                100.0 * wrong,
                at_most + 1,
                100.0 * (1.0 - some as f64 / ranges as f64)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_says_what_statistics_say() {
        // The rule of three: k draws without an error rule out a share of about 3/k.
        let text = confidence(10_000, 300);
        assert!(text.contains("fewer than 0.99% of the ranges (100)"), "{text}");
        assert!(text.contains("a probability of 97.0%"), "{text}");
        assert!(confidence(10, 10).starts_with("every range"));
        assert!(confidence(10, 0).starts_with("nothing"));
    }
}
