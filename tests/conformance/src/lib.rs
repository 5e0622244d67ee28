//! The conformance kit: cases stored as data, and the code that runs them against a server.
//!
//! The program `mesh-conformance` runs the cases that it contains; its `--help` has examples. The library does the same:
//!
//! ```
//! use std::io::{Read, Write};
//!
//! use mesh_conformance::case::{self, Level};
//! use mesh_conformance::profile::Profile;
//! use mesh_conformance::report::{self, Format};
//! use mesh_conformance::run::{self, Grade, Selection};
//! use mesh_conformance::target::Target;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A server that gives every request the same answer.
//! let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
//! let address = listener.local_addr()?;
//! std::thread::spawn(move || {
//!     for mut stream in listener.incoming().flatten() {
//!         let _ = stream.read(&mut [0; 65536]);
//!         let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
//!         let _ = write!(stream, "{head}Content-Length: 15\r\n\r\n{{\"name\":\"code\"}}");
//!     }
//! });
//!
//! let mut profile = Profile::reference()?;
//! profile.level = Level::L1;
//! profile.servers.insert("open".to_owned(), format!("http://{address}/mesh"));
//! let selection = Selection { ids: vec!["3.3-".to_owned()], ..Selection::default() };
//! let report = run::run(&case::embedded()?, &Target::new(profile)?, &selection);
//!
//! assert!(report.count(Grade::Fail) > 0 && report.level().is_none());
//! println!("{}", report::render(&report, Format::Pretty));
//! # Ok(())
//! # }
//! ```
//!
//! In reading order: [`files`] contains the cases, the fixture and the guide, [`case`] is the model of the cases,
//! [`expression`] evaluates the templates and functions in them, [`compose`] builds requests, [`http`] sends them,
//! [`matcher`] and [`expect`] compare the responses, [`execute`] runs the steps of one case, [`run`] runs all cases,
//! [`report`] renders the outcome, and [`cli`] has the options of the program. [`profile`] and [`target`] describe the
//! server under test, [`fixture`] generates the SQL of the rows that all cases use, and [`paragraphs`] finds the texts of
//! rules in SPEC.md, and the rules without a case.
//!
//! Invariants: this crate depends on no other crate of the workspace, so a bug cannot cancel itself out by being on
//! both sides. A target is not trusted, so any response leads to a verdict and never to a panic. Encoding, hashing and
//! signing are implemented here a second time, from the specification alone.

#![expect(clippy::expect_used, clippy::panic, reason = "the client of the tests fails its test by panicking")]

pub mod case;
pub mod cli;
pub mod compose;
pub mod encoding;
pub mod execute;
pub mod expect;
pub mod expression;
pub mod failure;
pub mod files;
pub mod fixture;
pub mod http;
pub mod matcher;
pub mod report;
pub mod run;
pub mod target;

pub use case::paragraphs;
pub use http::stream;
pub use target::profile;
