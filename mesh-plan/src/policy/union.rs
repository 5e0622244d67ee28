//! The union of the rights that several rules grant to a role.
//!
//! A record is visible if one of the rules grants it, and so are its fields. Conditions apply to records, not to fields, so
//! rules cannot be combined if one of them grants a field on its records, and another grants other records without the field.

use std::collections::{BTreeMap, BTreeSet};

use mesh_schema::{Entity, Member};

use super::{Access, Condition, Preset, RecordUse, Visibility};

/// A rule of a role.
struct Rule<'r> {
    role: &'r str,
    access: &'r Access,
    reads: BTreeSet<&'r str>,
    creates: BTreeSet<&'r str>,
    updates: BTreeSet<&'r str>,
    deletes: bool,
}

/// Names that a rule grants on the records that fulfill its conditions.
struct Grant<'r> {
    role: &'r str,
    names: &'r BTreeSet<&'r str>,
    conditions: Vec<&'r [Condition]>,
}

/// Returns the rights that at least one of the rules grants. Each rule comes with its role. An error states why the rules
/// cannot be combined.
pub(super) fn any_of(entity: &Entity, rules: &[(&str, Access)]) -> Result<Access, String> {
    let rules: Vec<Rule<'_>> = rules.iter().map(|(role, access)| Rule::new(entity, role, access)).collect();
    let creating = || rules.iter().filter(|rule| entity.is_creatable() && !rule.creates.is_empty());
    let updating = || rules.iter().filter(|rule| entity.is_updatable() && !rule.updates.is_empty());
    let grants = |has_right: fn(&Rule<'_>) -> bool| rules.iter().filter(move |rule| has_right(rule));
    let reads = merge_grants("read", rules.iter().map(|rule| rule.grant(&rule.reads, &[RecordUse::Read])))?;
    let creates =
        merge_grants("create", creating().map(|rule| rule.grant(&rule.creates, &[RecordUse::Created])))?;
    let uses = [RecordUse::Update, RecordUse::Updated];
    let updates = merge_grants("update", updating().map(|rule| rule.grant(&rule.updates, &uses)))?;
    let created = shared_presets(creating(), |preset| preset.on_create)?;
    let created = created.into_iter().map(|preset| Preset { on_update: false, ..preset });
    let updated = shared_presets(updating(), |preset| preset.on_update)?;
    let updated = updated.into_iter().map(|preset| Preset { on_create: false, ..preset });
    let deletes = grants(|rule| rule.deletes).count() > 0;
    let is_relation = |name: &&str| matches!(entity.member(name), Some(Member::Relation(_)));
    let name_set = |names: &BTreeSet<&str>| names.iter().map(|name| (*name).to_owned()).collect();
    Ok(Access {
        allowed: true,
        only: Some(name_set(&reads)),
        except: entity
            .names()
            .filter(|name| is_relation(name) && !reads.contains(name))
            .map(str::to_owned)
            .collect(),
        dropped: BTreeSet::new(),
        conditions: disjunction(rules.iter().map(|rule| rule.access.conditions_of(RecordUse::Read))),
        write_conditions: BTreeMap::from([
            (
                RecordUse::Update,
                disjunction(updating().map(|rule| rule.access.conditions_of(RecordUse::Update))),
            ),
            (
                RecordUse::Delete,
                disjunction(
                    grants(|rule| rule.deletes).map(|rule| rule.access.conditions_of(RecordUse::Delete)),
                ),
            ),
            (
                RecordUse::Created,
                disjunction(creating().map(|rule| rule.access.conditions_of(RecordUse::Created))),
            ),
            (
                RecordUse::Updated,
                disjunction(updating().map(|rule| rule.access.conditions_of(RecordUse::Updated))),
            ),
        ]),
        presets: created.chain(updated).collect(),
        create: Some(name_set(&creates)),
        update: Some(name_set(&updates)),
        denies_deletion: !deletes,
    })
}

impl<'r> Rule<'r> {
    fn new(entity: &'r Entity, role: &'r str, access: &'r Access) -> Self {
        let is_shown = |name: &&str| {
            entity
                .member(name)
                .is_some_and(|member| access.visibility(entity, name, member) == Visibility::Shown)
        };
        let reads: BTreeSet<&str> = entity.names().filter(is_shown).collect();
        let writes = |allowed: &Option<BTreeSet<String>>, is_used: fn(&Preset) -> bool| {
            let is_preset = |name: &str| {
                access.presets.iter().filter(|preset| is_used(preset)).any(|preset| preset.field == name)
            };
            // The restricted schema also excludes what the entity does not permit.
            let is_granted = |name: &&str| {
                allowed.as_ref().is_none_or(|allowed| allowed.contains(*name))
                    && reads.contains(name)
                    && !is_preset(name)
            };
            entity.fields.iter().map(|field| field.name.as_str()).filter(is_granted).collect()
        };
        let creates = writes(&access.create, |preset| preset.on_create);
        let updates = writes(&access.update, |preset| preset.on_update);
        Self { role, access, creates, updates, reads, deletes: !access.denies_deletion && entity.deletable }
    }

    fn grant<'g>(&'g self, names: &'g BTreeSet<&'g str>, uses: &[RecordUse]) -> Grant<'g> {
        Grant {
            role: self.role,
            names,
            conditions: uses.iter().map(|record_use| self.access.conditions_of(*record_use)).collect(),
        }
    }
}

