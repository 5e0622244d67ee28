//! The set of methods that a path allows, and the value of the `Allow` header. `SPEC §2.1`

use std::fmt;

use http::Method;

/// The methods that a path takes. `OPTIONS` is always one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllowedMethods(u8);

impl AllowedMethods {
    pub(super) const GET: u8 = 1;
    pub(super) const HEAD: u8 = 1 << 1;
    pub(super) const POST: u8 = 1 << 2;
    pub(super) const PUT: u8 = 1 << 3;
    pub(super) const PATCH: u8 = 1 << 4;
    pub(super) const DELETE: u8 = 1 << 5;

    pub(super) fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Whether nothing but `OPTIONS` is taken.
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn listed() -> [(u8, Method); 6] {
        [
            (Self::GET, Method::GET),
            (Self::HEAD, Method::HEAD),
            (Self::POST, Method::POST),
            (Self::PUT, Method::PUT),
            (Self::PATCH, Method::PATCH),
            (Self::DELETE, Method::DELETE),
        ]
    }

    /// No methods but those of the list that a path may take. An application adds those of its own routes.
    pub fn new(methods: &[Method]) -> Self {
        let bits = Self::listed().into_iter().filter(|(_, method)| methods.contains(method));
        Self(bits.fold(0, |all, (bit, _)| all | bit))
    }

    /// The methods of either.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The methods, `OPTIONS` left out.
    pub fn methods(self) -> impl Iterator<Item = Method> {
        Self::listed().into_iter().filter(move |(bit, _)| self.0 & bit != 0).map(|(_, method)| method)
    }

    /// Whether the path takes that method.
    pub fn contains(self, method: &Method) -> bool {
        *method == Method::OPTIONS
            || Self::listed().iter().any(|(bit, one)| self.0 & bit != 0 && one == method)
    }
}

/// The value of the `Allow` header.
impl fmt::Display for AllowedMethods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (bit, method) in Self::listed() {
            if self.0 & bit != 0 {
                write!(f, "{method}, ")?;
            }
        }
        f.write_str("OPTIONS")
    }
}
