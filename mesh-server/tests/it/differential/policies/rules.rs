//! Random rules for reading and writing an entity, and random sessions of a role.

use std::collections::BTreeSet;

use mesh_plan::Principal;
use mesh_ql::Literal;
use serde_json::{Map, Value as Json, json};

use super::super::data::{Entity, Field};
use super::super::dice::Dice;
use super::super::kind::{Kind, TEXTS};

/// The access of a role to an entity.
#[derive(Clone, PartialEq)]
pub(super) struct Rule {
    /// The names of hidden fields, computed fields and relations.
    pub(super) hidden: BTreeSet<String>,
    /// The names in `except`. If there are none, `fields` lists the names that are not hidden.
    except: BTreeSet<String>,
    /// The condition on records, as in the document.
    pub(super) condition: Option<Json>,
    pub(super) writable: Writable,
    /// The condition on written records, in place of `condition`.
    pub(super) check: Option<Json>,
    /// The values of `$set` and of `$setOnCreate`.
    pub(super) set: Map<String, Json>,
    pub(super) set_on_create: Map<String, Json>,
}

/// The write access of a role to an entity.
#[derive(Clone, Default, PartialEq)]
pub(super) struct Writable {
    /// The fields of new records.
    create: BTreeSet<String>,
    /// The fields that can be changed.
    update: BTreeSet<String>,
    pub(super) delete: bool,
    /// Whether the document has `true`. Then the fields include some that the role does not see or cannot choose.
    is_all: bool,
}

impl Writable {
    /// Sometimes removes the right to create, to change or to delete records.
    pub(super) fn limit(&mut self, dice: &mut Dice) {
        if self.is_all || *self == Self::default() {
            return;
        }
        self.delete = dice.chance(70);
        for names in [&mut self.create, &mut self.update] {
            if dice.chance(15) {
                names.clear();
            }
        }
    }
}

impl Rule {
    pub(super) fn random(dice: &mut Dice, entities: &[Entity], at: usize) -> Self {
        let condition = dice.chance(75).then(|| condition(dice, entities, at, 3));
        let mut rule = Self {
            hidden: BTreeSet::new(),
            except: BTreeSet::new(),
            condition,
            writable: Writable::default(),
            check: None,
            set: Map::new(),
            set_on_create: Map::new(),
        };
        if dice.chance(50) {
            rule.hide(dice, &entities[at]);
        }
        rule
    }

    /// Hides some names of an entity, but not all fields.
    fn hide(&mut self, dice: &mut Dice, entity: &Entity) {
        let fields: Vec<_> = entity.fields.iter().map(|field| field.name.clone()).collect();
        let most = dice.below(fields.len());
        let mut listed: BTreeSet<String> = dice.some(&fields, most).into_iter().collect();
        let computed = entity.computed.iter().map(|computed| computed.name.clone());
        listed.extend(computed.filter(|_| dice.chance(40)));
        self.hidden = listed.clone();
        if dice.chance(45) {
            let relations = entity.relations.iter().map(|relation| relation.name.clone());
            listed.extend(relations.filter(|_| dice.chance(30)));
            self.hidden = listed.clone();
            let depends = |from: &[String]| from.iter().any(|name| listed.contains(name));
            let computed = entity.computed.iter().filter(|computed| depends(&computed.from));
            self.hidden.extend(computed.map(|computed| computed.name.clone()));
            self.except = listed;
        }
    }

    /// Lets the role write most of the fields that it sees.
    pub(super) fn allow_writes(&mut self, dice: &mut Dice, entities: &[Entity], at: usize) {
        let entity = &entities[at];
        if dice.chance(40) {
            self.check = Some(condition(dice, entities, at, 2));
        }
        // Fields that no relation uses.
        let fields = entity.fields.iter().filter(|field| !["id", "ownerId"].contains(&&*field.name));
        for field in fields.filter(|_| dice.chance(20)).collect::<Vec<_>>() {
            let value = match dice.chance(50) {
                true => json!({"session": dice.pick(&["userId", "tenant", "claim.one"])}),
                false => literal(dice, field.kind),
            };
            let presets = if dice.chance(50) { &mut self.set } else { &mut self.set_on_create };
            presets.insert(field.name.clone(), value);
        }
        let mut some = |percent: usize| -> BTreeSet<String> {
            let names = entity.fields.iter().map(|field| field.name.clone());
            names.filter(|name| !self.hidden.contains(name) && dice.chance(percent)).collect()
        };
        let (mut create, mut update) = (some(96), some(96));
        // The right to link records.
        for names in [&mut create, &mut update] {
            if dice.chance(25) {
                names.remove("ownerId");
            }
        }
        create.retain(|name| !self.presets(true).contains_key(name));
        update.retain(|name| !self.presets(false).contains_key(name));
        self.writable = Writable { create, update, delete: true, is_all: false };
        self.writable.limit(dice);
        if dice.chance(10) {
            let all: BTreeSet<_> = entity.fields.iter().map(|field| field.name.clone()).collect();
            self.writable = Writable { create: all.clone(), update: all, delete: true, is_all: true };
        }
        // Conditions refuse most writes, so some are removed.
        self.condition = self.condition.take().filter(|_| dice.chance(55));
        if dice.chance(75) {
            self.show_all();
        }
    }

