//! Which cases are run, side by side, and what is each one worth?

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::case::{Case, Level, Word};
use super::compose;
use super::expression::Scope;
use super::http;
use super::perform::{Logged, perform};
use super::target::Target;
use super::trouble::Trouble;

/// Cases wait for answers most of the time, so there are more threads than processors.
const THREADS: usize = 16;

/// What a case is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// The target does what the case says.
    Pass,
    /// The target breaks a MUST.
    Fail,
    /// The target breaks a SHOULD.
    Warn,
    /// The target does not claim what the case needs.
    Skip,
    /// The target's profile does not declare a choice that the case needs.
    Undeclared,
    /// The case could not be tried.
    SetupError,
}

impl Grade {
    /// All of them, in the order in which reports count them.
    pub const ALL: [Self; 6] =
        [Self::Pass, Self::Fail, Self::Warn, Self::Skip, Self::Undeclared, Self::SetupError];

    /// The name.
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

    /// Whether a target may claim the level or profile in spite of it.
    #[must_use]
    pub fn is_fine(self) -> bool {
        matches!(self, Self::Pass | Self::Warn | Self::Skip)
    }
}

/// What became of a case.
#[derive(Debug)]
pub struct Verdict {
    /// The case.
    pub case: Case,
    /// What it is worth.
    pub grade: Grade,
    /// Why, one line each.
    pub reasons: Vec<String>,
    /// What was sent and what came back.
    pub log: Vec<Logged>,
    /// Why the target is known not to pass, where its profile says so.
    pub known: Option<String>,
    /// How long it took.
    pub took: Duration,
}

impl Verdict {
    /// Whether a run may end well in spite of it.
    #[must_use]
    pub fn is_fine(&self) -> bool {
        self.grade.is_fine() || self.known.is_some()
    }

    /// Whether the target may claim what the case belongs to: it passes, or is a SHOULD, which stands in nobody's
    /// way.
    fn allows_claim(&self) -> bool {
        self.grade == Grade::Pass || self.case.word == Word::Should
    }
}

/// Which cases are run.
#[derive(Debug, Clone, Default)]
pub struct Choose {
    /// Up to this level.
    pub level: Option<Level>,
    /// Of these profiles only, and of none of them where there are none.
    pub profiles: Vec<String>,
    /// With these texts in their ids.
    pub ids: Vec<String>,
    /// Leaves out those that wait for time to pass.
    pub quick: bool,
    /// Tries the cases even where the probe does not find the fixture.
    pub blind: bool,
}

impl Choose {
    fn takes(&self, case: &Case) -> bool {
        let level = self.level.is_none_or(|level| case.level <= level);
        let named = |name: &String| case.profile.as_ref() == Some(name);
        let profile = self.profiles.is_empty() || self.profiles.iter().any(named);
        let id = self.ids.is_empty() || self.ids.iter().any(|id| case.id.contains(id.as_str()));
        level && profile && id && !(self.quick && case.slow)
    }
}

/// Everything that came of a run.
#[derive(Debug)]
pub struct Report {
    /// The target's name.
    pub target: String,
    /// One verdict a case, in the order of the cases.
    pub verdicts: Vec<Verdict>,
    /// How long it took.
    pub took: Duration,
    /// Whether cases were left out by the choice of them.
    pub partial: bool,
}

/// Runs the chosen cases against a target.
#[must_use]
pub fn run(cases: &[Case], target: &Target, choose: &Choose) -> Report {
    let start = Instant::now();
    let chosen: Vec<&Case> = cases.iter().filter(|case| choose.takes(case)).collect();
    let missing = if choose.blind { BTreeMap::new() } else { probe(target) };
    // What waits begins first, so that nothing waits for it.
    let mut order: Vec<usize> = (0..chosen.len()).collect();
    order.sort_by_key(|index| chosen.get(*index).is_some_and(|case| !case.slow));
    let next = AtomicUsize::new(0);
    let verdicts: Mutex<Vec<(usize, Verdict)>> = Mutex::default();
    std::thread::scope(|threads| {
        for _ in 0..THREADS {
            threads.spawn(|| {
                while let Some(index) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Some(case) = chosen.get(*index) else { continue };
                    let verdict = judge(case, target, &missing);
                    verdicts.lock().expect("no case panics").push((*index, verdict));
                }
            });
        }
    });
    let mut verdicts = verdicts.into_inner().expect("no case panics");
    verdicts.sort_by_key(|(index, _)| *index);
    Report {
        target: target.profile.name.clone(),
        partial: chosen.len() < cases.len(),
        verdicts: verdicts.into_iter().map(|(_, verdict)| verdict).collect(),
        took: start.elapsed(),
    }
}

