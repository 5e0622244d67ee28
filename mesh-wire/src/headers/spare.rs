//! Where do the headers of a reply lie? In the memory of those of a request that is done with, where there is some.

use std::cell::RefCell;

use http::HeaderMap;

/// Headers that one keeps room for. What a request with more of them needed is given back to the system.
const MOST: usize = 24;

thread_local! {
    static SPARE: RefCell<HeaderMap> = RefCell::default();
}

/// Gives the headers of a request that is answered for a later reply of this thread to lie in. A server that does so asks
/// for memory twice less with every request.
pub fn give(mut headers: HeaderMap) {
    if headers.capacity() <= MOST {
        headers.clear();
        SPARE.replace(headers);
    }
}

/// No headers, and room for some.
pub(crate) fn take() -> HeaderMap {
    SPARE.take()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http::header::COOKIE;

    use super::*;

    #[test]
    fn only_the_room_stays() {
        let mut headers = HeaderMap::with_capacity(8);
        headers.append(COOKIE, HeaderValue::from_static("secret"));
        headers.append(COOKIE, HeaderValue::from_static("another"));
        let room = headers.capacity();
        give(headers);
        let spare = take();
        assert!(spare.is_empty() && !spare.contains_key(COOKIE));
        assert_eq!((spare.capacity(), take().capacity()), (room, 0));
        give(HeaderMap::with_capacity(100));
        assert_eq!(take().capacity(), 0, "too much to keep");
    }
}