    /// Hides nothing.
    pub(super) fn show_all(&mut self) {
        self.hidden.clear();
        self.except.clear();
    }

    /// Copies the presets of another rule of the entity.
    pub(super) fn preset_as(&mut self, other: &Self) {
        (self.set, self.set_on_create) = (other.set.clone(), other.set_on_create.clone());
        for (is_new, names) in [(true, &mut self.writable.create), (false, &mut self.writable.update)] {
            let is_preset =
                |name: &str| self.set.contains_key(name) || is_new && self.set_on_create.contains_key(name);
            names.retain(|name| !is_preset(name));
        }
    }

    /// Copies the names that another rule of the entity grants, and keeps the conditions.
    pub(super) fn grant_as(&mut self, other: &Self) {
        let (condition, check) = (self.condition.take(), self.check.take());
        *self = Self { condition, check, ..other.clone() };
    }

    /// Returns the fields that the rule grants in new records, or in changed records.
    pub(super) fn writes(&self, is_new: bool) -> BTreeSet<&str> {
        let names = if is_new { &self.writable.create } else { &self.writable.update };
        let presets = self.presets(is_new);
        let is_granted = |name: &&str| !self.hidden.contains(*name) && !presets.contains_key(*name);
        names.iter().map(String::as_str).filter(is_granted).collect()
    }

    /// Returns the condition on records that were written.
    pub(super) fn written(&self) -> Option<&Json> {
        self.check.as_ref().or(self.condition.as_ref())
    }

    /// Returns the rule as a schema document has it.
    pub(super) fn to_json(&self, entity: &Entity) -> Json {
        let mut listed = Map::new();
        if !self.except.is_empty() {
            listed.insert("except".to_owned(), json!(self.except));
        } else if !self.hidden.is_empty() {
            let computed = entity.computed.iter().map(|computed| &computed.name);
            let names = entity.fields.iter().map(|field| &field.name).chain(computed);
            let fields: Vec<_> = names.filter(|name| !self.hidden.contains(*name)).collect();
            listed.insert("fields".to_owned(), json!(fields));
        }
        if let Some(condition) = &self.condition {
            listed.insert("$where".to_owned(), condition.clone());
        }
        let Writable { create, update, delete, is_all } = &self.writable;
        if *is_all {
            listed.insert("writable".to_owned(), json!(true));
        } else if *delete || !create.is_empty() || !update.is_empty() {
            let writable = json!({"create": create, "update": update, "delete": delete});
            listed.insert("writable".to_owned(), writable);
        }
        if let Some(check) = &self.check {
            listed.insert("$check".to_owned(), check.clone());
        }
        for (key, presets) in [("$set", &self.set), ("$setOnCreate", &self.set_on_create)] {
            if !presets.is_empty() {
                listed.insert(key.to_owned(), presets.clone().into());
            }
        }
        listed.into()
    }

    /// Returns the values that the role cannot choose, in records that it creates or updates.
    pub(super) fn presets(&self, is_new: bool) -> Map<String, Json> {
        let mut presets = self.set.clone();
        if is_new {
            presets.extend(self.set_on_create.clone());
        }
        presets
    }
}

/// Returns a condition that the model can evaluate, on fields, paths and related records, which can be hidden.
fn condition(dice: &mut Dice, entities: &[Entity], at: usize, depth: usize) -> Json {
    let entity = &entities[at];
    if depth > 0 && dice.chance(40) {
        return match dice.below(4) {
            0 => json!({"not": condition(dice, entities, at, depth - 1)}),
            choice => {
                let count = 1 + dice.below(3);
                let parts: Vec<_> = (0..count).map(|_| condition(dice, entities, at, depth - 1)).collect();
                if choice == 1 { json!({"and": parts}) } else { json!({"or": parts}) }
            }
        };
    }
    if depth > 0 && !entity.relations.is_empty() && dice.chance(25) {
        let relation = dice.pick(&entity.relations);
        let op = dice.pick(&["some", "some", "none", "every"]);
        let mut related = json!({"relation": relation.name, "op": op});
        if op == "every" || dice.chance(70) {
            related["where"] = condition(dice, entities, relation.target, depth - 1);
        }
        return related;
    }
    let (path, entity) = path(dice, entities, at);
    let compared = |field: &&Field| matches!(field.kind, Kind::Text | Kind::Integer | Kind::Boolean);
    let fields: Vec<_> = entity.fields.iter().filter(compared).cloned().collect();
    if fields.is_empty() || dice.chance(10) {
        let fields: Vec<_> =
            entity.fields.iter().filter(|field| !matches!(field.kind, Kind::Json(_))).cloned().collect();
        let Some(field) = (!fields.is_empty()).then(|| dice.pick(&fields)) else { return json!({"and": []}) };
        let op = dice.pick(&["isNull", "isNotNull", "isNotNull"]);
        return json!({"field": format!("{path}{}", field.name), "op": op});
    }
    let field = dice.pick(&fields);
    let mut comparison = comparison(dice, &field);
    // A condition that is always false does not use its path.
    if !path.is_empty() && comparison["value"] == json!([]) {
        comparison["value"] = json!([literal(dice, field.kind)]);
    }
    comparison["field"] = json!(format!("{path}{}", field.name));
    comparison
}

