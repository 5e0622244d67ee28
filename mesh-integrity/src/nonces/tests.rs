//! Tests of the nonce store: lifetimes and concurrency.

use std::sync::atomic::AtomicUsize;

use super::*;

fn id(number: u8) -> SessionId {
    SessionId([number; 16])
}

#[test]
fn a_nonce_is_new_once() {
    let store = MemoryNonces::default();
    assert!(store.insert(id(1), "a", 100, 0));
    assert!(!store.insert(id(1), "a", 100, 0));
    assert!(store.insert(id(2), "a", 100, 0), "nonces of sessions are independent");
    assert!(store.insert(id(1), "b", 100, 0));
    assert!(!store.insert(id(1), "a", 100, 99));
    assert!(store.insert(id(1), "a", 200, 100), "the nonce has expired");
    assert!(!store.insert(id(1), "a", 300, 199));
}

/// Nonces with any order of lifetimes are kept until they expire and dropped soon afterwards.
#[test]
fn nonces_are_kept_until_they_expire() {
    let store = MemoryNonces::default();
    let mut lifetimes = Vec::new();
    for step in 0..3_000u64 {
        let (now, lifetime) = (step * 7, (step * 7919) % 120 + 1);
        let nonce = format!("n{step}");
        assert!(store.insert(id(1), &nonce, now + lifetime, now));
        lifetimes.push((nonce, now + lifetime));
        for (nonce, until) in lifetimes.iter().rev().take(40).filter(|(_, until)| *until > now) {
            assert!(!store.insert(id(1), nonce, until + 1, now), "{nonce} at {now}");
        }
        let kept = store.sessions.get(&id(1)).unwrap().expiries.len();
        assert!(kept < 256, "{kept} recorded");
    }
}

#[test]
fn expired_nonces_of_all_sessions_are_removed() {
    let store = MemoryNonces::default();
    for number in 0..32 {
        assert!(store.insert(id(number), "a", 100, 0));
    }
    assert!(store.insert(id(40), "a", 200_000, 100_000));
    assert_eq!(store.sessions.len(), 1);
}

/// Removing expired nonces of all sessions is slow, so it is done once per interval, and if the clock was set back.
#[test]
fn expired_nonces_of_all_sessions_are_removed_once_per_interval() {
    const NOW: u64 = 1_000_000;
    let store = MemoryNonces::default();
    let has = |number| store.sessions.contains_key(&id(number));
    assert!(store.insert(id(1), "a", NOW + 1, NOW));
    assert!(store.insert(id(2), "a", NOW, NOW));
    for (now, number) in [(NOW, 3), (NOW + 1, 4), (NOW + 59_999, 5)] {
        assert!(store.insert(id(number), "a", now + 1, now));
        assert!(has(1) && has(2), "removed at {now}");
    }
    assert!(store.insert(id(6), "a", NOW + 90_000, NOW + 60_000));
    assert_eq!(store.sessions.len(), 1, "those that expire at this time are removed too");
    // The clock is set back, by more than an interval.
    assert!(store.insert(id(7), "a", 1_000, 500));
    assert!(store.insert(id(8), "a", 90_000, 60_500));
    assert!(!has(7) && has(6) && has(8));
}

#[test]
fn the_nonces_of_a_session_are_swept_when_they_have_doubled() {
    let mut nonces = SessionNonces::default();
    nonces.sweep(0);
    assert_eq!(nonces.sweep_at, 64);
    nonces.expiries = (0..150).map(|number| (number.to_string().into(), number)).collect();
    nonces.sweep(49);
    assert_eq!((nonces.expiries.len(), nonces.sweep_at), (100, 200));
}

#[test]
fn a_nonce_is_new_for_one_of_many_threads() {
    let store = MemoryNonces::default();
    let new = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for number in 0..500 {
                    if store.insert(id(1), &number.to_string(), 100, 0) {
                        new.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(new.into_inner(), 500);
}
