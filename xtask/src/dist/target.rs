//! Targets of static programs, and what a machine needs to build them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::steps;

/// The C libraries that a program can contain, the preferred one first. glibc loads parts of itself at run time when it looks
/// up host names.
const LIBRARIES: [&str; 2] = ["musl", "gnu"];

/// The architectures, with their names in Debian.
const ARCHITECTURES: [(&str, &str); 2] = [("x86_64", "amd64"), ("aarch64", "arm64")];

/// A target whose programs are static.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) triple: String,
    architecture: &'static str,
    debian: &'static str,
}

impl Target {
    /// Parses a target such as `x86_64-unknown-linux-musl`.
    pub(super) fn parse(triple: &str) -> Result<Self, String> {
        let all = ARCHITECTURES.iter().flat_map(|names| LIBRARIES.map(|library| Self::new(*names, library)));
        let all: Vec<Self> = all.collect();
        match all.iter().find(|target| target.triple == triple) {
            Some(target) => Ok(target.clone()),
            None => {
                let names: Vec<_> = all.iter().map(|target| target.triple.as_str()).collect();
                Err(format!("there is no target '{triple}'; use one of {}", names.join(", ")))
            }
        }
    }

    fn new((architecture, debian): (&'static str, &'static str), library: &str) -> Self {
        Self { triple: format!("{architecture}-unknown-linux-{library}"), architecture, debian }
    }

    /// Returns the preferred target of this machine that can be built.
    pub(super) fn of_this_machine(root: &Path) -> Result<Self, String> {
        Self::of(root, |architecture| architecture == std::env::consts::ARCH)
            .next()
            .unwrap_or_else(|| Err(format!("{} is no architecture of releases", std::env::consts::ARCH)))
    }

    /// Returns the preferred targets of other machines, or what is missing to build them.
    pub(super) fn of_other_machines(root: &Path) -> impl Iterator<Item = Result<Self, String>> {
        Self::of(root, |architecture| architecture != std::env::consts::ARCH)
    }

    fn of(root: &Path, wanted: fn(&str) -> bool) -> impl Iterator<Item = Result<Self, String>> {
        ARCHITECTURES.iter().filter(move |(architecture, _)| wanted(architecture)).map(move |names| {
            let all = LIBRARIES.map(|library| Self::new(*names, library));
            let buildable = all.iter().find(|target| (*target).clone().checked(root).is_ok()).cloned();
            // The error is about `gnu`, because more distributions provide what it needs.
            buildable.map_or_else(|| Self::new(*names, "gnu").checked(root), Ok)
        })
    }

    /// Returns the target if it can be built.
    ///
    /// # Errors
    /// What is missing, and how to install it.
    pub(super) fn checked(self, root: &Path) -> Result<Self, String> {
        let triple = &self.triple;
        let mut missing = Vec::new();
        if !library_folder(root, triple).is_some_and(|folder| folder.is_dir()) {
            missing.push(format!(
                "the standard library for {triple}: `rustup target add {triple}`, or set RUSTC to a compiler that has it"
            ));
        }
        if let Some(compiler) = self.compiler()
            && !starts(&compiler.program)
        {
            missing.push(format!("the C compiler {}: {}", compiler.program, compiler.source));
        }
        if missing.is_empty() { Ok(self) } else { Err(format!("{triple} needs {}", missing.join("; and "))) }
    }

