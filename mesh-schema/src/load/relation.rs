//! Loading of relations.

use super::Loader;
use super::lookup::{are_same_type, find_column, is_default};
use crate::document::join_condition::{self, ColumnRef, Equality};
use crate::{
    Cardinality, ColumnPair, Entity, EntityId, FieldType, JoinDocument, Link, Member, Relation, RelationId,
    Table, TableName, ThroughDocument,
};

/// The two ends of a relation.
#[derive(Clone, Copy)]
struct Ends {
    parent: EntityId,
    target: EntityId,
}

/// The end of a relation that a table name refers to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Parent,
    Target,
}

impl<'a> Loader<'a> {
    pub(super) fn join(&mut self, key: &str, document: &JoinDocument) {
        let path = format!("joins.{key}");
        let before = self.faults.len();
        let ends = self.ends(&path, key, document);
        let has_faults = |key: &str| self.unsound.contains(&format!("entities.{key}"));
        let parent_key = key.split_once('.').map_or(key, |(parent, _)| parent);
        let unsound = self.unsound.contains(&path) || has_faults(parent_key) || has_faults(&document.entity);
        if let Some((ends, name)) = ends {
            self.relation(&path, ends, name, document);
        }
        if unsound {
            self.faults.truncate(before);
        }
    }

    fn ends<'k>(&mut self, path: &str, key: &'k str, document: &JoinDocument) -> Option<(Ends, &'k str)> {
        let split = key.split_once('.');
        if split.is_none() {
            self.fault(path, format!("The join key '{key}' is not of the form entityKey.ref"));
        }
        let parent = split.and_then(|(parent, _)| self.entity_id(path, parent));
        let target = self.entity_id(&format!("{path}.entity"), &document.entity);
        Some((Ends { parent: parent?, target: target? }, split?.1))
    }

    pub(super) fn entity_id(&mut self, path: &str, key: &str) -> Option<EntityId> {
        let id = self.schema.find(key);
        if id.is_none() {
            let hint = self.hint(key, self.schema.entities.iter().map(|entity| entity.key.as_str()));
            self.fault(path, format!("Entity '{key}' not found{hint}"));
        }
        id
    }

    fn relation(&mut self, path: &str, ends: Ends, name: &str, document: &JoinDocument) {
        self.check_member_name(path, "A relation", name);
        let parent = self.schema.entity(ends.parent);
        let taken = match parent.member(name) {
            Some(Member::Field(_)) => Some(format!("'{name}' is a field of entity '{}' already", parent.key)),
            Some(Member::Computed(_)) => {
                Some(format!("'{name}' is a computed field of entity '{}' already", parent.key))
            }
            Some(Member::Relation(_)) => Some("This join is given twice".to_owned()),
            None => None,
        };
        if let Some(message) = &taken {
            self.fault(path, message);
        }
        let link = match &document.through {
            Some(through) => self.through(path, ends, document, through),
            None => self.direct(path, ends, document),
        };
        let Some(link) = link.filter(|_| taken.is_none()) else { return };
        let Some(entity) = self.schema.entities.get_mut(ends.parent.0 as usize) else { return };
        entity.members.insert(name.to_owned(), Member::Relation(RelationId(entity.relations.len() as u32)));
        entity.relations.push(Relation {
            name: name.to_owned(),
            target: ends.target,
            cardinality: document.cardinality,
            link,
        });
    }

    fn direct(&mut self, path: &str, ends: Ends, document: &JoinDocument) -> Option<Link> {
        let path = format!("{path}.on");
        let Some(text) = &document.on else {
            let [parent, target] = self.tables(ends);
            let message =
                format!("'on' is missing; write which column of '{target}' equals which of '{parent}'");
            self.fault(path, message);
            return None;
        };
        let mut pairs = Vec::new();
        for equality in self.equalities(&path, text)? {
            pairs.extend(self.pair(&path, ends, &equality));
        }
        Some(Link::Direct { pairs })
    }

    fn equalities(&mut self, path: &str, text: &str) -> Option<Vec<Equality>> {
        join_condition::parse(text).map_err(|message| self.fault(path, message)).ok()
    }

    /// Returns the tables of parent and target.
    fn tables(&self, ends: Ends) -> [&TableName; 2] {
        [ends.parent, ends.target].map(|id| &self.schema.entity(id).table)
    }

    /// Assigns the sides of an equality to parent and target.
    fn pair(&mut self, path: &str, ends: Ends, equality: &Equality) -> Option<ColumnPair> {
        let before = self.faults.len();
        let Equality { left, right } = equality;
        let sides = (self.side(path, ends, left), self.side(path, ends, right));
        let (left_side, right_side) = (sides.0?, sides.1?);
        let [parent_table, target_table] = self.tables(ends);
        // In a self-join the left side is the target. `SPEC §6`
        let (target, parent) = if left_side == Side::Target || parent_table == target_table {
            (left, right)
        } else {
            (right, left)
        };
        if left_side == right_side && parent_table != target_table {
            let (this, other) = match left_side {
                Side::Parent => (parent_table, target_table),
                Side::Target => (target_table, parent_table),
            };
            let message = format!("Both sides name '{this}'; one side has to name '{other}'");
            self.fault(path, message);
            return None;
        }
        let parent = self.end_column(path, ends.parent, &parent.column);
        let target = self.end_column(path, ends.target, &target.column);
        let tables = [ends.parent, ends.target].map(|end| self.stored.get(end.0 as usize).copied().flatten());
        let is_same_type =
            matches!(tables, [Some(ours), Some(theirs)] if are_same_type([ours, theirs], [&parent, &target]));
        (self.faults.len() == before).then_some(ColumnPair { parent, target, is_same_type })
    }

    /// Returns the end whose table a column names. In a self-join either end matches.
    fn side(&mut self, path: &str, ends: Ends, written: &ColumnRef) -> Option<Side> {
        let (parent, target) = (self.schema.entity(ends.parent), self.schema.entity(ends.target));
        let (as_parent, as_target) =
            (match_quality(written, &parent.table), match_quality(written, &target.table));
        let is_self_join = parent.table == target.table;
        let message = match (as_parent, as_target) {
            (None, None) if is_self_join => {
                format!("'{written}' does not name '{}', the table of entity '{}'", parent.table, parent.key)
            }
            (None, None) => format!(
                "'{written}' names neither '{}', the table of entity '{}', nor '{}', that of '{}'",
                parent.table, parent.key, target.table, target.key
            ),
            _ if as_parent == as_target && !is_self_join => format!(
                "'{written}' is ambiguous: it can mean '{}' or '{}'; write it with the name of its schema",
                parent.table, target.table
            ),
            _ => return Some(if as_parent > as_target { Side::Parent } else { Side::Target }),
        };
        self.fault(path, message);
        None
    }

    /// Returns the column in the spelling of the catalog, or as written if there is no catalog.
    fn end_column(&mut self, path: &str, entity: EntityId, column: &str) -> String {
        let stored = self.stored.get(entity.0 as usize).copied().flatten();
        self.stored_column(path, stored, column)
    }

    fn stored_column(&mut self, path: &str, stored: Option<&Table>, column: &str) -> String {
        let Some(stored) = stored else { return column.to_owned() };
        if let Some((name, _)) = find_column(stored, column) {
            return name.to_owned();
        }
        let hint = self.hint(column, stored.columns.iter().map(|column| column.name.as_str()));
        self.fault(path, format!("The table '{}' has no column '{column}'{hint}", stored.full_name()));
        column.to_owned()
    }

    fn through(
        &mut self,
        path: &str,
        ends: Ends,
        document: &JoinDocument,
        through: &ThroughDocument,
    ) -> Option<Link> {
        let before = self.faults.len();
        if document.cardinality == Cardinality::One {
            self.fault(
                format!("{path}.type"),
                "A relation through a junction table leads to many rows; set type to 'many'",
            );
        }
        let inner = format!("{path}.through");
        for (key, column) in [("from", &through.from), ("to", &through.to)] {
            if column.is_empty() {
                self.fault(format!("{inner}.{key}"), "A column needs a name");
            }
        }
        if through.from == through.to && !through.to.is_empty() {
            self.fault(format!("{inner}.to"), "'from' and 'to' have to be two columns of the junction table");
        }
        let table =
            TableName::parse(&through.table).map_err(|message| self.fault(format!("{inner}.table"), message));
        let mut junction = Junction {
            table: table.ok()?,
            from: through.from.clone(),
            to: through.to.clone(),
            parent: None,
            target: None,
        };
        let stored = self.stored_table(&inner, &junction.table);
        if let Some(stored) = stored {
            junction.table = stored.full_name();
            for (key, column) in [("from", &mut junction.from), ("to", &mut junction.to)] {
                *column = self.stored_column(&format!("{inner}.{key}"), Some(stored), column);
            }
        }
        if let Some(text) = &document.on {
            let on = format!("{path}.on");
            for equality in self.equalities(&on, text)? {
                self.junction_equality(&on, ends, &equality, &mut junction);
            }
        }
        if self.faults.len() > before {
            return None;
        }
        let parent = junction.parent.or_else(|| self.key_column(path, ends.parent, "from", &junction.from));
        let target = junction.target.or_else(|| self.key_column(path, ends.target, "to", &junction.to));
        let Junction { table, from, to, .. } = junction;
        let target = target?;
        let is_unique =
            stored.is_some_and(|stored| self.has_unique_pairs(stored, [&from, &to], ends, &target));
        Some(Link::Through { table, from, to, parent: parent?, target, is_unique })
    }

    /// Returns whether a key of a junction makes its pairs of `from` and `to` unique, and both `to` and the column `target`
    /// that it refers to are integers. Unlike texts, different integers never compare as equal.
    fn has_unique_pairs(&self, junction: &Table, [from, to]: [&String; 2], ends: Ends, target: &str) -> bool {
        let keys = junction.unique.iter().chain(std::iter::once(&junction.primary_key));
        let mut keys = keys.filter(|key| !key.is_empty() && !junction.has_inheriting_tables);
        let is_integer = |table: &Table, column: &str| {
            table.column(column).is_some_and(|column| column.ty.is_some_and(FieldType::is_integer))
        };
        let targets = self.stored.get(ends.target.0 as usize).copied().flatten();
        keys.any(|key| key.iter().all(|column| column == from || column == to))
            && is_integer(junction, to)
            && targets.is_some_and(|targets| is_integer(targets, target))
    }

    /// Resolves an equality of an `on` beside `through`. It specifies the column that `from` or `to` refers to.
    fn junction_equality(&mut self, path: &str, ends: Ends, equality: &Equality, junction: &mut Junction) {
        let [parent, target] = self.tables(ends);
        let names_junction = |side: &ColumnRef| {
            match_quality(side, &junction.table)
                > match_quality(side, parent).max(match_quality(side, target))
        };
        let Equality { left, right } = equality;
        let (inner, outer) = match (names_junction(left), names_junction(right)) {
            (true, false) => (left, right),
            (false, true) => (right, left),
            _ => {
                let table = &junction.table;
                let message =
                    format!("'{left} = {right}': exactly one side has to name the junction table '{table}'");
                return self.fault(path, message);
            }
        };
        let side = |matches: fn(&str, &str) -> bool| match &inner.column {
            column if matches(column, &junction.from) => Some(Side::Parent),
            column if matches(column, &junction.to) => Some(Side::Target),
            _ => None,
        };
        let side = side(|inner, end| inner == end).or_else(|| side(str::eq_ignore_ascii_case));
        let (id, key, slot) = match side {
            Some(Side::Parent) => (ends.parent, "from", &mut junction.parent),
            Some(Side::Target) => (ends.target, "to", &mut junction.target),
            None => {
                let (from, to) = (&junction.from, &junction.to);
                let message = format!("'{inner}' is neither the junction's column '{from}' nor '{to}'");
                return self.fault(path, message);
            }
        };
        let table = &self.schema.entity(id).table;
        if match_quality(outer, table).is_none() {
            let message = format!("'{inner}' is the junction's '{key}', so '{outer}' has to name '{table}'");
            return self.fault(path, message);
        }
        if slot.replace(self.end_column(path, id, &outer.column)).is_some() {
            self.fault(path, format!("'{inner}' is equated twice"));
        }
    }

    /// Returns the column of the id field, which a junction refers to by default.
    fn key_column(&mut self, path: &str, entity: EntityId, end: &str, column: &str) -> Option<String> {
        let entity: &Entity = self.schema.entity(entity);
        if let [id] = *entity.id {
            return Some(entity.field(id).column.clone());
        }
        let id = if entity.id.is_empty() { "no id field" } else { "several id fields, not one" };
        let message = format!(
            "Entity '{}' has {id} for the junction's '{end}' to refer to; specify in 'on' what '{column}' equals",
            entity.key
        );
        self.fault(format!("{path}.through.{end}"), message);
        None
    }
}

/// A junction table whose link is being resolved.
struct Junction {
    table: TableName,
    from: String,
    to: String,
    /// The column that `from` refers to, if `on` specifies it.
    parent: Option<String>,
    /// The column that `to` refers to, if `on` specifies it.
    target: Option<String>,
}

/// The quality of a match between a written table name and a table, ordered by the spelling of the name, then by the match
/// of the namespace.
type MatchQuality = Option<(bool, Namespace)>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Namespace {
    Unwritten,
    DefaultByName,
    Folded,
    Same,
}

fn match_quality(written: &ColumnRef, table: &TableName) -> MatchQuality {
    if !written.table.eq_ignore_ascii_case(&table.name) {
        return None;
    }
    let namespace = match (written.schema.as_deref(), table.schema.as_deref()) {
        (written, stored) if written == stored => Namespace::Same,
        (None, _) => Namespace::Unwritten,
        (Some(written), None) if is_default(written) => Namespace::DefaultByName,
        (Some(written), Some(stored)) if written.eq_ignore_ascii_case(stored) => Namespace::Folded,
        _ => return None,
    };
    Some((written.table == table.name, namespace))
}
