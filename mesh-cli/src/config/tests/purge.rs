//! Settings of purges.

use super::*;

#[test]
fn settings_of_shared_caches_have_to_fit_together() {
    const URL: &str = "[caching.purge]\nurls = [\"http://127.0.0.1:8081/purge\"]\n";
    const SHARED: &str = "[caching]\ncontrol = \"public, s-maxage=60\"\n";
    let open = URL.replace("127.0.0.1", "cache.example");
    for (text, fault) in [
        (format!("{SHARED}{URL}header = \"Key: secret\"\n"), ""),
        (format!("{SHARED}tags = \"cache-tag\"\n{open}"), ""),
        (format!("caching.entities.post = \"s-maxage=60\"\n{URL}"), ""),
        (URL.to_owned(), "'caching.purge.urls' requires 'caching.control' or 'caching.entities'"),
        (
            "[caching]\ntags = \"surrogate-key\"\n".to_owned(),
            "'caching.tags' requires 'caching.control' or 'caching.entities'",
        ),
        (
            format!("{SHARED}{open}header = \"Key: secret\"\n"),
            "'caching.purge.urls' must be 'https://…', or 'http://…' with a loopback address",
        ),
        (
            format!("{SHARED}{URL}header = \"secret\"\n"),
            "'caching.purge.header' must be the name of a header",
        ),
        (
            format!("{SHARED}[caching.purge]\nurls = [\"ftp://cache\"]\n"),
            "'caching.purge.urls' is invalid: 'ftp://cache' is not a URL",
        ),
        (
            format!(
                "[caching]\ncontrol = \"max-age=60\"\n{URL}[integrity]\nenabled = true\nusers.table = \"accounts\"\n"
            ),
            "'caching.purge.urls' is for shared caches, which do not store answers to identified callers",
        ),
    ] {
        let faults = load(&[], &[], &text).config.map_or_else(|faults| lines(&faults), |_| String::new());
        let expected = usize::from(!fault.is_empty());
        assert!(faults.contains(fault) && faults.lines().count() == expected, "{text}: {faults}");
        assert!(!faults.contains("secret"), "{faults}");
    }
}
