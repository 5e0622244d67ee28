//! The model: the data and the schema without what a session cannot see. It uses neither plans nor SQL.

use std::cmp::Ordering;

use mesh_plan::memory::Tables;
use mesh_plan::policy::ClaimValue;
use mesh_plan::{Principal, Value};
use mesh_ql::Literal;
use mesh_schema::{Link, Member, Schema};
use serde_json::{Map, Value as Json, json};

use super::super::data::{Database, Entity, Junction};
use super::super::kind::Kind;
use super::roles::Role;
use super::rules::Rule;

/// The maximum length of a list in a claim that is compared.
const LIST: usize = 200;

/// Returns the tables without the records that a session cannot see, and without the values of hidden fields. `schema`
/// is the unrestricted schema.
pub(super) fn tables(
    database: &Database,
    schema: &Schema,
    role: &Role,
    session: Option<&Principal>,
) -> Tables {
    let data = Data { database, schema, session };
    let mut tables = Tables::new();
    for Junction { table, rows } in &database.junctions {
        tables = tables.with(table, Junction::COLUMNS, rows.clone());
    }
    for (at, rules) in role.rules.iter().enumerate() {
        let entity = &database.entities[at];
        let rows = data.visible(at, rules);
        let columns = entity.columns.iter().map(|column| column.name.as_str());
        tables = tables.with(&entity.table, columns.chain(["rowid"]), rows);
    }
    tables
}

/// All data, and the session that reads it.
#[derive(Clone, Copy)]
pub(super) struct Data<'a> {
    pub(super) database: &'a Database,
    pub(super) schema: &'a Schema,
    pub(super) session: Option<&'a Principal>,
}

impl<'a> Data<'a> {
    /// Returns whether a record of an entity fulfills the condition of one of the rules.
    pub(super) fn sees(self, at: usize, rules: &[Rule], row: &[Value]) -> bool {
        rules.iter().any(|rule| self.fulfills(at, rule.condition.as_ref(), row))
    }

    /// Returns whether a record of an entity fulfills a condition, if there is one.
    pub(super) fn fulfills(self, at: usize, condition: Option<&Json>, row: &[Value]) -> bool {
        let entity = &self.database.entities[at];
        condition.is_none_or(|condition| Row { data: self, entity, row }.fulfills(condition) == Some(true))
    }

    /// Returns the records of an entity that fulfill the condition of a rule, with the numbers of their rows. Each has the
    /// values that these rules show.
    fn visible(self, at: usize, rules: &[Rule]) -> Vec<Vec<Value>> {
        let entity = &self.database.entities[at];
        let rows = entity.rows.iter().zip(1i64..).filter_map(|(row, number)| {
            let fulfilled = |rule: &&Rule| self.fulfills(at, rule.condition.as_ref(), row);
            let rules: Vec<_> = rules.iter().filter(fulfilled).collect();
            let mut row = row.clone();
            blank(&mut row, entity, &rules);
            row.push(number.into());
            (!rules.is_empty()).then_some(row)
        });
        rows.collect()
    }

    /// Returns a value of the session in the form of a field; `None` if the session lacks it or the field cannot hold it.
    pub(super) fn session_value(self, name: &str, kind: Kind) -> Option<Json> {
        let session = self.session?;
        let text = match name {
            // Anonymous requests have no user.
            "userId" => Some(&session.user).filter(|user| !user.is_empty())?,
            "tenant" => session.tenant.as_ref()?,
            "role" => session.role.as_ref()?,
            "session" => &session.session,
            claim => match session.claims.get(claim.strip_prefix("claim.").unwrap())? {
                ClaimValue::One(value) => return held(value, kind),
                ClaimValue::Many(_) => return None,
            },
        };
        held(&Literal::Text(text.clone()), kind)
    }

    /// Returns the records of a table.
    fn table(self, name: &str) -> (Vec<&'a str>, &'a [Vec<Value>]) {
        if let Some(entity) = self.database.entities.iter().find(|entity| entity.table == name) {
            return (entity.columns.iter().map(|column| column.name.as_str()).collect(), &entity.rows);
        }
        let junction = self.database.junctions.iter().find(|junction| junction.table == name).unwrap();
        (Junction::COLUMNS.to_vec(), &junction.rows)
    }
}

/// Removes the values of fields that none of the rules shows, neither directly nor in a computed field. Keys remain,
/// because records are found, linked and ordered by them.
fn blank(row: &mut [Value], entity: &Entity, rules: &[&Rule]) {
    let is_shown = |name: &str| rules.iter().any(|rule| !rule.hidden.contains(name));
    let is_input = |name: &String| {
        entity.computed.iter().any(|computed| is_shown(&computed.name) && computed.from.contains(name))
    };
    for field in entity.fields.iter().filter(|field| !is_shown(&field.name) && !is_input(&field.name)) {
        if !entity.is_key(&field.column) {
            row[entity.column(field)] = Value::Null;
        }
    }
}

