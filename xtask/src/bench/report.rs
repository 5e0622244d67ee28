//! The report of a run: medians, ratios and targets.

use serde_json::{Value, json};

use super::Setup;
use super::load::Load;
use super::machine::mebibytes;
use super::options::Options;
use super::request::Kind;
use super::trend::Memory;
use super::workload::read::Engine;
use super::workload::{Target, Workload};

/// The figures of a run.
pub(crate) struct Report {
    machine: String,
    engine: Engine,
    /// Whether servers and load with two threads each share cores.
    shares: bool,
    memory: Option<Memory>,
    rows: Vec<(Workload, Kind, Vec<Load>)>,
}

impl Report {
    pub(crate) fn new(setup: &Setup, engine: Engine) -> Self {
        let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpu.lines().find(|line| line.starts_with("model name"));
        let model = model.and_then(|line| line.split(':').nth(1)).unwrap_or("unknown processor").trim();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let pinned = if setup.cores.are_pinned() { "pinned" } else { "not pinned" };
        let idle = if setup.wake_lock.is_held() { "kept awake" } else { "asleep when idle" };
        let machine = format!("{model}, {cores} cores, {pinned}, {idle}");
        Self { machine, engine, shares: setup.cores.are_shared(2), memory: None, rows: Vec::new() }
    }

    pub(crate) fn set_memory(&mut self, memory: Memory) {
        self.memory = Some(memory);
    }

    pub(crate) fn add(&mut self, workload: &Workload, kind: Kind, load: Load) {
        let row = self.rows.iter_mut().find(|(one, of, _)| one.name == workload.name && *of == kind);
        match row {
            Some((_, _, loads)) => loads.push(load),
            None => self.rows.push((workload.clone(), kind, vec![load])),
        }
    }

    fn rounds(&self, workload: &str, kind: Kind) -> Option<&[Load]> {
        let kind = if kind == Kind::Limit { self.fastest(workload)? } else { kind };
        let (_, _, loads) = self.rows.iter().find(|(one, of, _)| one.name == workload && *of == kind)?;
        Some(loads)
    }

    /// Returns the fastest of the hand-written servers.
    fn fastest(&self, workload: &str) -> Option<Kind> {
        let by_hand =
            self.rows.iter().filter(|(one, kind, _)| one.name == workload && matches!(kind, Kind::Hand(_)));
        let cost = |loads: &[Load]| median(loads.iter().map(|load| self.cost(load)).collect());
        let fastest = by_hand.min_by(|(.., one), (.., other)| cost(one).total_cmp(&cost(other)));
        fastest.map(|(_, kind, _)| *kind)
    }

    /// Returns the cost of a request in microseconds: the processor time of the server over SQLite. Over PostgreSQL, where
    /// server and database share a core, it is the elapsed time.
    fn cost(&self, load: &Load) -> f64 {
        match self.engine {
            Engine::Sqlite => load.cpu_micros,
            Engine::Postgres => 1e6 / load.per_second.max(1e-3),
        }
    }

    fn figures(&self, workload: &str, kind: Kind) -> Option<Load> {
        let loads = self.rounds(workload, kind)?;
        let middle = |value: fn(&Load) -> f64| median(loads.iter().map(value).collect());
        Some(Load {
            requests: loads.iter().map(|load| load.requests).sum(),
            errors: 0,
            per_second: middle(|load| load.per_second),
            p50: middle(|load| load.p50),
            p99: middle(|load| load.p99),
            cpu_micros: middle(|load| load.cpu_micros),
            resident: loads.iter().map(|load| load.resident).max().unwrap_or_default(),
        })
    }

    /// Returns a value of each round.
    fn values(&self, workload: &str, kind: Kind, value: impl Fn(&Load) -> f64) -> Option<Vec<f64>> {
        Some(self.rounds(workload, kind)?.iter().map(value).collect())
    }

    /// Returns the speed relative to another server: the median ratio of the rounds, the lowest and the highest.
    fn ratio(&self, workload: &str, kind: Kind, to: Kind) -> Option<[f64; 3]> {
        let costs = |kind| self.values(workload, kind, |load| self.cost(load));
        Some(ratio(&costs(kind)?, &costs(to)?))
    }

    /// Prints the results and returns whether every measured target was met.
    pub(crate) fn print(&self, options: &Options) -> bool {
        if options.json {
            self.print_json();
        } else {
            self.print_table();
        }
        self.targets().iter().all(|(_, met)| *met)
    }

