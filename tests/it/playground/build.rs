//! The committed page matches its sources.

use std::path::{Path, PathBuf};
use std::process::Command;

use mesh_tests::{TempDir, node_tools};

/// Returns the folder of the page's sources.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../mesh-docs/ui")
}

#[test]
fn the_committed_files_match_the_sources() {
    let Some(tools) = node_tools() else { return };
    let made = TempDir::new();
    let node = |arguments: &[&str]| {
        let output = Command::new("node").args(arguments).current_dir(&tools).output().expect("node runs");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    node(&["build.mjs", &made.path().display().to_string()]);
    let committed = sources().join("../assets");
    let mut names: Vec<_> =
        std::fs::read_dir(&committed).unwrap().map(|file| file.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["app.css", "app.js", "icon.svg", "pictures.js", "shared.js"]);
    for name in names {
        let same =
            std::fs::read(committed.join(&name)).unwrap() == std::fs::read(made.path().join(&name)).unwrap();
        assert!(same, "{name:?} is not what the sources give: run `npm run build` in mesh-docs/ui");
    }
    let size = "const { gzipSync } = require('node:zlib'), { readFileSync } = require('node:fs');
        const size = ['app.js', 'shared.js', 'pictures.js', 'app.css'].reduce((sum, name) => sum + gzipSync(readFileSync('../assets/' + name)).length, 0);
        if (size > 260_000) throw new Error(size + ' bytes, compressed');";
    node(&["-e", size]);
    node(&["node_modules/typescript/bin/tsc", "--noEmit"]);
    node(&["test.mjs"]);
}
