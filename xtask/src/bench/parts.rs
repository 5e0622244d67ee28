//! `cargo xtask bench parts`: runs the micro-benchmarks of the crates and prints one table.

use std::path::Path;

use serde_json::json;

use crate::arguments::{positive, split};
use crate::steps;

/// The crates and their benchmarks.
const BENCHES: [(&str, &str); 4] =
    [("mesh-ql", "parse"), ("mesh-plan", "read"), ("mesh-integrity", "verify"), ("mesh-integrity", "bearer")];

/// A row of the table, in nanoseconds.
#[derive(Debug, PartialEq)]
struct Part {
    name: String,
    low: f64,
    middle: f64,
    high: f64,
}

/// Runs the benchmarks. `--seconds` sets the time per measurement, `--json` prints JSON instead of a table.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<bool, String> {
    let (seconds, as_json) = options(arguments)?;
    let mut all = Vec::new();
    for (package, bench) in BENCHES {
        eprintln!("cargo bench -p {package} --bench {bench}");
        all.push((package, measure(root, package, bench, seconds)?));
    }
    if as_json {
        as_object(&all);
    } else {
        as_table(&all);
    }
    Ok(true)
}

fn options(arguments: &[&str]) -> Result<(f64, bool), String> {
    let (mut seconds, mut as_json) = (3.0, false);
    let mut rest = split(arguments);
    while let Some(name) = rest.next() {
        match name {
            "--json" => as_json = true,
            "--seconds" => seconds = positive(name, rest.next())?,
            other => return Err(format!("`bench parts` takes `--seconds N` and `--json`, not '{other}'")),
        }
    }
    Ok((seconds, as_json))
}

fn measure(root: &Path, package: &str, bench: &str, seconds: f64) -> Result<Vec<Part>, String> {
    let command = format!(
        "bench --quiet -p {package} --all-features --bench {bench} -- --noplot --measurement-time {seconds} --warm-up-time {}",
        seconds.min(1.0)
    );
    let output = steps::command(root, &command, &[]).output();
    let output = output.map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`cargo {command}` failed: {}", errors.trim()));
    }
    let parts = read(&String::from_utf8_lossy(&output.stdout));
    if parts.is_empty() { Err(format!("`cargo {command}` printed no figures")) } else { Ok(parts) }
}

/// Parses the output of criterion: a name, on a separate line if it is long, and `time: [..]` with the bounds of the
/// confidence interval around the estimate.
fn read(output: &str) -> Vec<Part> {
    let mut name = "";
    let mut parts = Vec::new();
    for line in output.lines() {
        let Some((before, after)) = line.split_once("time:") else {
            if line.starts_with(|first: char| !first.is_whitespace()) {
                name = line.trim();
            }
            continue;
        };
        let inline = before.trim();
        let times = after.trim().trim_start_matches('[').trim_end_matches(']');
        let words: Vec<&str> = times.split_whitespace().collect();
        let nanos: Vec<f64> = words.chunks(2).filter_map(nanoseconds).collect();
        if let [low, middle, high] = *nanos {
            let name = if inline.is_empty() { name } else { inline }.to_owned();
            parts.push(Part { name, low, middle, high });
        }
    }
    parts
}

fn nanoseconds(written: &[&str]) -> Option<f64> {
    let [number, unit] = written else { return None };
    let factor = match *unit {
        "ps" => 1e-3,
        "ns" => 1.0,
        "µs" | "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}

fn as_table(all: &[(&str, Vec<Part>)]) {
    println!("| crate | part | ns | from | to |\n|---|---|---|---|---|");
    for (package, parts) in all {
        for Part { name, low, middle, high } in parts {
            println!("| {package} | {name} | {middle:.0} | {low:.0} | {high:.0} |");
        }
    }
}

fn as_object(all: &[(&str, Vec<Part>)]) {
    let parts = all.iter().flat_map(|(package, parts)| {
        parts.iter().map(move |Part { name, low, middle, high }| {
            json!({ "crate": package, "part": name, "nanoseconds": middle, "from": low, "to": high })
        })
    });
    println!("{}", json!({ "parts": parts.collect::<Vec<_>>() }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_parsed_for_short_and_long_names() {
        let output = "\
parse w1                time:   [1.0000 µs 1.5000 µs 2.0000 µs]
                        change: [-1.0% +0.1% +1.0%] (p = 0.5 > 0.05)
Found 3 outliers among 100 measurements (3.00%)
token and signature of a message
                        time:   [90.000 ns 100.00 ns 110.00 ns]
                        thrpt:  [1.0 Melem/s 1.0 Melem/s 1.0 Melem/s]
";
        let part = |name: &str, low, middle, high| Part { name: name.to_owned(), low, middle, high };
        let expected = [
            part("parse w1", 1_000.0, 1_500.0, 2_000.0),
            part("token and signature of a message", 90.0, 100.0, 110.0),
        ];
        assert_eq!(read(output), expected);
    }

    #[test]
    fn invalid_options_are_refused() {
        assert_eq!(options(&[]), Ok((3.0, false)));
        assert_eq!(options(&["--seconds=0.5", "--json"]), Ok((0.5, true)));
        assert!(options(&["--seconds", "0"]).is_err() && options(&["w1"]).is_err());
    }
}