    /// Prints the results as tables in Markdown.
    fn print_table(&self) {
        println!("{}\n", self.machine);
        self.print_ratios();
        println!("| workload | server | req/s | p50 µs | p99 µs | CPU µs | of it, rounds | MiB |");
        println!("|---|---|---|---|---|---|---|---|");
        for (workload, kind, loads) in &self.rows {
            let Some(load) = self.figures(&workload.name, *kind) else { continue };
            let cpu = || loads.iter().map(|load| load.cpu_micros);
            println!(
                "| {} | {kind} | {:.0} | {:.0} | {:.0} | {:.2} | {:.2} to {:.2} | {:.1} |",
                workload.name,
                load.per_second,
                load.p50,
                load.p99,
                load.cpu_micros,
                cpu().fold(f64::INFINITY, f64::min),
                cpu().fold(0.0, f64::max),
                mebibytes(load.resident),
            );
        }
        println!();
        for (text, met) in self.targets() {
            println!("- {} {text}", if met { "met:" } else { "MISSED:" });
        }
    }

    /// Prints how many times as fast mesh-server is as other servers.
    pub(crate) fn print_times(&self, kinds: &[Kind]) {
        let mut names: Vec<&str> = self.rows.iter().map(|(workload, ..)| &*workload.name).collect();
        names.dedup();
        println!("| mesh-server is faster than | {} |", names.join(" | "));
        println!("|---|{}", "---|".repeat(names.len()));
        for kind in kinds.iter().filter(|kind| **kind != Kind::Mesh) {
            let times = names.iter().map(|name| {
                let times = self.ratio(name, Kind::Mesh, *kind);
                times.map_or_else(String::new, |[times, ..]| format!("{times:.1} times"))
            });
            println!("| {kind} | {} |", times.collect::<Vec<_>>().join(" | "));
        }
        println!();
    }

    /// Prints mesh-server compared with the limit. For responses from the cache, the limit is a server of constant bytes.
    fn print_ratios(&self) {
        let measured = self.rows.iter().filter(|(_, kind, _)| *kind == Kind::Mesh);
        let mut rows = measured.filter_map(|(workload, ..)| {
            let limit = self.fastest(&workload.name);
            let constant = self.rounds(&workload.name, Kind::Constant).map(|_| Kind::Constant);
            let limit = limit.or(constant)?;
            let (by_hand, mesh) = (self.figures(&workload.name, limit)?, self.figures(&workload.name, Kind::Mesh)?);
            let [ratio, least, most] = self.ratio(&workload.name, Kind::Mesh, limit)?;
            Some(format!(
                "| {} | {} | {limit} | {:.1} and {:.1} | {ratio:.2} ({least:.2} to {most:.2}) | {:.0} and {:.0} | {:.0} and {:.0} |",
                workload.name,
                workload.what,
                by_hand.cpu_micros,
                mesh.cpu_micros,
                by_hand.per_second,
                mesh.per_second,
                by_hand.p99,
                mesh.p99
            ))
        });
        let Some(first) = rows.next() else { return };
        println!("| workload | what | limit | CPU µs, limit and mesh | ratio (rounds) | req/s | p99 µs |");
        println!("|---|---|---|---|---|---|---|\n{first}");
        rows.for_each(|row| println!("{row}"));
        println!();
    }

    fn print_json(&self) {
        let rows = self.rows.iter().filter_map(|(workload, kind, loads)| {
            let load = self.figures(&workload.name, *kind)?;
            let ratio = self.ratio(&workload.name, *kind, Kind::Limit);
            Some(json!({
                "workload": &*workload.name, "server": kind.name(), "rounds": loads.len(),
                "requests": load.requests, "perSecond": load.per_second, "p50": load.p50, "p99": load.p99,
                "cpuMicros": load.cpu_micros, "residentBytes": load.resident,
                "rows": workload.rows(), "posts": workload.posts, "threads": workload.threads,
                "ratio": ratio,
            }))
        });
        let rows: Vec<Value> = rows.collect();
        let targets = self.targets().into_iter().map(|(text, met)| json!({ "target": text, "met": met }));
        let targets: Vec<Value> = targets.collect();
        let memory = self.memory.as_ref().map(|memory| {
            let looks = memory
                .samples
                .iter()
                .map(|(requests, bytes)| json!({ "requests": requests, "bytes": bytes }));
            json!({ "looks": looks.collect::<Vec<_>>(), "bytesPerRequest": memory.slope() })
        });
        println!(
            "{}",
            json!({ "machine": self.machine, "rows": rows, "memory": memory, "targets": targets })
        );
    }

    fn targets(&self) -> Vec<(String, bool)> {
        let mesh = self.rows.iter().filter(|(_, kind, _)| *kind == Kind::Mesh);
        let all = mesh.flat_map(|(workload, _, _)| workload.targets.iter().map(move |it| (workload, *it)));
        let results = all.filter_map(|(workload, target)| {
            let (text, met) = self.evaluate(workload, target)?;
            Some((format!("{}: {text}", workload.name), met))
        });
        results.chain(self.memory.as_ref().map(Memory::target)).collect()
    }

