//! The verdict on a figure: whether it agrees with its source.

use vectors::Figure;

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The values are equal, or within the factor of a measured figure.
    Agrees,
    /// An exact value differs as expected, and the figure has the reason.
    Explained,
    /// The values differ.
    Differs,
}

impl Verdict {
    /// Compares the value here with that of the source.
    #[must_use]
    pub fn of(figure: &Figure, ours: &str) -> Verdict {
        let both = ours.parse::<f64>().ok().zip(figure.says.parse::<f64>().ok());
        let agrees = match figure.within {
            None if figure.at_most => both.is_some_and(|(ours, says)| ours <= says),
            None => ours == figure.says,
            Some(factor) => {
                both.is_some_and(|(ours, says)| (says / factor..=says * factor).contains(&ours))
            }
        };
        match agrees {
            true => Verdict::Agrees,
            false if figure.ours.as_deref() == Some(ours) => Verdict::Explained,
            false => Verdict::Differs,
        }
    }

    /// The verdict in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Explained => "differs for a known reason",
            Verdict::Differs => "differs",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(says: &str, within: Option<f64>, ours: Option<&str>) -> Figure {
        Figure {
            name: "a/b".into(),
            source: "a book".into(),
            claim: "a number".into(),
            says: says.into(),
            run: "count 8".into(),
            take: "text".into(),
            over: None,
            within,
            at_most: false,
            ours: ours.map(String::from),
            why: None,
            slow: false,
        }
    }

    #[test]
    fn an_exact_figure_agrees_only_with_itself() {
        let exact = figure("87", None, Some("74"));
        assert_eq!(Verdict::of(&exact, "87"), Verdict::Agrees);
        assert_eq!(Verdict::of(&exact, "74"), Verdict::Explained);
        // The reason belongs to another value.
        assert_eq!(Verdict::of(&exact, "75"), Verdict::Differs);
        assert_eq!(Verdict::of(&figure("87", None, None), "87.0"), Verdict::Differs);
    }

    #[test]
    fn a_bound_holds_for_what_is_below_it() {
        let bound = Figure { at_most: true, ..figure("914", None, None) };
        let verdicts = ["1", "914", "915", "1e"].map(|ours| Verdict::of(&bound, ours));
        let [agrees, differs] = [Verdict::Agrees, Verdict::Differs];
        assert_eq!(verdicts, [agrees, agrees, differs, differs]);
    }

    #[test]
    fn a_measured_figure_agrees_within_its_factor() {
        let measured = figure("4", Some(1.5), None);
        let verdicts = ["2.6", "2.7", "6", "6.1"].map(|ours| Verdict::of(&measured, ours));
        let [agrees, differs] = [Verdict::Agrees, Verdict::Differs];
        assert_eq!(verdicts, [differs, agrees, agrees, differs]);
        assert_eq!(Verdict::of(&measured, "NaN"), differs);
    }
}
