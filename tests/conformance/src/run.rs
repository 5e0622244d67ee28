//! Running cases in parallel and grading them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::case::{Case, Level, Requirement};
use crate::compose;
use crate::execute::{LoggedExchange, execute};
use crate::expression::Scope;
use crate::failure::Failure;
use crate::http;
use crate::target::Target;

/// The number of threads. Cases mostly wait for responses, so there are more threads than processors.
const THREADS: usize = 16;

/// The grade of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// The target behaves as expected.
    Pass,
    /// The target violates a MUST.
    Fail,
    /// The target violates a SHOULD.
    Warn,
    /// The target does not claim what the case requires.
    Skip,
    /// The target's profile does not declare a choice that the case needs.
    Undeclared,
    /// The case could not be executed.
    SetupError,
}

impl Grade {
    /// All grades, in the order of reports.
    pub const ALL: [Self; 6] =
        [Self::Pass, Self::Fail, Self::Warn, Self::Skip, Self::Undeclared, Self::SetupError];

    /// Returns the name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Warn => "warn",
            Self::Skip => "skip",
            Self::Undeclared => "undeclared",
            Self::SetupError => "setup-error",
        }
    }

    /// Returns whether a run with this grade can succeed.
    #[must_use]
    pub fn is_fine(self) -> bool {
        matches!(self, Self::Pass | Self::Warn | Self::Skip)
    }
}

/// The outcome of a case.
#[derive(Debug)]
pub struct Verdict {
    /// The case.
    pub case: Case,
    /// The grade.
    pub grade: Grade,
    /// The reasons, one line each.
    pub reasons: Vec<String>,
    /// The exchanges.
    pub log: Vec<LoggedExchange>,
    /// Why the target is known to fail the case, if its profile lists it.
    pub known: Option<String>,
    /// Whether the case applies to a target with these profiles. A case that does not apply has no effect on claims.
    pub applies: bool,
    /// The duration.
    pub took: Duration,
}

impl Verdict {
    /// Returns whether a run with this verdict can succeed.
    #[must_use]
    pub fn is_fine(&self) -> bool {
        self.grade.is_fine() || self.known.is_some()
    }

    /// Returns whether the target may claim the level or profile of the case. Violating a SHOULD does not prevent it.
    fn allows_claim(&self) -> bool {
        self.grade == Grade::Pass || self.case.requirement == Requirement::Should || !self.applies
    }
}

/// Which cases are run, and how.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Cases up to this level.
    pub level: Option<Level>,
    /// Cases of these profiles only; all cases if empty.
    pub profiles: Vec<String>,
    /// Cases with one of these texts in the id; all cases if empty.
    pub ids: Vec<String>,
    /// Excludes slow cases.
    pub quick: bool,
    /// Runs cases without first checking that the servers have the fixture.
    pub skip_probe: bool,
    /// Runs one case after the other.
    pub serial: bool,
    /// Ends the run at the first failure in the order of the cases.
    pub fail_fast: bool,
}

impl Selection {
    fn includes(&self, case: &Case) -> bool {
        let level = self.level.is_none_or(|level| case.level <= level);
        let named = |name: &String| case.profile.as_ref() == Some(name);
        let profile = self.profiles.is_empty() || self.profiles.iter().any(named);
        let id = self.ids.is_empty() || self.ids.iter().any(|id| case.id.contains(id.as_str()));
        level && profile && id && !(self.quick && case.slow)
    }
}

/// The result of a run.
#[derive(Debug)]
pub struct Report {
    /// The name of the target.
    pub target: String,
    /// One verdict per case, in the order of the cases.
    pub verdicts: Vec<Verdict>,
    /// The duration.
    pub took: Duration,
    /// Whether cases were not run.
    pub partial: bool,
    /// Why no server of the target could be tested, at the beginning or at the end of the run.
    pub unreachable: Option<String>,
}

