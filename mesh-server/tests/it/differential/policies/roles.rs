//! Random policies: the rules of each role, including the rules that it inherits.

use std::collections::BTreeSet;

use mesh_plan::policy::SchemaPolicy;
use mesh_schema::{Document, Schema};
use serde_json::{Map, Value as Json, json};

use super::super::data::Entity;
use super::super::dice::Dice;
use super::rules::Rule;

/// The roles of each database. `*` is that of requests without a session and of roles that are not listed. A role inherits
/// from later ones only, so none inherits itself.
const NAMES: [&str; 4] = [HEIR, "reader", "owner", "*"];

/// The role that always inherits, which is tested most.
pub(super) const HEIR: &str = "heir";

/// The access of a role.
pub(super) struct Role {
    pub(super) name: &'static str,
    /// The rules for each entity: its own, and those of inherited roles. A role without rules does not see the entity.
    pub(super) rules: Vec<Vec<Rule>>,
}

impl Role {
    /// Returns the entities as the role can name them. Indexes do not change.
    pub(super) fn seen(&self, entities: &[Entity]) -> Vec<Entity> {
        let mut seen = entities.to_vec();
        for (at, entity) in seen.iter_mut().enumerate() {
            let is_seen = |name: &String| self.shows(at, name);
            entity.relations.retain(|relation| self.sees(relation.target) && is_seen(&relation.name));
            if self.sees(at) {
                entity.fields.retain(|field| is_seen(&field.name));
                entity.computed.retain(|computed| is_seen(&computed.name));
            }
        }
        seen
    }

    /// Returns whether the role sees an entity.
    pub(super) fn sees(&self, at: usize) -> bool {
        !self.rules[at].is_empty()
    }

    /// Returns whether the role sees a member of an entity.
    pub(super) fn shows(&self, at: usize, name: &str) -> bool {
        self.rules[at].iter().any(|rule| !rule.hidden.contains(name))
    }
}

/// The part of a role in the document.
struct Listed {
    name: &'static str,
    inherits: Vec<&'static str>,
    /// A rule for each entity; `None` gives no right to it.
    rules: Vec<Option<Rule>>,
}

/// The policies of a document.
pub(super) struct Policies {
    listed: Vec<Listed>,
    entities: Vec<Entity>,
}

impl Policies {
    /// Returns policies in which each role sees at least one entity.
    pub(super) fn random(dice: &mut Dice, entities: &[Entity], can_write: bool) -> Self {
        let mut listed = Vec::new();
        for (number, name) in NAMES.into_iter().enumerate() {
            let mut rules: Vec<_> = (0..entities.len())
                .map(|at| (!dice.chance(20)).then(|| Rule::random(dice, entities, at)))
                .collect();
            if rules.iter().all(Option::is_none) {
                let at = dice.below(entities.len());
                rules[at] = Some(Rule::random(dice, entities, at));
            }
            if can_write {
                for (at, rule) in rules.iter_mut().enumerate() {
                    if let Some(rule) = rule {
                        rule.allow_writes(dice, entities, at);
                    }
                }
            }
            let others = &NAMES[number + 1..];
            let most = match number {
                0 => 1 + dice.below(others.len()),
                _ if dice.chance(20) => 1,
                _ => 0,
            };
            listed.push(Listed { name, inherits: dice.some(others, most), rules });
        }
        let mut policies = Self { listed, entities: entities.to_vec() };
        for at in 0..entities.len() {
            policies.reconcile(dice, at);
        }
        policies
    }

    /// Changes the rules for an entity so that their grants can usually be combined.
    fn reconcile(&mut self, dice: &mut Dice, at: usize) {
        let mut rules: Vec<_> = self.listed.iter_mut().filter_map(|role| role.rules[at].as_mut()).collect();
        let choice = dice.below(10);
        let Some((first, others)) = rules.split_first_mut() else { return };
        match choice {
            0..=4 => others.iter_mut().for_each(|rule| {
                rule.grant_as(first);
                // Rules that grant nothing of a kind can be combined with all others.
                rule.writable.limit(dice);
            }),
            // The rules that grant less have the conditions of those that grant more.
            5 | 6 => others.iter_mut().for_each(|rule| {
                (rule.condition, rule.check) = (first.condition.clone(), first.check.clone());
                rule.preset_as(first);
            }),
            // One rule grants all on all records.
            7 => {
                first.show_all();
                (first.condition, first.check) = (None, None);
            }
            _ => {}
        }
    }

