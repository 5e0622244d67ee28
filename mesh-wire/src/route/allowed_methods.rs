//! The set of methods that a path allows, and the value of the `Allow` header. `SPEC §2.1`

use std::fmt;

use bitflags::bitflags;
use http::Method;

bitflags! {
    /// The methods that a path allows. `OPTIONS` is always allowed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct AllowedMethods: u8 {
        /// `GET`.
        const GET = 1;
        /// `HEAD`.
        const HEAD = 1 << 1;
        /// `POST`.
        const POST = 1 << 2;
        /// `PUT`.
        const PUT = 1 << 3;
        /// `PATCH`.
        const PATCH = 1 << 4;
        /// `DELETE`.
        const DELETE = 1 << 5;
    }
}

impl AllowedMethods {
    /// Creates a set of `methods`, without those that no path can allow.
    pub fn new(methods: &[Method]) -> Self {
        methods.iter().filter_map(|method| Self::from_name(method.as_str())).collect()
    }

    /// Returns whether the path allows a method.
    pub fn allows(self, method: &Method) -> bool {
        *method == Method::OPTIONS || Self::from_name(method.as_str()).is_some_and(|one| self.contains(one))
    }
}

/// Writes the value of the `Allow` header.
impl fmt::Display for AllowedMethods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (method, _) in self.iter_names() {
            write!(f, "{method}, ")?;
        }
        f.write_str("OPTIONS")
    }
}
