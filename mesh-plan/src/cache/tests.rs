//! Tests of the bounded cache.

use super::*;

#[test]
fn weight_stays_within_the_capacity() {
    let cache = Cache::new(100);
    for key in 0..1_000 {
        cache.insert(key, key, 1 + key % 7);
        assert!(cache.weight() <= 100, "{}", cache.weight());
    }
    assert!(cache.len() > 10, "{}", cache.len());
}

/// Any number of entries up to the bound is kept, and one more is not.
#[test]
fn a_bound_is_reached_and_not_exceeded() {
    for bound in 1..=9 {
        for cache in [Cache::new(bound), Cache::bounded(bound, usize::MAX)] {
            for key in 0..bound {
                cache.insert(key, (), 1);
            }
            assert_eq!(cache.len(), bound);
            for key in bound..100 {
                cache.insert(key, (), 1);
                assert!(cache.len() <= bound, "{} of {bound}", cache.len());
                assert_eq!(cache.get(&key), Some(()));
            }
        }
        let cache = Cache::new(bound);
        for key in 0..100 {
            cache.insert(key, (), key % (bound + 1));
            assert!(cache.weight() <= bound, "{} of {bound}", cache.weight());
        }
    }
}

/// As many entries as the bound allows are kept, in any order of use.
#[test]
fn nothing_is_dropped_before_the_bound_is_reached() {
    for bound in 1..=9 {
        for step in 1..=bound {
            let cache = Cache::new(bound);
            for key in 0..bound {
                cache.insert(key, (), 1);
                for other in (0..=key).rev().chain((0..=key).step_by(step)) {
                    assert_eq!(cache.get(&other), Some(()), "{other} of {bound}");
                }
            }
        }
    }
}

#[test]
fn entries_in_use_stay() {
    for bound in [3, 4, 7, 10, 100] {
        let cache = Cache::bounded(bound, 1_000);
        let used = || (0..bound - 1).map(|key| format!("used {key}"));
        used().for_each(|key| cache.insert(key, (), 1));
        for key in 0..1_000 {
            for key in used() {
                assert_eq!(cache.get(key.as_str()), Some(()), "{key} of {bound}");
            }
            cache.insert(key.to_string(), (), 1);
            assert!(cache.len() <= bound);
        }
    }
}

#[test]
fn both_bounds_hold() {
    let cache = Cache::bounded(4, 100);
    for key in 0..8 {
        cache.insert(key, key, 1);
    }
    assert!(cache.len() <= 4 && cache.get(&7) == Some(7));
    cache.insert(8, 8, 50);
    cache.insert(9, 9, 50);
    cache.insert(10, 10, 50);
    assert!(cache.weight() <= 100 && cache.get(&10) == Some(10));
    let none = Cache::bounded(0, 100);
    none.insert(1, 1, 1);
    assert!(none.is_empty() && !none.accepts(1));
}

#[test]
fn the_entry_that_was_not_used_for_the_longest_time_is_dropped() {
    let cache = Cache::new(4);
    for key in 0..4 {
        cache.insert(key, key, 1);
    }
    assert_eq!(cache.get(&0), Some(0));
    cache.insert(4, 4, 1);
    assert_eq!([0, 1, 2, 3, 4].map(|key| cache.get(&key)), [Some(0), None, Some(2), Some(3), Some(4)]);
}

#[test]
fn a_local_cache_returns_what_an_entry_displaces() {
    const NONE: [i32; 0] = [];
    let mut cache = LocalCache::new(4);
    assert_eq!(cache.insert("a", 1, 2), NONE);
    assert_eq!(cache.insert("b", 2, 2), NONE);
    assert_eq!(cache.insert("b", 3, 1), NONE, "a replaced value");
    assert_eq!(cache.insert("c", 4, 2), [1]);
    assert_eq!(cache.insert("d", 5, 3), NONE, "too heavy");
    assert_eq!((cache.len(), cache.weight()), (2, 3));
}

#[test]
fn an_entry_is_replaced() {
    let mut cache = LocalCache::new(4);
    cache.insert("a", 1, 2);
    cache.insert("a", 2, 1);
    assert_eq!((cache.get_mut("a").copied(), cache.weight()), (Some(2), 1));
    cache.insert("b", 3, 2);
    cache.insert("a", 4, 2);
    assert_eq!((cache.get_mut("a").copied(), cache.len(), cache.weight()), (Some(4), 2, 4));
}

#[test]
fn an_entry_that_is_too_heavy_is_not_kept() {
    let cache = Cache::new(10);
    cache.insert("a", 1, 5);
    cache.insert("b", 2, 6);
    assert_eq!((cache.get("a"), cache.get("b")), (Some(1), None));
    cache.insert("a", 3, 6);
    assert_eq!((cache.get("a"), cache.weight()), (None, 0));
}

#[test]
fn a_cache_without_capacity_keeps_nothing() {
    let cache = Cache::new(0);
    cache.insert("a", 1, 1);
    assert_eq!((cache.get("a"), cache.len()), (None, 0));
}

#[test]
fn threads_share_a_cache() {
    let cache = Cache::new(1_024);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let cache = &cache;
            scope.spawn(move || {
                for key in 0..4_000_usize {
                    cache.insert((thread, key), key, 1);
                    let found = cache.get(&(thread, key / 2));
                    assert!(found.is_none_or(|found| found == key / 2));
                }
            });
        }
    });
    assert!(cache.weight() <= 1_024);
}

#[test]
fn only_entries_that_take_at_most_half_are_accepted() {
    let cache = Cache::new(10);
    for weight in 4..8 {
        cache.insert(weight, (), weight);
        assert_eq!(cache.get(&weight).is_some(), cache.accepts(weight), "{weight}");
    }
    assert!(cache.accepts(5) && !cache.accepts(6));
    assert!(!Cache::<u8, u8>::new(0).accepts(1));
}
