//! The options of `cargo xtask bench`.

use super::request::Kind;
use super::workload::size::Size;
use super::workload::{Workload, list};
use crate::arguments::{positive, split};

/// Command-line options.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) workloads: Vec<Workload>,
    /// Seconds of load per measurement.
    pub(crate) seconds: f64,
    /// Measurements per server; the median counts.
    pub(crate) rounds: usize,
    pub(crate) json: bool,
    pub(crate) no_build: bool,
    /// Requests per memory sample.
    pub(crate) requests: u32,
    /// The SQLite journal mode of the sample.
    pub(crate) journal: String,
    /// The selected servers; empty for all.
    only: Vec<Kind>,
}

impl Options {
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            workloads: Vec::new(),
            seconds: 1.0,
            rounds: 10,
            json: false,
            no_build: false,
            requests: 50_000,
            journal: "wal".to_owned(),
            only: Vec::new(),
        };
        let mut sizes = Vec::new();
        let mut rest = split(arguments);
        while let Some(name) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| format!("`{name}` needs a value"));
            match name {
                "--workload" => options.workloads.extend(list::parse_list(value()?)?),
                "--seconds" => options.seconds = positive(name, rest.next())?,
                "--rounds" => options.rounds = positive(name, rest.next())?,
                "--requests" => options.requests = positive(name, rest.next())?,
                "--size" => {
                    for text in value()?.split(',') {
                        sizes.push(Size::parse(text)?);
                    }
                }
                "--journal" => options.journal = value()?.to_owned(),
                "--only" => {
                    for name in value()?.split(',') {
                        options.only.push(Kind::parse(name)?);
                    }
                }
                "--json" => options.json = true,
                "--no-build" => options.no_build = true,
                _ => return Err(format!("`bench` has no option '{name}'; `cargo xtask --help` lists them")),
            }
        }
        if options.workloads.is_empty() {
            options.workloads = list::parse_list("reads")?;
        }
        if !sizes.is_empty() && !options.workloads.iter().any(Workload::is_sized) {
            return Err("`--size` is for the workloads size1 and size2, as in `--workload sizes`".to_owned());
        }
        if sizes.is_empty() {
            // A small sample, the default one, and one ten times as large.
            sizes = [690, 100_000, 1_000_000].map(Size::from_posts).to_vec();
        }
        options.workloads = list::with_sizes(options.workloads, &sizes);
        Ok(options)
    }

    /// Whether a server is selected.
    pub(crate) fn wants(&self, kind: Kind) -> bool {
        let is_limit = matches!(kind, Kind::Hand(_)) && self.only.contains(&Kind::Limit);
        self.only.is_empty() || is_limit || self.only.contains(&kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_take_both_forms() {
        let options = Options::parse(&["--workload=w1,w3", "--seconds", "2", "--json"]).unwrap();
        let names: Vec<_> = options.workloads.iter().map(|workload| &*workload.name).collect();
        assert_eq!((names, options.seconds, options.json), (vec!["w1", "w3"], 2.0, true));
        let all = Options::parse(&[]).unwrap();
        assert_eq!(all.workloads.len(), 4);
        let sizes = Options::parse(&["--workload=sizes", "--size=10GB,1MB"]).unwrap();
        let names: Vec<_> = sizes.workloads.iter().map(|workload| &*workload.name).collect();
        assert_eq!(names, ["size1@1MB", "size1@10GB", "size2@1MB", "size2@10GB"]);
        let wrong: [&[&str]; 7] = [
            &["--seconds"],
            &["--seconds=0"],
            &["--workload", "w9"],
            &["--only", "x"],
            &["w1"],
            &["--size", "1MB"],
            &["--workload=sizes", "--size", "large"],
        ];
        for wrong in wrong {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
