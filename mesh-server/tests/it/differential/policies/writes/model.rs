//! The model of writes: which statuses a write may have, and what it changes.

use mesh_plan::{Principal, Value};
use mesh_schema::Schema;
use serde_json::{Map, Value as Json, json};

use super::super::super::data::{Database, Entity};
use super::super::super::kind::Kind;
use super::super::model::Data;
use super::super::rules::{Role, Rule};
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
    write.subject().filter(exists).is_some_and(|(at, id)| judge.rule(at).is_some() && !judge.sees(at, id))
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

/// Decides about one write.
#[derive(Clone, Copy)]
struct Judge<'a> {
    library: &'a Database,
    schema: &'a Schema,
    role: &'a Role,
    session: Option<&'a Principal>,
}

impl Judge<'_> {
    /// Carries a write out and returns the reasons to refuse it.
    fn judge(&self, write: &Write, after: &mut Database) -> Vec<Status> {
        let mut refusals = Vec::new();
        match write {
            Write::Create { at, values } => self.create(*at, values, None, after, &mut refusals),
            Write::Update { at, id, values } => {
                let Some(rule) = self.rule(*at) else { return vec![400] };
                let can = |name: &String| {
                    rule.writable.update.contains(name) && !rule.presets(false).contains_key(name)
                };
                if !values.keys().all(can) || rule.writable.update.is_empty() {
                    refusals.push(400);
                }
                self.update(*at, *id, values, after, &mut refusals);
            }
            Write::Delete { at, id } => {
                let Some(rule) = self.rule(*at) else { return vec![400] };
                if !rule.writable.delete {
                    refusals.push(400);
                }
                if !self.sees(*at, *id) {
                    refusals.push(404);
                }
                after.entities[*at].rows.retain(|row| row[0] != (*id).into());
            }
            Write::Connect { post, user } => self.connect(*post, Some(*user), after, &mut refusals),
            Write::Disconnect { post } => self.connect(*post, None, after, &mut refusals),
            Write::CreateChild { user, values } => {
                if self.rule(USER).is_none() || self.rule(POST).is_none() {
                    return vec![400];
                }
                if !self.sees(USER, *user) {
                    refusals.push(404);
                }
                self.create(POST, values, Some(*user), after, &mut refusals);
            }
            Write::Remove { user, post } => {
                let (Some(_), Some(rule)) = (self.rule(USER), self.rule(POST)) else { return vec![400] };
                if !rule.writable.delete {
                    refusals.push(400);
                }
                let is_child = find(self.library, POST, *post).is_some_and(|row| row[3] == (*user).into());
                if !self.sees(USER, *user) || !self.sees(POST, *post) || !is_child {
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

    fn rule(&self, at: usize) -> Option<&Rule> {
        self.role.rules[at].as_ref()
    }

    fn data<'d>(&'d self, library: &'d Database) -> Data<'d> {
        Data { database: library, schema: self.schema, session: self.session }
    }

    /// Returns whether a record exists that the session sees.
    fn sees(&self, at: usize, id: i64) -> bool {
        let found = self.rule(at).zip(find(self.library, at, id));
        found.is_some_and(|(rule, row)| self.data(self.library).sees(at, rule, row))
    }

    /// Refuses a record that its writer could not see.
    fn check(&self, at: usize, id: i64, after: &Database, refusals: &mut Vec<Status>) {
        if let (Some(rule), Some(row)) = (self.rule(at), find(after, at, id))
            && !self.data(after).fulfills(at, rule.check.as_ref().or(rule.condition.as_ref()), row)
        {
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
        let Some(rule) = self.rule(at) else { return refusals.push(400) };
        let can = |name: &str| rule.writable.create.contains(name) && !rule.presets(true).contains_key(name);
        if !values.keys().all(|name| can(name)) || rule.writable.create.is_empty() {
            refusals.push(400);
        }
        // The relation of the path stands for the field.
        if owner.is_some() && !can("ownerId") {
            refusals.push(400);
        }
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
            self.refer(at, values, refusals);
        }
        self.preset(at, true, &mut row, refusals);
        after.entities[at].rows.push(row);
        self.check(at, id, after, refusals);
    }

    fn update(
        &self,
        at: usize,
        id: i64,
        values: &Map<String, Json>,
        after: &mut Database,
        refusals: &mut Vec<Status>,
    ) {
        if !self.sees(at, id) {
            refusals.push(404);
        }
        self.refer(at, values, refusals);
        let Entity { fields, rows, .. } = &mut after.entities[at];
        if let Some(row) = rows.iter_mut().find(|row| row[0] == id.into()) {
            for (field, cell) in fields.iter().zip(row.iter_mut()) {
                if let Some(value) = values.get(&field.name) {
                    *cell = stored(value);
                }
            }
            self.preset(at, false, row, refusals);
        }
        self.check(at, id, after, refusals);
    }

    /// Sets the values that the role cannot choose.
    fn preset(&self, at: usize, is_new: bool, row: &mut [Value], refusals: &mut Vec<Status>) {
        let presets = self.rule(at).map(|rule| rule.presets(is_new)).unwrap_or_default();
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
        let (Some(rule), Some(_)) = (self.rule(POST), self.rule(USER)) else { return refusals.push(400) };
        if !rule.writable.update.contains("ownerId") {
            refusals.push(400);
        }
        if user.is_some_and(|user| !self.sees(USER, user)) || !self.sees(POST, post) {
            refusals.push(404);
        }
        if let Some(row) = after.entities[POST].rows.iter_mut().find(|row| row[0] == post.into()) {
            row[3] = user.into();
        }
        self.check(POST, post, after, refusals);
    }

    /// Refuses pairs that the session may not write.
    fn pair(&self, post: i64, tag: i64, is_from_tag: bool, refusals: &mut Vec<Status>) {
        let (Some(posts), Some(tags)) = (self.rule(POST), self.rule(TAG)) else { return refusals.push(400) };
        let rule = if is_from_tag { tags } else { posts };
        if rule.writable.update.is_empty() {
            refusals.push(400);
        }
        if !self.sees(POST, post) || !self.sees(TAG, tag) {
            refusals.push(404);
        }
    }

    /// Refuses an owner in a body that the session cannot see. Without restrictions nothing is checked, because the
    /// database has no foreign keys.
    fn refer(&self, at: usize, values: &Map<String, Json>, refusals: &mut Vec<Status>) {
        let Some(owner) = values.get("ownerId").filter(|_| at == POST).and_then(Json::as_i64) else { return };
        let is_refused = match self.rule(USER) {
            Some(rule) if rule.condition.is_none() => false,
            Some(_) => !self.sees(USER, owner),
            // Only the value that the condition on written posts requires.
            None => {
                let condition = self.rule(POST).and_then(|rule| rule.check.as_ref().or(rule.condition.as_ref()));
                !condition.is_some_and(|condition| self.requires(condition, owner))
            }
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

fn stored(value: &Json) -> Value {
    match value {
        Json::Bool(value) => i64::from(*value).into(),
        Json::Number(number) => number.as_i64().into(),
        Json::String(text) => text.as_str().into(),
        _ => Value::Null,
    }
}
