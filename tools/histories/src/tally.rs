//! How often each thing happened. A simulation that has stopped hurting proves nothing.

use std::fmt::{self, Display};
use std::ops::AddAssign;

/// Makes a struct `Tally` of counts, each with a name and with words for people: `tally! { crashes: "crashes", }`.
#[macro_export]
macro_rules! tally {
    ($($kind:ident: $what:literal,)*) => {
        /// Counts of what happened, summed over seeds.
        #[derive(Clone, Copy, Debug, Default)]
        pub struct Tally {
            $(#[doc = $what] pub $kind: u64,)*
        }

        impl ::std::ops::AddAssign for Tally {
            fn add_assign(&mut self, other: Tally) {
                $(self.$kind += other.$kind;)*
            }
        }

        impl Tally {
            /// What never happened.
            #[must_use]
            pub fn missing(&self) -> Vec<&'static str> {
                [$((self.$kind, $what),)*]
                    .into_iter()
                    .filter_map(|(times, what)| (times == 0).then_some(what))
                    .collect()
            }
        }

        impl ::std::fmt::Display for Tally {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                $(writeln!(f, "{:>12}  {}", self.$kind, $what)?;)*
                Ok(())
            }
        }
    };
}

/// Tallies of two kinds of things in the same histories.
#[derive(Clone, Copy, Debug, Default)]
pub struct Both<A, B>(pub A, pub B);

impl<A: AddAssign, B: AddAssign> AddAssign for Both<A, B> {
    fn add_assign(&mut self, other: Both<A, B>) {
        self.0 += other.0;
        self.1 += other.1;
    }
}

impl<A: Display, B: Display> Display for Both<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.0, self.1)
    }
}
