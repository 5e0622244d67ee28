//! The model of writes: which statuses a write may have, and what it changes.

use mesh_plan::{Principal, Value};
use mesh_schema::Schema;
use serde_json::{Map, Value as Json, json};

use super::super::super::data::{Database, Entity};
use super::super::super::kind::Kind;
use super::super::model::Data;
use super::super::roles::Role;
use super::super::rules::Rule;
use super::write::{POST, TAG, USER, Write};

/// The status of a write; 200 stands for all that succeed.
pub(super) type Status = u16;

/// Returns whether the record of a write exists, and the session cannot see it.
pub(super) fn is_hidden(
    library: &Database,
    schema: &Schema,
    role: &Role,
    session: Option<&Principal>,
    write: &Write,
) -> bool {
    let judge = Judge { library, schema, role, session };
    let exists = |(at, id): &(usize, i64)| find(library, *at, *id).is_some();
    write.subject().filter(exists).is_some_and(|(at, id)| role.sees(at) && !judge.sees(at, id))
}

/// Returns the statuses that a write may have, and the data after it if it succeeds.
pub(super) fn expected(
    library: &Database,
    schema: &Schema,
    role: &Role,
    session: Option<&Principal>,
    write: &Write,
) -> (Vec<Status>, Database) {
    let mut after = copy(library);
    let statuses = Judge { library, schema, role, session }.judge(write, &mut after);
    (if statuses.is_empty() { vec![200] } else { statuses }, after)
}

fn copy(library: &Database) -> Database {
    Database {
        entities: library.entities.clone(),
        scripts: Default::default(),
        tables: library.tables.clone(),
        junctions: library.junctions.clone(),
        schema: library.schema.clone(),
    }
}

fn find(library: &Database, at: usize, id: i64) -> Option<&Vec<Value>> {
    library.entities[at].rows.iter().find(|row| row[0] == id.into())
}

/// The context in which one write is judged.
#[derive(Clone, Copy)]
struct Judge<'a> {
    library: &'a Database,
    schema: &'a Schema,
    role: &'a Role,
    session: Option<&'a Principal>,
}

