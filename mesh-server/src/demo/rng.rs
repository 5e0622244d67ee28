//! How is the sample data varied? By numbers that look random and are the same each time.

/// A generator in the manner of SplitMix64: one word of state, a step and a stir.
pub(crate) struct Dice(u64);

impl Dice {
    /// Equal seeds give equal throws.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `bound`; 0 where the bound is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)).checked_rem(bound).unwrap_or(0)
    }

    /// A position in something of that length.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    /// Whether an event of that chance in a hundred happens.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// That many different items in any order; all of them where there are fewer.
    pub(crate) fn some<T: Copy>(&mut self, count: usize, items: &[T]) -> Vec<T> {
        let mut left = items.to_vec();
        let mut taken = Vec::with_capacity(count);
        while taken.len() < count && !left.is_empty() {
            let at = self.index(left.len());
            taken.push(left.swap_remove(at));
        }
        taken
    }
}