    /// Returns the architecture's name in Debian.
    pub(super) fn debian(&self) -> &'static str {
        self.debian
    }

    /// Returns the architecture.
    pub(super) fn architecture(&self) -> &'static str {
        self.architecture
    }

    pub(super) fn is_of_this_machine(&self) -> bool {
        self.architecture == std::env::consts::ARCH
    }

    /// Returns the C compiler of a build; `None` for the default compiler of this machine.
    fn compiler(&self) -> Option<Compiler> {
        let (architecture, debian) = (self.architecture, self.debian);
        let is_musl = self.triple.ends_with("musl");
        let (program, source) = match (self.is_of_this_machine(), is_musl) {
            (true, true) if !cfg!(target_env = "musl") => {
                ("musl-gcc".to_owned(), "Debian's package musl-tools".to_owned())
            }
            (true, _) => return None,
            (false, true) => (
                format!("{architecture}-linux-musl-gcc"),
                format!("Debian has none; {architecture}-unknown-linux-gnu needs one that it has"),
            ),
            (false, false) => (
                format!("{architecture}-linux-gnu-gcc"),
                format!("Debian's packages gcc-{architecture}-linux-gnu and libc6-dev-{debian}-cross"),
            ),
        };
        Some(Compiler { program, source })
    }

    /// Returns the variables of a build.
    pub(super) fn variables(&self) -> Vec<(String, String)> {
        let Some(Compiler { program, .. }) = self.compiler() else { return Vec::new() };
        let name = self.triple.replace('-', "_");
        let mut variables = vec![(format!("CC_{name}"), program.clone())];
        // The linker of this machine also links with musl, which Rust contains.
        if !self.is_of_this_machine() {
            variables.push((format!("CARGO_TARGET_{}_LINKER", name.to_uppercase()), program));
        }
        variables
    }
}

/// A compiler of C for another machine or library.
struct Compiler {
    program: String,
    /// Where to get it.
    source: String,
}

/// Returns the folder of the standard library of a target. It exists if the library is installed.
fn library_folder(root: &Path, triple: &str) -> Option<PathBuf> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = steps::plain_command(root, rustc)
        .args(["--print", "target-libdir", "--target", triple])
        .output()
        .ok()?;
    Some(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())).filter(|_| output.status.success())
}

fn starts(program: &str) -> bool {
    let mut command = Command::new(program);
    let status = command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_cannot_be_built_says_what_to_install() {
        let target = Target::parse("aarch64-unknown-linux-musl").unwrap();
        if let Err(why) = target.checked(&crate::root()) {
            assert!(
                why.contains("rustup target add aarch64-unknown-linux-musl")
                    || why.contains("the C compiler"),
                "{why}"
            );
        }
        assert!(Target::of_this_machine(&crate::root()).unwrap().is_of_this_machine());
    }

    #[test]
    fn targets_have_the_compiler_that_they_need() {
        let compiler =
            |names, library| Target::new(names, library).compiler().map(|it| (it.program, it.source));
        let [own, other] = [true, false].map(|own| {
            *ARCHITECTURES.iter().find(|(name, _)| (*name == std::env::consts::ARCH) == own).unwrap()
        });
        assert_eq!(compiler(own, "gnu"), None);
        let (program, source) = compiler(other, "gnu").unwrap();
        assert_eq!(program, format!("{}-linux-gnu-gcc", other.0));
        assert_eq!(
            source,
            format!("Debian's packages gcc-{}-linux-gnu and libc6-dev-{}-cross", other.0, other.1)
        );
        let (_, source) = compiler(other, "musl").unwrap();
        assert!(source.contains(&format!("{}-unknown-linux-gnu", other.0)), "{source}");
        if cfg!(not(target_env = "musl")) {
            assert_eq!(compiler(own, "musl").unwrap().1, "Debian's package musl-tools");
            let [(name, program)] = &Target::new(own, "musl").variables()[..] else { panic!("one variable") };
            assert_eq!(
                (name.as_str(), program.as_str()),
                (&*format!("CC_{}_unknown_linux_musl", own.0), "musl-gcc")
            );
        }
    }

    #[test]
    fn other_architectures_have_a_linker() {
        let other = ARCHITECTURES.iter().find(|(name, _)| *name != std::env::consts::ARCH).unwrap();
        let target = Target::new(*other, "gnu");
        let names: Vec<_> = target.variables().into_iter().map(|(name, _)| name).collect();
        let triple = target.triple.replace('-', "_");
        assert_eq!(names, [format!("CC_{triple}"), format!("CARGO_TARGET_{}_LINKER", triple.to_uppercase())]);
    }
}