/// Runs the selected cases against a target.
#[must_use]
pub fn run(cases: &[Case], target: &Target, selection: &Selection) -> Report {
    let start = Instant::now();
    let chosen: Vec<&Case> = cases.iter().filter(|case| selection.includes(case)).collect();
    let missing = if selection.skip_probe { BTreeMap::new() } else { probe(target) };
    let mut unreachable = all_missing(target, &missing);
    let mut order: Vec<usize> = (0..chosen.len()).collect();
    if !selection.serial && !selection.fail_fast {
        // Slow cases begin first, which shortens the run.
        order.sort_by_key(|index| chosen.get(*index).is_some_and(|case| !case.slow));
    }
    let (next, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    let verdicts: Mutex<Vec<(usize, Verdict)>> = Mutex::default();
    std::thread::scope(|threads| {
        for _ in 0..if selection.serial { 1 } else { THREADS } {
            threads.spawn(|| {
                while let Some(index) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Some(case) = chosen.get(*index) else { continue };
                    if ended.load(Ordering::Relaxed) {
                        break;
                    }
                    let verdict = judge(case, target, &missing);
                    if selection.fail_fast && !verdict.is_fine() {
                        ended.store(true, Ordering::Relaxed);
                    }
                    verdicts.lock().unwrap_or_else(PoisonError::into_inner).push((*index, verdict));
                }
            });
        }
    });
    let mut verdicts = verdicts.into_inner().unwrap_or_else(PoisonError::into_inner);
    verdicts.sort_by_key(|(index, _)| *index);
    // Cases begin in order, so every case before the first failure has ended, and so may have some after it.
    let first = verdicts.iter().position(|(_, verdict)| selection.fail_fast && !verdict.is_fine());
    verdicts.truncate(first.map_or(verdicts.len(), |first| first + 1));
    let has_ended = |(_, verdict): &(usize, Verdict)| verdict.grade == Grade::SetupError;
    if unreachable.is_none() && !selection.skip_probe && verdicts.iter().any(has_ended) {
        unreachable = all_missing(target, &probe(target));
    }
    Report {
        target: target.profile.name.clone(),
        partial: verdicts.len() < cases.len(),
        unreachable,
        verdicts: verdicts.into_iter().map(|(_, verdict)| verdict).collect(),
        took: start.elapsed(),
    }
}

/// Returns a reason if no server of the target can be tested.
fn all_missing(target: &Target, missing: &BTreeMap<String, String>) -> Option<String> {
    let is_missing = |(settings, _)| missing.contains_key(settings);
    let reason = missing.values().next().cloned();
    reason.filter(|_| target.base_urls().all(is_missing))
}

/// Checks that each server of the target has the fixture; returns the reasons by settings for those without.
fn probe(target: &Target) -> BTreeMap<String, String> {
    let mut missing = BTreeMap::new();
    for (settings, url) in target.base_urls() {
        let send = crate::case::Send {
            path: "/tag/1".to_owned(),
            query: Some(json!({"tag": {"$select": {"name": true}}})),
            headers: credential(settings),
            ..crate::case::Send::default()
        };
        // Some settings refuse a plain read; any response shows that the server is running.
        let any_answer = ["only", "strict", "brief", "rated", "metered"].contains(&settings);
        let scope = Scope::new(&target.profile);
        let answer = match compose::request(&send, settings, target, &scope) {
            Ok(request) => http::send(&url.authority, &request),
            Err(
                Failure::Setup(why) | Failure::Mismatch(why) | Failure::Undeclared(why) | Failure::Skip(why),
            ) => Err(why),
        };
        match answer {
            Ok(response) if any_answer || response.text().contains("\"code\"") && response.status == 200 => {}
            Ok(response) => {
                let got: String = response.text().chars().take(200).collect();
                let why = format!(
                    "the server does not have the fixture: tag 1 should be 'code', got {} {got}",
                    response.status
                );
                missing.insert(settings.to_owned(), why);
            }
            Err(why) => {
                missing.insert(settings.to_owned(), why);
            }
        }
    }
    missing
}

/// Returns the headers that the server with these settings requires for a read, if it accepts bearers.
fn credential(settings: &str) -> Map<String, Value> {
    let token = match settings {
        "bearer" | "bearer-signed" => json!({"@jwt": {}}),
        "bearer-keys" => json!({"@jwt": {"key": "es"}}),
        _ => return Map::new(),
    };
    Map::from_iter([("Authorization".to_owned(), json!({"@join": ["Bearer ", token]}))])
}

