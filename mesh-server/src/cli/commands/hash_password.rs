//! `mesh-server hash-password`: a password in, the argon2id hash for a table of accounts out.

use std::io::{self, IsTerminal};

use mesh_server::accounts;

use crate::cli::failure::Failure;
use crate::cli::output::print;
use crate::cli::terminal::password;

pub(crate) fn run() -> Result<(), Failure> {
    let password = password::read("Password: ").map_err(Failure::start)?;
    // What is typed blindly is typed twice.
    if io::stdin().is_terminal() && password::read("Once more: ").map_err(Failure::start)? != password {
        return Err(Failure::start("these are two different passwords"));
    }
    print(accounts::hash_password(&password).map_err(Failure::start)?)
}
