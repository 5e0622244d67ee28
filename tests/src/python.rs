//! Python with the type checkers that tests use.

use std::path::PathBuf;

use crate::{Part, node_tools, skip};

/// Python with pandas, and two type checkers.
#[derive(Debug)]
pub struct PythonTools {
    /// The interpreter.
    pub python: PathBuf,
    /// The program mypy.
    pub mypy: PathBuf,
    /// The program of pyright, which Node runs.
    pub pyright: PathBuf,
}

impl PythonTools {
    /// Finds the tools. Returns `None` if one of them is not installed; fails the test instead if
    /// `MESH_REQUIRE_SERVICES` is set.
    #[must_use]
    pub fn find() -> Option<Self> {
        if Part::Tools.is_left_out() {
            return None;
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let Some(folder) = std::env::split_paths(&path).find(|folder| folder.join("mypy").is_file()) else {
            skip(
                "mypy",
                "run `pip install mypy pandas openapi-spec-validator` in an environment of its own, and add its folder to PATH",
            );
            return None;
        };
        let pyright = node_tools()?.join("node_modules/pyright/index.js");
        Some(Self { python: folder.join("python"), mypy: folder.join("mypy"), pyright })
    }
}