/// Returns the document without hidden entities, computed fields and relations. Hidden fields are renamed to names that
/// no query has, because some of them are keys.
pub(super) fn document(database: &Database, role: &Role) -> Json {
    let mut document: Json = serde_json::from_str(&database.schema.document().to_json()).unwrap();
    for (at, entity) in database.entities.iter().enumerate() {
        if !role.sees(at) {
            document["entities"].as_object_mut().unwrap().shift_remove(entity.key);
        }
        let is_hidden = |name: &String| role.sees(at) && !role.shows(at, name);
        for relation in &entity.relations {
            if !role.sees(at) || !role.sees(relation.target) || is_hidden(&relation.name) {
                let joins = document["joins"].as_object_mut().unwrap();
                joins.shift_remove(&format!("{}.{}", entity.key, relation.name));
            }
        }
        for computed in entity.computed.iter().filter(|computed| is_hidden(&computed.name)) {
            let listed = document["entities"][entity.key]["computed"].as_object_mut().unwrap();
            listed.shift_remove(&computed.name);
        }
        let hidden = entity.fields.iter().filter(|field| is_hidden(&field.name));
        for (number, field) in hidden.enumerate() {
            let new = format!("hidden_from_this_role_{number}_{}", field.name);
            rename(&mut document["entities"][entity.key], &field.name, &new);
        }
    }
    document
}

/// Renames a field of an entity of a document.
fn rename(entity: &mut Json, name: &str, new: &str) {
    for place in entity["fields"].as_array_mut().unwrap() {
        if *place == name {
            *place = json!(new);
        }
    }
    let computed = entity.get_mut("computed").and_then(Json::as_object_mut);
    for computed in computed.into_iter().flat_map(Map::values_mut) {
        let from = computed["from"].as_array_mut().unwrap();
        from.iter_mut().filter(|input| **input == name).for_each(|input| *input = json!(new));
        let template = computed["template"].as_str().unwrap();
        computed["template"] = json!(template.replace(&format!("{{{name}}}"), &format!("{{{new}}}")));
    }
    for part in ["types", "columns"] {
        if let Some(value) = entity.get_mut(part).and_then(|part| part.as_object_mut()?.remove(name)) {
            entity[part][new] = value;
        }
    }
    if entity["columns"].get(new).is_none() {
        entity["columns"][new] = json!(name);
    }
    match entity.get_mut("idField") {
        // The field `id` is the default.
        None if name == "id" => entity["idField"] = json!(new),
        Some(Json::String(id)) if id == name => *id = new.to_owned(),
        Some(Json::Array(ids)) => ids.iter_mut().filter(|id| **id == name).for_each(|id| *id = json!(new)),
        _ => {}
    }
}

/// A record.
struct Row<'a> {
    data: Data<'a>,
    entity: &'a Entity,
    row: &'a [Value],
}

