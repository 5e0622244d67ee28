//! Methods and paths: every input yields a route with the decoded segments or an error; also configured base paths.

use std::fmt::Write as _;

use http::Method;
use mesh_wire::{BasePath, Profiles, Route};

/// Routes a request. The input is a byte of profiles, then method, base path and path separated by spaces.
pub fn router(data: &[u8]) {
    let Some((bits, rest)) = data.split_first() else { return };
    let Ok(rest) = std::str::from_utf8(rest) else { return };
    let mut parts = rest.splitn(3, ' ');
    let (method, base, path) = (parts.next(), parts.next(), parts.next().unwrap_or_default());
    let Ok(method) = Method::from_bytes(method.unwrap_or_default().as_bytes()) else { return };
    let on = |bit: u8| bits >> bit & 1 == 1;
    let profiles = Profiles {
        integrity: on(0),
        persisted: on(1),
        uploads: on(2),
        events: on(3),
        mutations: on(4),
        ..Profiles::default()
    };
    let base = match BasePath::parse(base.unwrap_or_default()) {
        Ok(base) => base,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert_eq!(BasePath::parse(base.as_str()).as_ref(), Ok(&base));
    match Route::parse(&base, &profiles, &method, path) {
        Ok(route) => check(&base, &profiles, &method, path, &route),
        Err(error) => {
            assert!(matches!(error.status.as_u16(), 400 | 404 | 405), "{error:?}");
            let allow = error.allow.map(|allow| allow.allows(&method));
            assert_eq!(error.status == 405, allow.is_some());
            assert_ne!(allow, Some(true), "{method} {path} is refused and allowed");
        }
    }
}

fn check(base: &BasePath, profiles: &Profiles, method: &Method, path: &str, route: &Route<'_>) {
    let allow = Route::methods(base, profiles, path).expect("a path that is known");
    assert!(allow.allows(method));
    if let Route::File { key } = route {
        assert!(key.starts_with("sha256/") && profiles.uploads, "{key}");
        // A key consists of hex digits only.
        assert!(mesh_uploads::StorageKey::parse(key).is_none_or(|it| it.to_string() == *key));
    }
    if let Route::Collection { entity } | Route::Point { entity, .. } = route {
        assert!(
            !["queries", "auth", "logout", "write", "files", "batch"].contains(&entity.as_ref()),
            "{path}"
        );
    }
    // The canonical encoding of the segments has the same route. Those of ids are not decoded.
    assert!(base.contains(path), "{path}");
    let mut plain = base.as_str().to_owned();
    let base_segments = base.as_str().split('/').count();
    let segments = path.strip_suffix('/').unwrap_or(path).split('/').skip(base_segments);
    for (index, segment) in segments.enumerate() {
        plain.push('/');
        if matches!(index, 1 | 3) {
            plain.push_str(segment);
            continue;
        }
        let mut bytes = segment.bytes();
        while let Some(byte) = bytes.next() {
            match byte {
                b'%' => plain.extend(['%'].into_iter().chain(bytes.by_ref().take(2).map(char::from))),
                byte => {
                    let _ = write!(plain, "%{byte:02x}");
                }
            }
        }
    }
    let plain = if plain.is_empty() { "/".to_owned() } else { plain };
    let again = Route::parse(base, profiles, method, &plain);
    assert_eq!(again.as_ref(), Ok(route), "{path} is {plain}");
}