    /// Returns the result for a target and whether it was met; `None` if its servers were not measured.
    fn evaluate(&self, workload: &Workload, target: Target) -> Option<(String, bool)> {
        let own = self.figures(&workload.name, Kind::Mesh)?;
        let against = &*workload.baseline;
        Some(match target {
            Target::Speed(to, least) => {
                let [ratio, ..] = self.ratio(&workload.name, Kind::Mesh, to)?;
                let limit = self.fastest(&workload.name).filter(|_| to == Kind::Limit).unwrap_or(to);
                (format!("{ratio:.2} of {limit}, at least {least}"), ratio >= least)
            }
            Target::Tail(to, most) => {
                let ratio = own.p99 / self.figures(&workload.name, to)?.p99;
                (format!("p99 {ratio:.2} times that of {to}, at most {most}"), ratio <= most)
            }
            Target::Within(most) => (format!("p99 {:.0} us, at most {most:.0} us", own.p99), own.p99 <= most),
            Target::Cost(most) => {
                let times = self.growth(workload, Kind::Mesh)?;
                (format!("CPU {times:.2} times that of {against}, at most {most}"), times <= most)
            }
            Target::CostRelative(peer, most) => {
                let (own, other) = (self.growth(workload, Kind::Mesh)?, self.growth(workload, peer)?);
                let ratio = own / other;
                let text = format!(
                    "CPU grows {ratio:.2} times as {peer}'s does ({own:.2} and {other:.2} since {against}), at most {most}"
                );
                (text, ratio <= most)
            }
            Target::Row(most) => {
                let times = |kind| {
                    let [times, ..] = ratio(&self.row(against, kind)?, &self.row(&workload.name, kind)?);
                    Some(times)
                };
                let times_own = times(Kind::Mesh)?;
                let by_hand = times(Kind::Limit).map(|times| format!(" (hand-written: {times:.2})"));
                let text = format!(
                    "a row takes {:.3} us, {times_own:.2} times one of {against}{}, at most {most}",
                    median(self.row(&workload.name, Kind::Mesh)?),
                    by_hand.unwrap_or_default()
                );
                (text, times_own <= most)
            }
            Target::Throughput(least) => {
                let one = self.figures(against, Kind::Mesh)?;
                let per_second = |name| self.values(name, Kind::Mesh, |load| load.per_second);
                let [times, ..] = ratio(&per_second(against)?, &per_second(&workload.name)?);
                let by_cpu = workload.threads as f64 * one.cpu_micros / own.cpu_micros;
                let shared = if self.shares {
                    "; server and load share each core in both, so the load has to grow as well"
                } else {
                    ""
                };
                let text = format!(
                    "{times:.2} times the requests of {against} ({by_cpu:.2} by the server's CPU{shared}), at least {least}"
                );
                (text, times >= least)
            }
        })
    }

    /// Returns the processor time per request as a multiple of the time of the baseline workload.
    fn growth(&self, workload: &Workload, kind: Kind) -> Option<f64> {
        let micros = |name| self.values(name, kind, |load| load.cpu_micros);
        let [times, ..] = ratio(&micros(&workload.baseline)?, &micros(&workload.name)?);
        Some(times)
    }

    /// Returns the processor time per row of a page beyond the first, in microseconds, of each round.
    fn row(&self, workload: &str, kind: Kind) -> Option<Vec<f64>> {
        let find = |wanted: &dyn Fn(&Workload) -> bool| {
            let (workload, ..) = self.rows.iter().find(|(workload, ..)| wanted(workload))?;
            Some((self.values(&workload.name, kind, |load| load.cpu_micros)?, f64::from(workload.rows()?)))
        };
        let (many, count) = find(&|one| one.name == workload)?;
        let (one, _) = find(&|one| one.rows() == Some(1))?;
        Some(many.iter().zip(&one).map(|(many, one)| (many - one) / (count - 1.0).max(1.0)).collect())
    }
}

/// Returns the speed of a server relative to another one, from their costs in each round: the median of the ratios, the lowest
/// and the highest. The measurements of a round follow each other, so that other load of the machine affects both.
pub(super) fn ratio(own: &[f64], other: &[f64]) -> [f64; 3] {
    let ratios: Vec<f64> = own.iter().zip(other).map(|(own, other)| other / own).collect();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(0.0, f64::max);
    [median(ratios), least, most]
}

/// Returns the median; for an even number of values, the higher of the two in the middle.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    values.get(middle).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{median, ratio};

    #[test]
    fn median_is_the_middle_value() {
        assert_eq!([median(vec![3.0, 1.0, 2.0]), median(vec![5.0]), median(Vec::new())], [2.0, 5.0, 0.0]);
    }

    #[test]
    fn ratios_are_those_of_rounds() {
        // The machine is ten times as slow in the second round.
        assert_eq!(ratio(&[2.0, 20.0, 2.0], &[1.0, 10.0, 3.0]), [0.5, 0.5, 1.5]);
    }
}
