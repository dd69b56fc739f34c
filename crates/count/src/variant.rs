//! Variants: the ways in which a kernel can count, so that one can check the count of another.

use std::fmt;

use board::Method;

use crate::Backend;

/// A way to count the tasks of a plan. All variants find the same counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Variant {
    /// Counts the tasks themselves by the method's own algorithm. Farms count with it first.
    Straight(Backend),
    /// Counts the mirror images of the tasks, with the columns reversed, or by `colours` the rows.
    /// The masks are different and come in another order, so an error of a processor or of a loop
    /// is unlikely to repeat itself.
    Mirrored(Backend),
}

impl Variant {
    /// The name for the counts of devices in evidence. It is not a variant, because no
    /// [`Kernel`](crate::Kernel) of this crate counts on a device.
    pub const DEVICE: &str = "gpu";

    /// The backend that it counts with.
    #[must_use]
    pub const fn backend(self) -> Backend {
        match self {
            Variant::Straight(backend) | Variant::Mirrored(backend) => backend,
        }
    }

    /// The variant with this name, which [`Display`](fmt::Display) writes, even if this processor
    /// lacks the backend. `None` if no variant has the name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Variant> {
        let (backend, variant): (_, fn(Backend) -> Variant) = match name.strip_suffix(MIRRORED) {
            Some(backend) => (backend, Variant::Mirrored),
            None => (name, Variant::Straight),
        };
        backend.parse().ok().map(variant)
    }

    /// The variant with which this processor should recount the count of the variant named `first`.
    /// It differs from `first` as much as possible while it is still fast, and it is never `first`
    /// itself.
    ///
    /// ```text
    ///   first                            recount
    ///   a backend                        mirrored, on the fastest other one (1)
    ///   a backend mirrored               straight, on the fastest other one (1)
    ///   a device, several, or unknown    mirrored, on the fastest one
    ///
    ///   (1) on the same, if there is no other
    /// ```
    ///
    /// With `by_reference`, counts by `colours` are checked by [`Backend::Reference`], unless this
    /// is `first`. It is slower than the other backends by a factor that grows with the board, so
    /// it is chosen only if it is asked for. For other methods `by_reference` has no effect,
    /// because all their backends visit each board as the reference does.
    #[must_use]
    pub fn to_check(first: &str, method: Method, by_reference: bool) -> Variant {
        let first = Variant::from_name(first);
        if by_reference && method == Method::Colours && first != Some(REFERENCE) {
            return REFERENCE;
        }
        let fast = || Backend::available().rev().filter(|backend| *backend != Backend::Reference);
        let other = |than| fast().find(|backend| *backend != than).unwrap_or(than);
        match first {
            Some(Variant::Straight(backend)) => Variant::Mirrored(other(backend)),
            Some(Variant::Mirrored(backend)) => Variant::Straight(other(backend)),
            None => Variant::Mirrored(Backend::detect()),
        }
    }
}

impl From<Backend> for Variant {
    fn from(backend: Backend) -> Variant {
        Variant::Straight(backend)
    }
}

/// The plain searches of `colours`.
const REFERENCE: Variant = Variant::Straight(Backend::Reference);

const MIRRORED: &str = " mirrored";

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Variant::Straight(backend) => f.pad(backend.name()),
            Variant::Mirrored(backend) => f.pad(&format!("{backend}{MIRRORED}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METHODS: [Method; 2] = [Method::Rows { rows: 2 }, Method::Colours];

    fn all() -> impl Iterator<Item = Variant> {
        let of = |backend| [Variant::Straight(backend), Variant::Mirrored(backend)];
        Backend::ALL.iter().copied().flat_map(of)
    }

    #[test]
    fn names_are_read_back() {
        for variant in all() {
            assert_eq!(Variant::from_name(&variant.to_string()), Some(variant));
        }
        assert_eq!(Variant::Mirrored(Backend::Avx512).to_string(), "avx512 mirrored");
        for name in ["", " mirrored", "gpu", "avx2 mirrored mirrored", "AVX2"] {
            assert_eq!(Variant::from_name(name), None, "{name}");
        }
    }

    #[test]
    fn a_check_is_never_what_it_checks_and_this_processor_has_it() {
        let unknown = ["", "gpu", "avx512 upside down"].map(String::from);
        for first in all().map(|variant| variant.to_string()).chain(unknown) {
            for method in METHODS {
                for by_reference in [false, true] {
                    let check = Variant::to_check(&first, method, by_reference);
                    assert_ne!(check.to_string(), first, "{method}");
                    let backend = check.backend();
                    let may_be_slow = by_reference && method == Method::Colours;
                    assert!(backend.is_available());
                    assert!(may_be_slow || backend != Backend::Reference, "{first}, {method}");
                }
            }
        }
    }

    #[test]
    fn a_check_is_as_different_as_can_be() {
        let fastest = Backend::detect();
        let other = Backend::available().rev().nth(1).expect("the reference at least");
        let check = |first: Variant, method| Variant::to_check(&first.to_string(), method, false);
        let [rows, colours] = METHODS;
        if other != Backend::Reference {
            let first = Variant::Straight(fastest);
            assert_eq!(check(first, rows), Variant::Mirrored(other));
            assert_eq!(check(first, colours), Variant::Mirrored(other));
            assert_eq!(check(Variant::Mirrored(fastest), rows), Variant::Straight(other));
            assert_eq!(check(other.into(), colours), Variant::Mirrored(fastest));
        }
        assert_eq!(Variant::to_check("", rows, false), Variant::Mirrored(fastest));
        let by_device = Variant::to_check(Variant::DEVICE, colours, false);
        assert_eq!(by_device, Variant::Mirrored(fastest));
        assert_eq!(Variant::to_check("avx2", rows, true), check(Backend::Avx2.into(), rows));
        for first in ["avx2", "avx2 mirrored", "reference mirrored", ""] {
            assert_eq!(Variant::to_check(first, colours, true), REFERENCE, "{first}");
        }
        assert_eq!(Variant::to_check("reference", colours, true), check(REFERENCE, colours));
    }
}
