//! Sessions, signed requests and accounts: `[integrity]`, `[integrity.users]`. `SPEC §7`

use std::path::PathBuf;
use std::time::Duration;

use mesh_integrity::Binding;

use crate::config::define::settings;
use crate::config::parse::{self, HOUR, SECOND};
use crate::config::secret_text::SecretText;

settings! {
    /// Sessions and signed requests: the section `[integrity]`.
    Integrity["integrity."] {
        /// Whether requests must be signed.
        enabled: bool = false, parse::boolean;
        /// Secret that all keys are derived from, at least 32 random bytes.
        secret: Option<SecretText> = None, parse::secret;
        /// File with the secret; excludes `integrity.secret`.
        secret_file: Option<PathBuf> = None, parse::present;
        /// Earlier secrets, whose tokens remain valid.
        previous_secrets: Vec<SecretText> = Vec::new(), parse::secrets;
        /// Lifetime of a token.
        ttl: Duration = 900 * SECOND, parse::duration(SECOND, 24 * 366 * HOUR);
        /// Timestamps and nonces of requests: `off`, `accept` or `require`.
        binding: Binding = Binding::Accept, parse::choice;
        /// How far a timestamp may be from the server's clock.
        replay_window: Duration = 60 * SECOND, parse::duration(SECOND, HOUR);
    }
    sections {
        users: Users;
    }
}

impl parse::Choice for Binding {
    const CHOICES: &[(&'static str, Self)] =
        &[("off", Self::Off), ("accept", Self::Accept), ("require", Self::Require)];
}

settings! {
    /// The table of accounts and its columns: the section `[integrity.users]`.
    Users["integrity.users."] {
        /// Table of accounts.
        table: String = "users".to_owned(), parse::filled;
        /// Column with the user's id.
        id: String = "id".to_owned(), parse::filled;
        /// Column that a login is compared with.
        login: String = "email".to_owned(), parse::filled;
        /// Column of argon2id hashes.
        password: String = "password_hash".to_owned(), parse::filled;
        /// Column of roles; empty: no roles.
        role: String = "role".to_owned(), parse::text;
        /// Column of tenants; empty: no tenants.
        tenant: String = String::new(), parse::text;
    }
    sections {}
}