/// Whether each server of the target has the fixture; what is wrong where it has not.
fn probe(target: &Target) -> BTreeMap<String, String> {
    let mut missing = BTreeMap::new();
    for (settings, place) in target.places() {
        let send = super::case::Send {
            path: "/tag/1".to_owned(),
            query: Some(serde_json::json!({"tag": {"$select": {"name": true}}})),
            ..super::case::Send::default()
        };
        // Where a plain read is refused by the very settings, an answer of whatever kind has to do.
        let any_answer = ["only", "bound", "brief", "rated"].contains(&settings);
        let scope = Scope::new(&target.profile);
        let answer = match compose::request(&send, settings, target, &scope) {
            Ok(request) => http::send(&place.authority, &request),
            Err(
                Trouble::Setup(why) | Trouble::Fault(why) | Trouble::Undeclared(why) | Trouble::Skip(why),
            ) => Err(why),
        };
        match answer {
            Ok(response) if any_answer || response.text().contains("\"code\"") && response.status == 200 => {}
            Ok(response) => {
                let got: String = response.text().chars().take(200).collect();
                let why =
                    format!("the fixture is not there: tag 1 is not 'code' but {} {got}", response.status);
                missing.insert(settings.to_owned(), why);
            }
            Err(why) => {
                missing.insert(settings.to_owned(), why);
            }
        }
    }
    missing
}

fn judge(case: &Case, target: &Target, missing: &BTreeMap<String, String>) -> Verdict {
    let start = Instant::now();
    let known = target.profile.known.get(&case.id);
    let verdict = |grade, reasons, log| {
        let known = known.cloned();
        Verdict { case: case.clone(), grade, reasons, log, known, took: start.elapsed() }
    };
    if !target.profile.claims(case.level, case.profile.as_deref()) {
        let what = format!(
            "the target does not claim {} {}",
            case.level.name(),
            case.profile.as_deref().unwrap_or("")
        );
        return verdict(Grade::Skip, vec![what.trim_end().to_owned()], Vec::new());
    }
    if let Some(why) = target.settings(case).ok().and_then(|settings| missing.get(&settings)) {
        return verdict(Grade::SetupError, vec![why.clone()], Vec::new());
    }
    let (outcome, log) = perform(case, target);
    let Err(troubles) = outcome else {
        let Some(why) = known else { return verdict(Grade::Pass, Vec::new(), log) };
        let stale = format!("it passes, so the profile should no longer list it as known ({why})");
        let mut verdict = verdict(Grade::Fail, vec![stale], log);
        verdict.known = None;
        return verdict;
    };
    let broken = match case.word {
        Word::Must => Grade::Fail,
        Word::Should => Grade::Warn,
    };
    let grade = troubles.first().map_or(broken, |trouble| match trouble {
        Trouble::Fault(_) => broken,
        Trouble::Undeclared(_) => Grade::Undeclared,
        Trouble::Setup(_) => Grade::SetupError,
        Trouble::Skip(_) => Grade::Skip,
    });
    let reasons = troubles.into_iter().map(|trouble| match trouble {
        Trouble::Fault(why) | Trouble::Undeclared(why) | Trouble::Setup(why) | Trouble::Skip(why) => why,
    });
    verdict(grade, reasons.collect(), log)
}

impl Report {
    /// How many cases got a grade.
    #[must_use]
    pub fn count(&self, grade: Grade) -> usize {
        self.verdicts.iter().filter(|verdict| verdict.grade == grade).count()
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_good(&self) -> bool {
        !self.verdicts.is_empty() && self.verdicts.iter().all(Verdict::is_fine)
    }

    /// The ids of the cases with a grade.
    #[must_use]
    pub fn ids(&self, grade: Grade) -> Vec<&str> {
        self.verdicts
            .iter()
            .filter(|verdict| verdict.grade == grade)
            .map(|verdict| verdict.case.id.as_str())
            .collect()
    }

    /// The highest level that the target may claim: all its cases, and those of the levels below, are fine,
    /// and none of them was skipped for want of the claim.
    #[must_use]
    pub fn level(&self) -> Option<Level> {
        let fine = |level: Level| {
            let mut of_level =
                self.verdicts.iter().filter(|v| v.case.profile.is_none() && v.case.level == level).peekable();
            of_level.peek().is_some() && of_level.all(Verdict::allows_claim)
        };
        Level::ALL.into_iter().take_while(|level| fine(*level)).last()
    }

    /// The profiles that the target may claim.
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

    /// What the target may claim, in one line.
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