fn judge(case: &Case, target: &Target, missing: &BTreeMap<String, String>) -> Verdict {
    let start = Instant::now();
    let known = target.profile.known.get(&case.id);
    let excluded = case.excluded_by(|name| target.profile.claims_profile(name));
    let verdict = |grade, reasons, log| {
        let known = known.cloned();
        Verdict {
            case: case.clone(),
            grade,
            reasons,
            log,
            known,
            applies: excluded.is_none(),
            took: start.elapsed(),
        }
    };
    if !target.profile.claims(case.level, case.profile.as_deref()) {
        let profile = case.profile.as_deref().filter(|name| !target.profile.claims_profile(name));
        let what = profile.unwrap_or_else(|| case.level.name());
        return verdict(Grade::Skip, vec![format!("the target does not claim {what}")], Vec::new());
    }
    if let Some(name) = excluded {
        let does = if case.with.iter().any(|used| used == name) { "does not claim" } else { "claims" };
        return verdict(Grade::Skip, vec![format!("the target {does} {name}")], Vec::new());
    }
    if let Some(why) = target.settings(case).ok().and_then(|settings| missing.get(&settings)) {
        return verdict(Grade::SetupError, vec![why.clone()], Vec::new());
    }
    let (outcome, log) = execute(case, target);
    let Err(failures) = outcome else {
        let Some(why) = known else { return verdict(Grade::Pass, Vec::new(), log) };
        let stale = format!("the case passes, so remove it from the known failures of the profile ({why})");
        let mut verdict = verdict(Grade::Fail, vec![stale], log);
        verdict.known = None;
        return verdict;
    };
    let broken = match case.requirement {
        Requirement::Must => Grade::Fail,
        Requirement::Should => Grade::Warn,
    };
    let grade = failures.first().map_or(broken, |failure| match failure {
        Failure::Mismatch(_) => broken,
        Failure::Undeclared(_) => Grade::Undeclared,
        Failure::Setup(_) => Grade::SetupError,
        Failure::Skip(_) => Grade::Skip,
    });
    let reasons = failures.into_iter().map(|failure| match failure {
        Failure::Mismatch(why) | Failure::Undeclared(why) | Failure::Setup(why) | Failure::Skip(why) => why,
    });
    verdict(grade, reasons.collect(), log)
}

impl Report {
    /// Counts the cases with a grade.
    #[must_use]
    pub fn count(&self, grade: Grade) -> usize {
        self.verdicts.iter().filter(|verdict| verdict.grade == grade).count()
    }

    /// Returns whether at least one case was run and no verdict is a failure.
    #[must_use]
    pub fn is_good(&self) -> bool {
        !self.verdicts.is_empty() && self.verdicts.iter().all(Verdict::is_fine)
    }

    /// Returns the ids of the cases with a grade.
    #[must_use]
    pub fn ids(&self, grade: Grade) -> Vec<&str> {
        self.verdicts
            .iter()
            .filter(|verdict| verdict.grade == grade)
            .map(|verdict| verdict.case.id.as_str())
            .collect()
    }

    /// Returns the highest level that the target may claim: all cases of it and of the lower levels pass, apart from
    /// SHOULD rules, and none was skipped.
    #[must_use]
    pub fn level(&self) -> Option<Level> {
        let fine = |level: Level| {
            let mut of_level =
                self.verdicts.iter().filter(|v| v.case.profile.is_none() && v.case.level == level).peekable();
            of_level.peek().is_some() && of_level.all(Verdict::allows_claim)
        };
        Level::ALL.into_iter().take_while(|level| fine(*level)).last()
    }

    /// Returns the profiles that the target may claim.
    #[must_use]
    pub fn profiles(&self) -> Vec<&str> {
        let mut profiles: BTreeMap<&str, bool> = BTreeMap::new();
        for verdict in &self.verdicts {
            if let Some(name) = verdict.case.profile.as_deref() {
                let good = verdict.allows_claim();
                let entry = profiles.entry(name).or_insert(true);
                *entry &= good;
            }
        }
        profiles.into_iter().filter(|(_, good)| *good).map(|(name, _)| name).collect()
    }

    /// Describes the claim in one line.
    #[must_use]
    pub fn claim(&self) -> String {
        let level = self.level().map_or("no level", Level::name);
        let profiles = self.profiles();
        let partial = if self.partial { " (of the cases that were run)" } else { "" };
        if profiles.is_empty() {
            format!("{} may claim {level}{partial}", self.target)
        } else {
            format!("{} may claim {level} and the profiles {}{partial}", self.target, profiles.join(", "))
        }
    }
}
