//! Reproducible random numbers for the sample data.

/// A SplitMix64 generator. Equal seeds give equal sequences on every platform.
pub(super) struct SampleRng(u64);

impl SampleRng {
    /// Creates a generator from a seed.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number from 0 to below `bound`; 0 if the bound is 0.
    pub(super) fn below<T: TryInto<u64> + TryFrom<u64> + Default>(&mut self, bound: T) -> T {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let number = bound.try_into().ok().and_then(|bound| mixed.checked_rem(bound));
        number.and_then(|number| T::try_from(number).ok()).unwrap_or_default()
    }

    /// Returns `true` with this probability.
    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Returns up to `count` distinct items in random order.
    pub(super) fn choose<T: Copy>(&mut self, count: usize, items: &[T]) -> Vec<T> {
        let mut left = items.to_vec();
        let mut chosen = Vec::with_capacity(count);
        while chosen.len() < count && !left.is_empty() {
            let index = self.below(left.len());
            chosen.push(left.swap_remove(index));
        }
        chosen
    }

    /// Returns up to `count` distinct texts in random order.
    pub(super) fn choose_text<'t>(&mut self, count: usize, texts: &'t [String]) -> Vec<&'t str> {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        self.choose(count, &texts)
    }
}