impl<'a> Row<'a> {
    /// Returns the value of a column.
    fn value(&self, column: &str) -> &'a Value {
        &self.row[self.entity.columns.iter().position(|it| it.name == column).unwrap()]
    }

    /// Returns the records of a relation.
    fn related(&self, name: &str) -> Vec<Self> {
        let Data { database, schema, .. } = self.data;
        let entity = schema.entity(schema.find(self.entity.key).unwrap());
        let Some(Member::Relation(relation)) = entity.member(name) else {
            panic!("there is no relation {name}")
        };
        let relation = entity.relation(relation);
        let key = &schema.entity(relation.target).key;
        let target = database.entities.iter().find(|entity| entity.key == *key).unwrap();
        let rows = target.rows.iter().map(|row| Row { data: self.data, entity: target, row });
        let equal = |left: &Value, right: &Value| *left != Value::Null && left == right;
        let is_linked = |other: &Row<'_>| match &relation.link {
            Link::Direct { pairs } => {
                pairs.iter().all(|pair| equal(self.value(&pair.parent), other.value(&pair.target)))
            }
            Link::Through { table, from, to, parent, target, .. } => {
                let (columns, rows) = self.data.table(&table.name);
                let column = |name: &str| columns.iter().position(|column| *column == name).unwrap();
                let (from, to) = (column(from), column(to));
                rows.iter().any(|pair| {
                    equal(self.value(parent), &pair[from]) && equal(other.value(target), &pair[to])
                })
            }
        };
        rows.filter(is_linked).collect()
    }

    /// Returns whether the record fulfills a condition; `None` if that is unknown.
    fn fulfills(&self, condition: &Json) -> Option<bool> {
        let parts = |parts: &Json| -> Vec<_> {
            parts.as_array().unwrap().iter().map(|part| self.fulfills(part)).collect()
        };
        if let Some(list) = condition.get("and") {
            let wrong = parts(list).into_iter().map(|part| part.map(|holds| !holds)).collect();
            return any(wrong).map(|is_wrong| !is_wrong);
        }
        if let Some(list) = condition.get("or") {
            return any(parts(list));
        }
        if let Some(part) = condition.get("not") {
            return self.fulfills(part).map(|holds| !holds);
        }
        if let Some(relation) = condition.get("relation") {
            let holds = |row: &Row<'_>| match condition.get("where") {
                None => true,
                Some(condition) => row.fulfills(condition) == Some(true),
            };
            let rows = self.related(relation.as_str().unwrap());
            return Some(match condition["op"].as_str().unwrap() {
                "some" => rows.iter().any(holds),
                "none" => !rows.iter().any(holds),
                "every" => rows.iter().all(holds),
                other => panic!("the model has no operator {other}"),
            });
        }
        let path: Vec<_> = condition["field"].as_str().unwrap().split('.').collect();
        let (name, steps) = path.split_last().unwrap();
        let mut entity = self.entity;
        let mut row = Some(self.row);
        for step in steps {
            let found = row.map(|row| Row { data: self.data, entity, row }.related(step)).unwrap_or_default();
            row = found.first().map(|found| found.row);
            let relation = entity.relations.iter().find(|relation| relation.name == *step).unwrap();
            entity = &self.data.database.entities[relation.target];
        }
        let field = entity.fields.iter().find(|field| field.name == *name).unwrap();
        self.compares(row.map_or(&Value::Null, |row| &row[entity.column(field)]), field.kind, condition)
    }

    /// Returns whether a comparison of a value holds.
    fn compares(&self, left: &Value, kind: Kind, condition: &Json) -> Option<bool> {
        let operand = &condition["value"];
        let right = |literal: &Json| match literal.get("session") {
            None => Some(literal.clone()),
            Some(name) => self.data.session_value(name.as_str().unwrap(), kind),
        };
        let compare = |literal: &Json| compared(left, &right(literal)?);
        match condition["op"].as_str().unwrap() {
            "isNull" => Some(*left == Value::Null),
            "isNotNull" => Some(*left != Value::Null),
            "eq" => compare(operand).map(Ordering::is_eq),
            "ne" => compare(operand).map(Ordering::is_ne),
            "gt" => compare(operand).map(Ordering::is_gt),
            "gte" => compare(operand).map(Ordering::is_ge),
            "lt" => compare(operand).map(Ordering::is_lt),
            "lte" => compare(operand).map(Ordering::is_le),
            op @ ("in" | "nin") => {
                let list = match operand.as_array() {
                    Some(list) => list.iter().cloned().map(Some).collect(),
                    None => self.session_list(operand["session"].as_str().unwrap(), kind),
                };
                self.is_in(left, &list).map(|is_in| is_in == (op == "in"))
            }
            "like" => {
                let prefix = operand.as_str().unwrap().strip_suffix('%').unwrap();
                match left {
                    Value::Text(text) => Some(text.starts_with(prefix)),
                    _ => None,
                }
            }
            other => panic!("the model has no operator {other}"),
        }
    }

    /// Returns whether a value is in a list, in which `None` stands for a value that no record has.
    fn is_in(&self, left: &Value, list: &[Option<Json>]) -> Option<bool> {
        any(list.iter().map(|right| compared(left, right.as_ref()?).map(Ordering::is_eq)).collect())
    }

    /// Returns the values of a list of the session.
    fn session_list(&self, name: &str, kind: Kind) -> Vec<Option<Json>> {
        let claim = name.strip_prefix("claim.").unwrap();
        match self.data.session.and_then(|session| session.claims.get(claim)) {
            Some(ClaimValue::One(value)) => vec![held(value, kind)],
            Some(ClaimValue::Many(values)) if values.len() <= LIST => {
                values.iter().map(|value| held(value, kind)).collect()
            }
            _ => vec![None],
        }
    }
}

/// Returns whether one of these holds; `None` if that is unknown.
fn any(parts: Vec<Option<bool>>) -> Option<bool> {
    let is_unknown = parts.contains(&None);
    if parts.contains(&Some(true)) { Some(true) } else { (!is_unknown).then_some(false) }
}

/// Returns a value of a session as a field of this kind has it; `None` if the field cannot hold it.
fn held(value: &Literal, kind: Kind) -> Option<Json> {
    match (kind, value) {
        (Kind::Text, Literal::Text(text)) => Some(json!(text)),
        (Kind::Integer, Literal::Text(text)) => {
            let number: i64 = text.parse().ok()?;
            (number.to_string() == *text).then(|| json!(number))
        }
        (Kind::Integer, Literal::Integer(number)) => Some(json!(number)),
        (Kind::Integer, Literal::Number(number)) => (number.fract() == 0.0).then(|| json!(*number as i64)),
        (Kind::Boolean, Literal::Text(text)) => text.parse::<bool>().ok().map(|value| json!(value)),
        (Kind::Boolean, Literal::Boolean(value)) => Some(json!(value)),
        (Kind::Text | Kind::Integer | Kind::Boolean, _) => None,
        (other, _) => panic!("the model has no session values of {other:?}"),
    }
}

/// Compares a stored value with a literal; `None` if that is unknown.
fn compared(left: &Value, right: &Json) -> Option<Ordering> {
    match (left, right) {
        (Value::Null, _) => None,
        (Value::Text(left), Json::String(right)) => Some(left.as_bytes().cmp(right.as_bytes())),
        (Value::Integer(left), Json::Number(right)) => Some(left.cmp(&right.as_i64().unwrap())),
        (Value::Integer(left), Json::Bool(right)) => Some(left.cmp(&i64::from(*right))),
        other => panic!("the model does not compare {other:?}"),
    }
}
