//! `mesh-server hash-password`: prints the argon2id hash of a password, for a table of accounts.

use std::io::{self, IsTerminal};

use mesh_server::mesh_integrity::passwords;

use crate::cli::failure::Failure;
use crate::cli::output::print;
use crate::cli::terminal::read_password;

pub(crate) fn run() -> Result<(), Failure> {
    let password = read_password("Password: ")?;
    // Without echo, a typing error would go unnoticed.
    if io::stdin().is_terminal() && read_password("Repeat the password: ")? != password {
        return Err(Failure::usage_error("the two passwords differ"));
    }
    print(passwords::hash_password(&password)?)
}
