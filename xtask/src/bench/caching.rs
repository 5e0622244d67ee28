//! `cargo xtask bench caching`: the cost of requests with nginx as a cache in front of the server, with the configuration
//! of `docs/caching.md`.
//!
//! nginx and the server share one core, and the load has another. All requests have the id of a registered query.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;

use mesh_tests::kit::http;
use mesh_tests::{NginxCache, Request};

use super::load::Loader;
use super::machine::{CpuTime, cores};
use super::options::Options;
use super::peer::Peer;
use super::report::median;
use super::request::{Kind, file_of};
use super::workload::{Transport, Workload};
use super::{Setup, prepare};

/// Enough records that each of them has expired when it is requested again, a second later or more.
const MANY_RECORDS: u32 = 65_536;

/// How nginx is configured, and therefore which requests reach the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CacheMode {
    /// Clients connect to the server without nginx.
    NoProxy,
    /// nginx forwards all requests and stores nothing.
    Uncached,
    /// nginx answers from its cache, which cannot be purged.
    HitWithoutPurge,
    /// nginx answers from its cache, after looking up the current generation.
    Hit,
    /// Every response has expired, and the server answers 304.
    Revalidated,
}

impl CacheMode {
    const ALL: [Self; 5] =
        [Self::NoProxy, Self::Uncached, Self::HitWithoutPurge, Self::Hit, Self::Revalidated];

    fn name(self) -> &'static str {
        match self {
            Self::NoProxy => "the server alone",
            Self::Uncached => "through nginx, not cached",
            Self::HitWithoutPurge => "hit, without purges",
            Self::Hit => "hit",
            Self::Revalidated => "expired and revalidated",
        }
    }

    /// Returns the cache status that nginx reports for each request.
    fn status(self) -> Option<&'static str> {
        match self {
            Self::NoProxy | Self::Uncached => None,
            Self::HitWithoutPurge | Self::Hit => Some("HIT"),
            Self::Revalidated => Some("REVALIDATED"),
        }
    }

    fn control(self) -> &'static str {
        if self == Self::Revalidated { "public, s-maxage=1" } else { "public, s-maxage=3600" }
    }

    /// Returns the configuration of the documentation page with the changes for this form.
    fn edit(self, page: &str) -> String {
        let is_left_out = |line: &&str| {
            let line = line.trim_start();
            match self {
                Self::Uncached => line.starts_with("auth_request") || line.starts_with("proxy_cache mesh;"),
                Self::HitWithoutPurge => line.starts_with("auth_request"),
                Self::NoProxy | Self::Hit | Self::Revalidated => false,
            }
        };
        let page = page.lines().filter(|line| !is_left_out(line)).map(|line| format!("{line}\n"));
        let page: String = page.collect();
        // Without `auth_request_set`, the variable does not exist.
        if matches!(self, Self::Uncached | Self::HitWithoutPurge) {
            page.replace("$generation|", "")
        } else {
            page
        }
    }
}

/// Microseconds of processor time per request, and requests per second.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    nginx: f64,
    server: f64,
    per_second: f64,
    p99: f64,
}

/// Runs the benchmark. It takes the options of the other workloads.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<bool, String> {
    let default = ["--workload", "w1,w2,w4"];
    let is_named = arguments.iter().any(|argument| argument.starts_with("--workload"));
    let options = Options::parse(&[if is_named { &[][..] } else { &default }, arguments].concat())?;
    let setup = prepare(root, &options)?;
    let mut table = String::from(
        "| workload | request | nginx µs | server µs | together | req/s | p99 µs |\n|---|---|---|---|---|---|---|\n",
    );
    for workload in &options.workloads {
        let workload = Workload { transport: Transport::Persisted, ..workload.clone() };
        // A list is one request, which does not expire often enough.
        let modes = CacheMode::ALL
            .into_iter()
            .filter(|mode| *mode != CacheMode::Revalidated || workload.read.has_record());
        let mut runs: Vec<(CacheMode, Vec<Cost>)> = modes.map(|mode| (mode, Vec::new())).collect();
        for round in 1..=options.rounds {
            for (mode, costs) in &mut runs {
                let cost = measure(&setup, &workload, *mode, options.seconds)?;
                eprintln!("{} round {round}: {:<26} {cost:?}", workload.name, mode.name());
                costs.push(cost);
            }
        }
        for (mode, costs) in runs {
            let of = |figure: fn(&Cost) -> f64| median(costs.iter().map(figure).collect());
            let _ = writeln!(
                table,
                "| {} | {} | {:.1} | {:.1} | {:.1} | {:.0} | {:.0} |",
                workload.name,
                mode.name(),
                of(|cost| cost.nginx),
                of(|cost| cost.server),
                of(|cost| cost.nginx + cost.server),
                of(|cost| cost.per_second),
                of(|cost| cost.p99)
            );
        }
    }
    println!("{table}");
    Ok(true)
}