/// Returns all names that are granted. An error names one that is not granted on all records.
fn merge_grants<'g>(
    action: &str,
    grants: impl Iterator<Item = Grant<'g>>,
) -> Result<BTreeSet<&'g str>, String> {
    let grants: Vec<Grant<'g>> = grants.collect();
    let all: BTreeSet<&str> = grants.iter().flat_map(|grant| grant.names.iter().copied()).collect();
    for grant in &grants {
        for name in all.iter().filter(|name| !grant.names.contains(*name)) {
            let mut others = grants.iter().filter(|other| other.names.contains(name)).peekable();
            let role = others.peek().map_or("", |other| other.role);
            let covers = |other: &Grant<'_>| {
                let mut pairs = other.conditions.iter().zip(&grant.conditions);
                pairs.all(|(other, own)| other.is_empty() || other == own)
            };
            if !others.any(covers) {
                return Err(format!(
                    "'{role}' may {action} '{name}' and '{}' may not, and their conditions differ; give both rules the \
                     same fields or the same conditions",
                    grant.role
                ));
            }
        }
    }
    Ok(all)
}

/// Returns the presets of these rules, which must be the same in all of them.
fn shared_presets<'r>(
    rules: impl Iterator<Item = &'r Rule<'r>>,
    is_used: impl Fn(&Preset) -> bool,
) -> Result<Vec<Preset>, String> {
    let mut rules = rules.map(|rule| {
        let presets: Vec<Preset> = rule.access.presets.iter().filter(|it| is_used(it)).cloned().collect();
        (rule.role, presets)
    });
    let Some((first, presets)) = rules.next() else { return Ok(Vec::new()) };
    match rules.find(|(_, others)| *others != presets) {
        Some((role, _)) => Err(format!(
            "'{first}' and '{role}' have different values of '$set' or '$setOnCreate'; give both rules the same values"
        )),
        None => Ok(presets),
    }
}

/// Returns the condition that all conditions of at least one rule hold. A rule without conditions holds for all records.
fn disjunction<'r>(rules: impl Iterator<Item = &'r [Condition]>) -> Vec<Condition> {
    let mut parts = Vec::new();
    for conditions in rules {
        let part = match conditions {
            [] => return Vec::new(),
            [one] => one.clone(),
            conditions => Condition::All(conditions.to_vec()),
        };
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    match parts.len() {
        1 => parts,
        // If no rule grants the right, the list is empty, and the condition holds for no record.
        _ => vec![Condition::Any(parts)],
    }
}
