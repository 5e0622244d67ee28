//! The account of the sample.

pub(crate) const LOGIN: &str = "bench@example.com";
pub(crate) const PASSWORD: &str = "a password that only the bench uses";

/// Settings that enable sessions with the accounts table.
pub(crate) const SETTINGS: [(&str, &str); 7] = [
    ("MESH_INTEGRITY__ENABLED", "true"),
    ("MESH_INTEGRITY__SECRET", "a secret of the bench that is long enough"),
    ("MESH_INTEGRITY__TTL", "1h"),
    ("MESH_INTEGRITY__USERS__TABLE", "accounts"),
    ("MESH_INTEGRITY__USERS__LOGIN", "email"),
    ("MESH_INTEGRITY__USERS__PASSWORD", "password_hash"),
    ("MESH_INTEGRITY__USERS__ROLE", "role"),
];