impl Judge<'_> {
    /// Performs a write, and returns the reasons to refuse it.
    fn judge(&self, write: &Write, after: &mut Database) -> Vec<Status> {
        let mut refusals = Vec::new();
        if write.relation().is_some_and(|(at, name)| !self.role.shows(at, name)) {
            return vec![400];
        }
        match write {
            Write::Create { at, values } => self.create(*at, values, None, after, &mut refusals),
            Write::Update { at, id, values } => {
                let can = |name: &String| self.can(*at, false, name);
                if !values.keys().all(can) || self.granting(*at, false).is_empty() {
                    refusals.push(400);
                }
                self.update(*at, *id, values, after, &mut refusals);
            }
            Write::Delete { at, id } => {
                self.delete(*at, *id, &mut refusals);
                after.entities[*at].rows.retain(|row| row[0] != (*id).into());
            }
            Write::Connect { post, user } => self.connect(*post, Some(*user), after, &mut refusals),
            Write::Disconnect { post } => self.connect(*post, None, after, &mut refusals),
            Write::CreateChild { user, values } => {
                if !self.role.sees(USER) || !self.role.sees(POST) {
                    return vec![400];
                }
                if !self.sees(USER, *user) {
                    refusals.push(404);
                }
                self.create(POST, values, Some(*user), after, &mut refusals);
            }
            Write::Remove { user, post } => {
                if !self.role.sees(USER) {
                    return vec![400];
                }
                self.delete(POST, *post, &mut refusals);
                let is_child = find(self.library, POST, *post).is_some_and(|row| row[3] == (*user).into());
                if !self.sees(USER, *user) || !is_child {
                    refusals.push(404);
                }
                after.entities[POST].rows.retain(|row| row[0] != (*post).into());
            }
            Write::Link { post, tag, is_from_tag } => {
                self.pair(*post, *tag, *is_from_tag, &mut refusals);
                let pair = vec![(*post).into(), (*tag).into()];
                if !after.junctions[0].rows.contains(&pair) {
                    after.junctions[0].rows.push(pair);
                }
            }
            Write::Unlink { post, tag, is_from_tag } => {
                self.pair(*post, *tag, *is_from_tag, &mut refusals);
                let pair = vec![Value::from(*post), (*tag).into()];
                if !after.junctions[0].rows.contains(&pair) {
                    refusals.push(404);
                }
                after.junctions[0].rows.retain(|row| *row != pair);
            }
        }
        refusals
    }

    /// Returns the rules that grant the creation, or changes, of records.
    fn granting(&self, at: usize, is_new: bool) -> Vec<&Rule> {
        self.role.rules[at].iter().filter(|rule| !rule.writes(is_new).is_empty()).collect()
    }

    /// Returns whether a rule grants a field of new records, or of changed ones.
    fn can(&self, at: usize, is_new: bool, name: &str) -> bool {
        self.role.rules[at].iter().any(|rule| rule.writes(is_new).contains(name))
    }

    fn data<'d>(&'d self, library: &'d Database) -> Data<'d> {
        Data { database: library, schema: self.schema, session: self.session }
    }

    /// Returns whether a record exists that the session sees.
    fn sees(&self, at: usize, id: i64) -> bool {
        let row = find(self.library, at, id);
        row.is_some_and(|row| self.data(self.library).sees(at, &self.role.rules[at], row))
    }

    /// Returns whether a record exists that the session may change, where each of these fields is granted by a rule.
    fn may_update(&self, at: usize, id: i64, names: &[&str]) -> bool {
        let Some(row) = find(self.library, at, id) else { return false };
        let data = self.data(self.library);
        let mut rules = self.granting(at, false);
        rules.retain(|rule| data.fulfills(at, rule.condition.as_ref(), row));
        !rules.is_empty() && are_granted(&rules, false, names)
    }

    fn delete(&self, at: usize, id: i64, refusals: &mut Vec<Status>) {
        let deleting: Vec<_> = self.role.rules[at].iter().filter(|rule| rule.writable.delete).collect();
        if deleting.is_empty() {
            refusals.push(400);
        }
        let data = self.data(self.library);
        let is_deletable =
            |row: &Vec<Value>| deleting.iter().any(|rule| data.fulfills(at, rule.condition.as_ref(), row));
        if !find(self.library, at, id).is_some_and(is_deletable) {
            refusals.push(404);
        }
    }

    /// Refuses a record for which no rule grants its creation, or this change of it.
    fn check(
        &self,
        (at, id): (usize, i64),
        (is_new, names): (bool, &[&str]),
        after: &Database,
        refusals: &mut Vec<Status>,
    ) {
        let Some(row) = find(after, at, id) else { return };
        let data = self.data(after);
        let mut rules = self.granting(at, is_new);
        rules.retain(|rule| data.fulfills(at, rule.written(), row));
        if rules.is_empty() || !are_granted(&rules, is_new, names) {
            refusals.push(403);
        }
    }

    fn create(
        &self,
        at: usize,
        values: &Map<String, Json>,
        owner: Option<i64>,
        after: &mut Database,
        refusals: &mut Vec<Status>,
    ) {
        let can = |name: &str| self.can(at, true, name);
        if !values.keys().all(|name| can(name)) || self.granting(at, true).is_empty() {
            refusals.push(400);
        }
        // The relation of the path stands for the field.
        if owner.is_some() && !can("ownerId") {
            refusals.push(400);
        }
        let names: Vec<_> = values.keys().map(String::as_str).chain(owner.map(|_| "ownerId")).collect();
        let id = values["id"].as_i64().unwrap();
        if find(self.library, at, id).is_some() {
            refusals.push(409);
        }
        let entity = &self.library.entities[at];
        let mut row: Vec<_> = entity
            .fields
            .iter()
            .map(|field| stored(values.get(&field.name).unwrap_or(&Json::Null)))
            .collect();
        if let Some(owner) = owner {
            row[3] = owner.into();
        } else {
            self.refer(at, true, values, refusals);
        }
        self.preset(at, true, &mut row, refusals);
        after.entities[at].rows.push(row);
        self.check((at, id), (true, &names), after, refusals);
    }

    fn update(
        &self,
        at: usize,
        id: i64,
        values: &Map<String, Json>,
        after: &mut Database,
        refusals: &mut Vec<Status>,
    ) {
        let names: Vec<_> = values.keys().map(String::as_str).collect();
        if !self.may_update(at, id, &names) {
            refusals.push(404);
        }
        self.refer(at, false, values, refusals);
        let Entity { fields, rows, .. } = &mut after.entities[at];
        // A session that lacks a value is also refused if there is no such record.
        let mut none = vec![Value::Null; fields.len()];
        let row = rows.iter_mut().find(|row| row[0] == id.into()).unwrap_or(&mut none);
        for (field, cell) in fields.iter().zip(row.iter_mut()) {
            if let Some(value) = values.get(&field.name) {
                *cell = stored(value);
            }
        }
        self.preset(at, false, row, refusals);
        self.check((at, id), (false, &names), after, refusals);
    }

    /// Sets the values that the role cannot choose.
    fn preset(&self, at: usize, is_new: bool, row: &mut [Value], refusals: &mut Vec<Status>) {
        // All rules have the same presets.
        let presets = self.granting(at, is_new).first().map(|rule| rule.presets(is_new)).unwrap_or_default();
        let fields = &self.library.entities[at].fields;
        for (index, field) in fields.iter().enumerate() {
            let Some(preset) = presets.get(&field.name) else { continue };
            match preset.get("session") {
                None => row[index] = stored(preset),
                Some(name) => {
                    let held = self.data(self.library).session_value(name.as_str().unwrap(), field.kind);
                    match held {
                        Some(value) => row[index] = stored(&value),
                        None => refusals.push(403),
                    }
                }
            }
        }
    }

    fn connect(&self, post: i64, user: Option<i64>, after: &mut Database, refusals: &mut Vec<Status>) {
        if !self.role.sees(USER) || !self.can(POST, false, "ownerId") {
            refusals.push(400);
        }
        if user.is_some_and(|user| !self.sees(USER, user)) || !self.may_update(POST, post, &["ownerId"]) {
            refusals.push(404);
        }
        if let Some(row) = after.entities[POST].rows.iter_mut().find(|row| row[0] == post.into()) {
            row[3] = user.into();
        }
        self.check((POST, post), (false, &["ownerId"]), after, refusals);
    }

    /// Refuses pairs that the session may not write.
    fn pair(&self, post: i64, tag: i64, is_from_tag: bool, refusals: &mut Vec<Status>) {
        let (own, other) = if is_from_tag { ((TAG, tag), (POST, post)) } else { ((POST, post), (TAG, tag)) };
        if !self.role.sees(other.0) || self.granting(own.0, false).is_empty() {
            refusals.push(400);
        }
        if !self.may_update(own.0, own.1, &[]) || !self.sees(other.0, other.1) {
            refusals.push(404);
        }
    }

    /// Refuses a body whose owner the session cannot see. Without restrictions nothing is checked, because the database
    /// has no foreign keys.
    fn refer(&self, at: usize, is_new: bool, values: &Map<String, Json>, refusals: &mut Vec<Status>) {
        let Some(owner) = values.get("ownerId").filter(|_| at == POST).and_then(Json::as_i64) else { return };
        let is_refused = match self.role.rules[USER].as_slice() {
            // Only the value that the condition on written posts requires.
            [] => {
                let granting = self.granting(POST, is_new);
                let condition = granting.first().and_then(|rule| rule.written());
                let is_shared = granting.iter().all(|rule| rule.written() == condition);
                !condition.is_some_and(|condition| is_shared && self.requires(condition, owner))
            }
            rules if rules.iter().any(|rule| rule.condition.is_none()) => false,
            _ => !self.sees(USER, owner),
        };
        if is_refused {
            refusals.extend([404, 403]);
        }
    }

    /// Returns whether a condition requires an owner.
    fn requires(&self, condition: &Json, owner: i64) -> bool {
        if let Some(Json::Array(parts)) = condition.get("and") {
            return parts.iter().any(|part| self.requires(part, owner));
        }
        if condition["field"] != "ownerId" || condition["op"] != "eq" {
            return false;
        }
        match condition["value"]["session"].as_str() {
            None => condition["value"] == json!(owner),
            Some(name) => self.data(self.library).session_value(name, Kind::Integer) == Some(json!(owner)),
        }
    }
}

/// Returns whether each of the names is granted by one of the rules.
fn are_granted(rules: &[&Rule], is_new: bool, names: &[&str]) -> bool {
    names.iter().all(|name| rules.iter().any(|rule| rule.writes(is_new).contains(name)))
}

fn stored(value: &Json) -> Value {
    match value {
        Json::Bool(value) => i64::from(*value).into(),
        Json::Number(number) => number.as_i64().into(),
        Json::String(text) => text.as_str().into(),
        _ => Value::Null,
    }
}