fn measure(setup: &Setup, workload: &Workload, mode: CacheMode, seconds: f64) -> Result<Cost, String> {
    let core_list = setup.cores.for_server(workload.placement);
    let mut cache = NginxCache::new();
    let mut command = Peer::mesh(setup, workload, core_list.as_deref());
    let data = setup.data(workload.posts, "wal")?;
    command.args(["--database", &format!("sqlite:{}", data.display())]);
    command.env("MESH_CACHING__CONTROL", mode.control());
    let mut server = Peer::spawn(&mut command)?;
    let mut workload = workload.clone();
    workload.prepare(server.address())?;
    if mode == CacheMode::Revalidated {
        if !workload.read.has_record() {
            return Err(format!(
                "'{}' has one request only, which does not expire often enough",
                workload.name
            ));
        }
        workload.records = MANY_RECORDS;
    }
    let mut address = server.address().to_owned();
    if mode != CacheMode::NoProxy {
        let upstream = address.parse().map_err(|error| format!("{address}: {error}"))?;
        let nginx = cores::command(Path::new("nginx"), core_list.as_deref());
        cache.start(nginx, upstream, |page| mode.edit(&page))?;
        address = cache.address.to_string();
    }
    let requests = distinct(workload.requests(Kind::Mesh));
    let file = setup.folder.join("caching.requests");
    std::fs::write(&file, file_of(requests.iter().cloned()))
        .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    let loader = Loader::new(setup, &file, &address, workload.connections).with_placement(workload.placement);
    loader.send_each_once()?;
    if mode == CacheMode::Revalidated {
        // Wait until the first responses have expired. nginx counts whole seconds.
        std::thread::sleep(std::time::Duration::from_secs(3));
    }
    verify(&requests, &address, mode)?;
    let nginx_cpu =
        || if mode == CacheMode::NoProxy { Ok(0.0) } else { CpuTime::new(cache.process()).seconds() };
    let before = (nginx_cpu()?, server.cpu_seconds()?);
    let load = loader.run(seconds)?;
    let after = (nginx_cpu()?, server.cpu_seconds()?);
    if load.errors > 0 {
        return Err(format!("{} of {} requests failed", load.errors, load.requests));
    }
    let each = |before: f64, after: f64| (after - before) * 1e6 / load.requests.max(1) as f64;
    Ok(Cost {
        nginx: each(before.0, after.0),
        server: each(before.1, after.1),
        per_second: load.per_second,
        p99: load.p99,
    })
}

/// Removes repeated requests, because their responses would not have expired.
fn distinct(mut requests: Vec<Request>) -> Vec<Request> {
    let mut seen = HashSet::new();
    requests.retain(|request| seen.insert(request.bytes_for("localhost")));
    requests
}

/// Checks that nginx handles the requests as the form requires.
fn verify(requests: &[Request], address: &str, mode: CacheMode) -> Result<(), String> {
    for request in requests.iter().rev().take(5) {
        let reply = http::send(address, request)?;
        let status = reply.header("x-cache-status");
        if reply.status != 200 || status != mode.status() {
            return Err(format!("{}: {} {status:?}: {}", mode.name(), reply.status, reply.text()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_change_the_configuration_of_the_page() {
        let page = "location / {\n  auth_request /generation;\n  proxy_cache mesh;\n  proxy_cache_key $generation|$request_uri;\n}\n";
        assert_eq!(CacheMode::Hit.edit(page), page);
        assert!(!CacheMode::Uncached.edit(page).contains("proxy_cache mesh;"));
        let without_purge = CacheMode::HitWithoutPurge.edit(page);
        assert!(
            without_purge.contains("proxy_cache_key $request_uri;")
                && !without_purge.contains("auth_request")
        );
    }
}
