//! The set of methods that a path allows, and the value of the `Allow` header. `SPEC §2.1`

use std::fmt;

use http::Method;

/// The methods that a path allows. `OPTIONS` is always allowed.
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

    /// Returns whether only `OPTIONS` is allowed.
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn all() -> [(u8, Method); 6] {
        [
            (Self::GET, Method::GET),
            (Self::HEAD, Method::HEAD),
            (Self::POST, Method::POST),
            (Self::PUT, Method::PUT),
            (Self::PATCH, Method::PATCH),
            (Self::DELETE, Method::DELETE),
        ]
    }

    /// Creates a set from those of `methods` that paths can allow: GET, HEAD, POST, PUT, PATCH and DELETE.
    pub fn new(methods: &[Method]) -> Self {
        let bits = Self::all().into_iter().filter(|(_, method)| methods.contains(method));
        Self(bits.fold(0, |all, (bit, _)| all | bit))
    }

    /// Returns the methods of both sets.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Iterates over the methods, without `OPTIONS`.
    pub fn methods(self) -> impl Iterator<Item = Method> {
        Self::all().into_iter().filter(move |(bit, _)| self.0 & bit != 0).map(|(_, method)| method)
    }

    /// Returns whether the path allows a method.
    pub fn contains(self, method: &Method) -> bool {
        *method == Method::OPTIONS || Self::all().iter().any(|(bit, one)| self.0 & bit != 0 && one == method)
    }
}

/// The value of the `Allow` header.
impl fmt::Display for AllowedMethods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (bit, method) in Self::all() {
            if self.0 & bit != 0 {
                write!(f, "{method}, ")?;
            }
        }
        f.write_str("OPTIONS")
    }
}
