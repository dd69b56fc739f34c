//! A sum that detects an overflow.

/// A Mersenne prime. 2^64 has the residue 8, so a sum that wrapped around has a wrong residue.
const MODULUS: u64 = (1 << 61) - 1;

/// A sum of counts and, accumulated independently, the sum of their residues modulo 2^61 - 1.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sum {
    sum: u64,
    residue: u64,
}

impl Sum {
    pub(crate) fn add(&mut self, count: u64) {
        self.sum = self.sum.wrapping_add(count);
        self.residue = (self.residue + count % MODULUS) % MODULUS;
    }

    /// The sum, or `None` if the two disagree because the sum passes 2^64 - 1.
    pub(crate) fn get(self) -> Option<u64> {
        (self.sum % MODULUS == self.residue).then_some(self.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_at_the_limit_is_a_sum_and_beyond_it_none() {
        let mut sum = Sum::default();
        sum.add(u64::MAX - 1);
        sum.add(1);
        assert_eq!(sum.get(), Some(u64::MAX));
        sum.add(1);
        assert_eq!(sum.get(), None);
    }
}