    /// Adds the policies to a document, and returns it with its roles. Rules that cannot be combined must be refused;
    /// such roles then inherit nothing.
    pub(super) fn add_to(
        mut self,
        document: &Document,
        load: impl Fn(&Document) -> Schema,
    ) -> Result<(Document, Vec<Role>), String> {
        let mut conflicts = self.conflicts();
        loop {
            let mut with_policies: Json = serde_json::from_str(&document.to_json()).unwrap();
            with_policies["policies"] = self.to_json();
            let with_policies = with_policies.to_string();
            let document = Document::parse(&with_policies)
                .map_err(|faults| format!("{}\n{with_policies}", faults[0]))?;
            let found = SchemaPolicy::from_schema(&load(&document)).err();
            let found: BTreeSet<String> =
                found.iter().flat_map(|faults| faults.iter()).map(|fault| fault.path.clone()).collect();
            let expected: BTreeSet<_> = conflicts
                .iter()
                .map(|(role, at)| format!("policies.{role}.{}", self.entities[*at].key))
                .collect();
            if found != expected {
                return Err(format!("refused are {found:?} instead of {expected:?}\n{with_policies}"));
            }
            if conflicts.is_empty() {
                return Ok((document, self.roles()));
            }
            for role in self.listed.iter_mut().filter(|role| conflicts.iter().any(|it| it.0 == role.name)) {
                role.inherits.clear();
            }
            conflicts = self.conflicts();
        }
    }

    fn to_json(&self) -> Json {
        let roles = self.listed.iter().map(|role| {
            let mut rules = Map::new();
            if !role.inherits.is_empty() {
                rules.insert("$inherits".to_owned(), json!(role.inherits));
            }
            for (rule, entity) in role.rules.iter().zip(&self.entities) {
                if let Some(rule) = rule {
                    rules.insert(entity.key.to_owned(), rule.to_json(entity));
                }
            }
            (role.name.to_owned(), Json::Object(rules))
        });
        Json::Object(roles.collect())
    }

    fn roles(&self) -> Vec<Role> {
        let rules = |role| (0..self.entities.len()).map(|at| self.rules(role, at)).collect();
        self.listed.iter().map(|role| Role { name: role.name, rules: rules(role) }).collect()
    }

    /// Returns the rules of a role for an entity, without duplicates.
    fn rules(&self, role: &Listed, at: usize) -> Vec<Rule> {
        let mut rules: Vec<_> = role.rules[at].clone().into_iter().collect();
        for inherited in self.listed.iter().filter(|other| role.inherits.contains(&other.name)) {
            for rule in self.rules(inherited, at) {
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
        }
        rules
    }

    /// Returns the roles with an entity for which their rules cannot be combined.
    fn conflicts(&self) -> Vec<(&'static str, usize)> {
        let inheriting = self.listed.iter().filter(|role| !role.inherits.is_empty());
        let pairs = inheriting.flat_map(|role| (0..self.entities.len()).map(move |at| (role, at)));
        let in_conflict =
            |(role, at): &(&Listed, usize)| is_conflict(&self.entities[*at], &self.rules(role, *at));
        pairs.filter(in_conflict).map(|(role, at)| (role.name, at)).collect()
    }
}

/// Returns whether a name is granted on some records only, or records are written with different presets.
fn is_conflict(entity: &Entity, rules: &[Rule]) -> bool {
    let names = || {
        let fields = entity.fields.iter().map(|field| &*field.name);
        let computed = entity.computed.iter().map(|computed| &*computed.name);
        fields.chain(computed).chain(entity.relations.iter().map(|relation| &*relation.name))
    };
    let reads = rules.iter().map(|rule| Grant {
        names: names().filter(|name| !rule.hidden.contains(*name)).collect(),
        conditions: vec![rule.condition.as_ref()],
    });
    let creating: Vec<_> = rules.iter().filter(|rule| !rule.writes(true).is_empty()).collect();
    let updating: Vec<_> = rules.iter().filter(|rule| !rule.writes(false).is_empty()).collect();
    let creates =
        creating.iter().map(|rule| Grant { names: rule.writes(true), conditions: vec![rule.written()] });
    let updates = updating.iter().map(|rule| Grant {
        names: rule.writes(false),
        conditions: vec![rule.condition.as_ref(), rule.written()],
    });
    rules.len() > 1
        && (are_partial(&reads.collect::<Vec<_>>())
            || are_partial(&creates.collect::<Vec<_>>())
            || are_partial(&updates.collect::<Vec<_>>())
            || creating.windows(2).any(|two| two[0].set_on_create != two[1].set_on_create)
            || creating.windows(2).any(|two| two[0].set != two[1].set)
            || updating.windows(2).any(|two| two[0].set != two[1].set))
}

/// Names that are granted on the records that fulfill all of the conditions.
struct Grant<'r> {
    names: BTreeSet<&'r str>,
    conditions: Vec<Option<&'r Json>>,
}

/// Returns whether a name is granted on records for which another one is not known to be granted.
fn are_partial(grants: &[Grant<'_>]) -> bool {
    let includes = |larger: &Grant<'_>, smaller: &Grant<'_>| {
        let mut pairs = larger.conditions.iter().zip(&smaller.conditions);
        pairs.all(|(larger, smaller)| larger.is_none() || larger == smaller)
    };
    let all: BTreeSet<_> = grants.iter().flat_map(|grant| &grant.names).collect();
    grants.iter().any(|grant| {
        let of_others = all.iter().filter(|name| !grant.names.contains(**name));
        let is_granted =
            |name: &str| grants.iter().any(|other| other.names.contains(name) && includes(other, grant));
        of_others.into_iter().any(|name| !is_granted(name))
    })
}