/// Returns a path through relations to one record, with its final dot, and the entity at its end.
fn path<'e>(dice: &mut Dice, entities: &'e [Entity], mut at: usize) -> (String, &'e Entity) {
    let mut path = String::new();
    for _ in 0..2 {
        // The others can lead to several records, of which a path takes the first.
        let ones = entities[at].relations.iter().filter(|relation| relation.name.starts_with("one"));
        let ones: Vec<_> = ones.cloned().collect();
        if ones.is_empty() || dice.chance(75) {
            break;
        }
        let relation = dice.pick(&ones);
        path = format!("{path}{}.", relation.name);
        at = relation.target;
    }
    (path, &entities[at])
}

/// Returns a comparison of a field with constants or with values of the session.
fn comparison(dice: &mut Dice, field: &Field) -> Json {
    // Without a type, the form of a session's value depends on the value.
    if field.is_typed && dice.chance(45) {
        if field.kind != Kind::Boolean && dice.chance(40) {
            let name = dice.pick(&["claim.ids", "claim.ids", "claim.one", "claim.absent"]);
            return json!({"field": field.name, "op": dice.pick(&["in", "in", "nin"]), "value": {"session": name}});
        }
        let op = dice.pick(&["eq", "eq", "ne", "gt", "gte", "lt", "lte"]);
        let op = if field.kind == Kind::Boolean { "eq" } else { op };
        let name = dice.pick(&["userId", "userId", "tenant", "role", "session", "claim.one", "claim.ids"]);
        return json!({"field": field.name, "op": op, "value": {"session": name}});
    }
    match (dice.below(6), field.kind) {
        (0 | 1, _) => {
            let values: Vec<_> = (0..dice.below(4)).map(|_| literal(dice, field.kind)).collect();
            json!({"field": field.name, "op": dice.pick(&["in", "nin"]), "value": values})
        }
        (2, Kind::Text) => {
            let prefix = dice.pick(&["", "a", "b", "日"]);
            json!({"field": field.name, "op": "like", "value": format!("{prefix}%")})
        }
        (_, Kind::Boolean) => {
            json!({"field": field.name, "op": dice.pick(&["eq", "ne"]), "value": dice.chance(50)})
        }
        (_, kind) => {
            let op = dice.pick(&["eq", "ne", "gt", "gte", "lt", "lte"]);
            json!({"field": field.name, "op": op, "value": literal(dice, kind)})
        }
    }
}

fn literal(dice: &mut Dice, kind: Kind) -> Json {
    match kind {
        Kind::Text => json!(dice.pick(&TEXTS)),
        Kind::Boolean => json!(dice.chance(50)),
        _ => json!(dice.pick(&[-1, 0, 1, 2, 3, 4, 7])),
    }
}

/// Returns a value of a claim. Few fit every field.
fn claim(dice: &mut Dice) -> Literal {
    match dice.below(8) {
        0 => Literal::Boolean(dice.chance(50)),
        1 => Literal::Number(dice.pick(&[2.0, 0.5])),
        2..=4 => Literal::Text(dice.pick(&["a", "B", "é", "2", "01", "", "true"]).to_owned()),
        _ => Literal::Integer(dice.pick(&[-1, 0, 1, 2, 3, 4])),
    }
}

/// Returns sessions of a role; `None` is a request without one.
pub(super) fn sessions(dice: &mut Dice, role: &'static str) -> Vec<Option<Principal>> {
    let mut sessions: Vec<_> = (0..2)
        .map(|_| {
            let values = ["1", "2", "3", "-1", "01", "a", "b", "é", "", "true", "nobody", "1 OR 1=1"];
            let mut principal = Principal::new(dice.pick(&values), dice.pick(&["2", "s"]));
            principal.role = match role {
                "*" => dice.pick(&[None, Some("guest".to_owned())]),
                role => Some(role.to_owned()),
            };
            if dice.chance(60) {
                principal.tenant = Some(dice.pick(&values).to_owned());
            }
            if dice.chance(70) {
                // Above 200 there are too many to compare with.
                let count = dice.pick(&[0, 1, 2, 3, 4, 201]);
                let ids: Vec<_> = (0..count).map(|_| claim(dice)).collect();
                principal = principal.with_claim("ids", ids);
            }
            if dice.chance(70) {
                principal = principal.with_claim("one", claim(dice));
            }
            Some(principal)
        })
        .collect();
    if role == "*" {
        sessions.push(None);
    }
    sessions
}
