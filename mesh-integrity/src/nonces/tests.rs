//! Tests of the nonce store: lifetimes, capacity and concurrency.

use super::*;

fn id(number: u8) -> SessionId {
    SessionId([number; 16])
}

#[test]
fn a_nonce_is_new_once() {
    let store = MemoryNonces::default();
    assert!(store.insert(id(1), "a", 100, 0).unwrap());
    assert!(!store.insert(id(1), "a", 100, 0).unwrap());
    assert!(store.insert(id(2), "a", 100, 0).unwrap(), "each session has its own");
    assert!(store.insert(id(1), "b", 100, 0).unwrap());
    assert!(!store.insert(id(1), "a", 100, 99).unwrap());
    assert!(store.insert(id(1), "a", 200, 100).unwrap(), "its time is over");
    assert!(!store.insert(id(1), "a", 300, 199).unwrap());
}

/// Whatever the order of lifetimes: what is needed is known, and what is not goes in time.
#[test]
fn nothing_is_forgotten_too_early() {
    let store = MemoryNonces::default();
    let mut lifetimes = Vec::new();
    for step in 0..3_000u64 {
        let (now, keep) = (step * 7, (step * 7919) % 120 + 1);
        let nonce = format!("n{step}");
        assert!(store.insert(id(1), &nonce, now + keep, now).unwrap());
        lifetimes.push((nonce, now + keep));
        for (nonce, until) in lifetimes.iter().rev().take(40).filter(|(_, until)| *until > now) {
            assert!(!store.insert(id(1), nonce, until + 1, now).unwrap(), "{nonce} at {now}");
        }
        assert!(store.len() < 80, "{} remembered", store.len());
    }
}

#[test]
fn one_session_cannot_take_all_the_room() {
    let store = MemoryNonces::new(32);
    assert!(store.insert(id(1), "a", 100, 0).unwrap());
    assert!(store.insert(id(1), "b", 100, 0).unwrap());
    assert!(matches!(store.insert(id(1), "c", 100, 0), Err(StoreError::Full)));
    assert!(store.insert(id(2), "c", 100, 0).unwrap());
}

#[test]
fn the_room_is_bounded_and_comes_back() {
    let store = MemoryNonces::new(32);
    for number in 0..32 {
        assert!(store.insert(id(number), "a", 100, 0).unwrap());
    }
    assert!(matches!(store.insert(id(40), "a", 100, 50), Err(StoreError::Full)));
    assert!(store.insert(id(40), "a", 200, 100).unwrap());
    assert_eq!((store.len(), store.sessions.len()), (1, 1), "what is over was swept");
    assert!(!store.is_empty());
}

#[test]
fn many_at_once_are_told_apart() {
    let store = MemoryNonces::default();
    let new = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for number in 0..500 {
                    if store.insert(id(1), &number.to_string(), 100, 0).unwrap() {
                        new.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(new.into_inner(), 500);
}
