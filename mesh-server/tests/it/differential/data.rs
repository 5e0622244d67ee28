//! Random databases: small, with many ties and NULLs, and with unusual names and texts.

use std::fmt::Write as _;

use mesh_plan::Value;
use mesh_plan::memory::Tables;
use mesh_schema::{JoinDocument, Schema, SchemaBuilder, ThroughDocument};

use super::dice::Dice;
use super::kind::Kind;
use super::script::{Column, Scripts, quoted};

/// A random database and its schema.
pub(crate) struct Database {
    pub(crate) entities: Vec<Entity>,
    pub(crate) scripts: Scripts,
    /// The same data in memory.
    pub(crate) tables: Tables,
    /// The junction tables in it.
    pub(crate) junctions: Vec<Junction>,
    pub(crate) schema: SchemaBuilder,
}

/// A junction table, which contains pairs of keys.
#[derive(Clone)]
pub(crate) struct Junction {
    pub(crate) table: String,
    pub(crate) rows: Vec<Vec<Value>>,
}

impl Junction {
    pub(crate) const COLUMNS: [&str; 2] = ["from", "to"];
}

#[derive(Clone)]
pub(crate) struct Entity {
    pub(crate) key: &'static str,
    /// The fields, including the id.
    pub(crate) fields: Vec<Field>,
    pub(crate) computed: Vec<Computed>,
    pub(crate) relations: Vec<Relation>,
    /// Whether records can be read by id.
    pub(crate) points: bool,
    /// The ids of the rows, as text if they have several parts; NULL for rows without one.
    pub(crate) ids: Vec<Value>,
    pub(crate) table: String,
    id: Id,
    id_column: String,
    /// Storage columns with their declarations.
    pub(crate) columns: Vec<Column>,
    /// A constraint of the table.
    constraint: &'static str,
    options: &'static str,
    pub(crate) rows: Vec<Vec<Value>>,
}

#[derive(Clone)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) column: String,
    /// Whether the schema declares its type.
    pub(crate) is_typed: bool,
}

/// A computed field.
#[derive(Clone)]
pub(crate) struct Computed {
    pub(crate) name: String,
    /// The fields that it depends on.
    pub(crate) from: Vec<String>,
}

impl Computed {
    fn random(dice: &mut Dice, number: usize, fields: &[Field]) -> Self {
        let names: Vec<_> =
            fields.iter().filter(|field| !matches!(field.kind, Kind::Json(_) | Kind::Binary)).collect();
        let most = 1 + dice.below(2);
        let from = dice.some(&names, most).into_iter().map(|field| field.name.clone()).collect();
        Self { name: format!("c{number}"), from }
    }

    fn template(&self) -> String {
        let inputs: Vec<_> = self.from.iter().map(|name| format!("{{{name}}}")).collect();
        format!("{}!", inputs.join("/"))
    }
}

#[derive(Clone)]
pub(crate) struct Relation {
    pub(crate) name: String,
    pub(crate) target: usize,
    pub(crate) many: bool,
}

/// The key of a table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    /// `INTEGER PRIMARY KEY`.
    Integer,
    /// A text key.
    Text,
    /// Integers and some NULLs, without a constraint.
    Loose,
    /// Only the row id.
    None,
    /// Two columns that are not fields, in a table without row ids.
    Pair,
    /// Two columns that are fields and form the id together, in a table without row ids.
    Key,
}

const KEYS: [&str; 4] = ["author", "book", "note", "series"];

const TEXT_KEYS: [&str; 12] = ["a", "A", "é", "x'y", "q\"q", "50%", "_", "日", "z z", "\\", "--;", "01"];

impl Database {
    pub(crate) fn random(dice: &mut Dice) -> Self {
        let count = 1 + dice.below(KEYS.len());
        let mut entities: Vec<_> = KEYS[..count].iter().map(|key| Entity::random(dice, key)).collect();
        let mut schema = Schema::builder();
        for entity in &entities {
            schema = schema.entity(entity.key, |builder| entity.describe(builder));
        }
        let mut scripts = Scripts::default();
        let mut tables = Tables::new();
        let mut junctions = Vec::new();
        for number in 0..count + 3 {
            let (from, to) = (dice.below(count), dice.below(count));
            let both = (entities[from].has_id(), entities[to].has_id());
            match dice.below(4) {
                0 | 1 if both.1 => {
                    // A column with the key of the other entity, and a relation in each direction.
                    let column = format!("ref {number}");
                    let ids = entities[to].ids.clone();
                    let ty = entities[to].key_type();
                    entities[from].add_reference(dice, &column, ty, &ids);
                    let child = format!("{}.{}", quoted(&entities[from].table), quoted(&column));
                    let parent =
                        format!("{}.{}", quoted(&entities[to].table), quoted(&entities[to].id_column));
                    let on = format!("{parent} = {child}");
                    schema = relate(schema, &mut entities, from, to, format!("one{number}"), &on);
                    let on = format!("{child} = {parent}");
                    schema = relate(schema, &mut entities, to, from, format!("many{number}"), &on);
                }
                2 if both == (true, true) => {
                    let junction = format!("links{number}");
                    let rows: Vec<Vec<Value>> = (0..dice.below(14))
                        .map(|_| vec![key(dice, &entities[from].ids), key(dice, &entities[to].ids)])
                        .collect();
                    let column = |name: &str, entity: &Entity| Column {
                        name: name.to_owned(),
                        sqlite: "",
                        postgres: entity.key_type(),
                    };
                    let columns = [column("from", &entities[from]), column("to", &entities[to])];
                    scripts.add_table(&junction, &columns, "", "", &rows);
                    tables = tables.with(&junction, Junction::COLUMNS, rows.clone());
                    junctions.push(Junction { table: junction.clone(), rows });
                    for (from, to, start, end) in [(from, to, "from", "to"), (to, from, "to", "from")] {
                        let name = format!("via{number}{start}");
                        let through = ThroughDocument::new(&junction, start, end);
                        let join = JoinDocument::through(entities[to].key, through);
                        schema = schema.relation(&format!("{}.{name}", entities[from].key), join);
                        entities[from].relations.push(Relation { name, target: to, many: true });
                    }
                }
                // Columns that are not keys, so several records match a to-one relation.
                choice => {
                    let (parent, target) = (quoted(&entities[from].table), quoted(&entities[to].table));
                    let mut on = format!("{target}.code = {parent}.code");
                    if dice.chance(30) {
                        write!(on, " AND {target}.grade = {parent}.grade").unwrap();
                    }
                    let name = if choice == 3 { "some" } else { "any" };
                    schema = relate(schema, &mut entities, from, to, format!("{name}{number}"), &on);
                }
            }
        }
        for entity in &entities {
            entity.add_to(&mut scripts);
            let columns = entity.columns.iter().map(|column| &column.name);
            tables = tables.with(&entity.table, columns, entity.rows.clone());
        }
        Self { entities, scripts, tables, junctions, schema }
    }
}

/// Adds a relation over a condition. The name states whether it is to-many.
fn relate(
    schema: SchemaBuilder,
    entities: &mut [Entity],
    from: usize,
    to: usize,
    name: String,
    on: &str,
) -> SchemaBuilder {
    let many = name.starts_with("many") || name.starts_with("some");
    let target = entities[to].key;
    let join = if many { JoinDocument::many(target, on) } else { JoinDocument::one(target, on) };
    let schema = schema.relation(&format!("{}.{name}", entities[from].key), join);
    entities[from].relations.push(Relation { name, target: to, many });
    schema
}

/// Returns one of the ids, an id without a row, or NULL.
fn key(dice: &mut Dice, ids: &[Value]) -> Value {
    match dice.below(10) {
        0 => Value::Null,
        1 => 99.into(),
        _ if ids.is_empty() => Value::Null,
        _ => dice.pick(ids),
    }
}

impl Entity {
    fn random(dice: &mut Dice, key: &'static str) -> Self {
        let id = dice.pick(&[
            Id::Integer,
            Id::Integer,
            Id::Integer,
            Id::Text,
            Id::Loose,
            Id::None,
            Id::Pair,
            Id::Key,
        ]);
        let typed = dice.chance(60);
        let default = if key.ends_with('s') { key.to_owned() } else { format!("{key}s") };
        let table = dice.pick(&[default.clone(), default, format!("two {key}"), format!("été_{key}")]);
        let name = dice.pick(&["id", "id", "key"]);
        let mut entity = Self {
            key,
            fields: Vec::new(),
            computed: Vec::new(),
            relations: Vec::new(),
            points: !matches!(id, Id::None | Id::Pair),
            ids: Vec::new(),
            table,
            id,
            id_column: dice.pick(&[name, name, "the \"id\""]).to_owned(),
            columns: Vec::new(),
            constraint: "",
            options: "",
            rows: Vec::new(),
        };
        let count = dice.below(9);
        entity.identify(dice, name, count);
        entity.rows.truncate(count);
        if entity.id == Id::Key {
            let text = |row: &Vec<Value>| match row.as_slice() {
                [Value::Integer(one), Value::Text(two)] => format!("{one},{two}").into(),
                _ => Value::Null,
            };
            entity.ids = entity.rows.iter().map(text).collect();
        }
        let mut fields: Vec<Field> = (0..2 + dice.below(6))
            .map(|number| {
                let kind = Kind::random(dice);
                let name = format!("f{number}");
                let column = dice.pick(&[name.clone(), name.clone(), format!("a \"{number}\" b")]);
                // Without a type in the schema, only these kinds are read equally for every declaration of the column.
                let is_typed = !matches!(kind, Kind::Text | Kind::Integer) || dice.chance(80);
                Field { name, kind, column, is_typed }
            })
            .collect();
        // The name of a field may be the column of another.
        if dice.chance(20) {
            let first = fields[0].column.clone();
            fields[0].column = std::mem::replace(&mut fields[1].column, first);
        }
        for field in &fields {
            let is_converted =
                matches!(field.kind, Kind::BooleanText | Kind::BooleanReal | Kind::DateNumber(_));
            let declaration = if typed || is_converted { field.kind.declaration() } else { "" };
            // Without a declared type SQLite cannot recognize the format of times, and compares their texts.
            let timeless = !typed && matches!(field.kind, Kind::Time(0));
            let declared = (declaration, if timeless { "text" } else { field.kind.postgres() });
            entity.add_column(dice, &field.column, declared, |dice| field.kind.value(dice));
        }
        for column in ["code", "grade"] {
            entity.add_column(dice, column, ("", "integer"), |dice| match dice.below(4) {
                0 => Value::Null,
                number => (number as i64).into(),
            });
        }
        entity.fields.extend(fields);
        let computed = (0..dice.below(3)).map(|number| Computed::random(dice, number, &entity.fields));
        entity.computed = computed.filter(|computed| !computed.from.is_empty()).collect();
        entity
    }

    /// Adds the table and its rows to the scripts.
    pub(crate) fn add_to(&self, scripts: &mut Scripts) {
        scripts.add_table(&self.table, &self.columns, self.constraint, self.options, &self.rows);
    }

    /// Adds the key and the rows.
    fn identify(&mut self, dice: &mut Dice, name: &str, count: usize) {
        let mut texts = TEXT_KEYS.map(Value::from).to_vec();
        let mut numbers: Vec<Value> = (1..=12).map(|number| Value::from(number - 2)).collect();
        dice.shuffle(&mut texts);
        dice.shuffle(&mut numbers);
        let (kind, declaration, mut ids) = match self.id {
            Id::Integer => (Kind::Integer, "INTEGER PRIMARY KEY", numbers),
            Id::Text => (Kind::Text, "TEXT PRIMARY KEY NOT NULL", texts),
            Id::Loose => (Kind::Integer, "INTEGER", numbers),
            Id::None => return self.rows = vec![Vec::new(); count],
            Id::Pair | Id::Key => {
                self.columns = vec![
                    Column { name: "k 1".to_owned(), sqlite: "INTEGER", postgres: "integer" },
                    Column { name: "k2".to_owned(), sqlite: "TEXT", postgres: "text" },
                ];
                self.constraint = ", PRIMARY KEY (\"k 1\", k2)";
                self.options = " WITHOUT ROWID";
                let pairs = [1, 2, 3].into_iter().flat_map(|one| ["a", "b", "é"].map(|two| (one, two)));
                let mut rows: Vec<_> = pairs.map(|(one, two)| vec![Value::from(one), two.into()]).collect();
                dice.shuffle(&mut rows);
                if self.id == Id::Key {
                    let field = |name: &str, kind, column: &str| Field {
                        name: name.to_owned(),
                        kind,
                        column: column.to_owned(),
                        is_typed: true,
                    };
                    self.fields = vec![field("one", Kind::Integer, "k 1"), field("two", Kind::Text, "k2")];
                }
                return self.rows = rows;
            }
        };
        ids.truncate(count);
        if self.id == Id::Loose {
            ids.iter_mut().filter(|_| dice.chance(20)).for_each(|id| *id = Value::Null);
        }
        self.fields.push(Field {
            name: name.to_owned(),
            kind,
            column: self.id_column.clone(),
            is_typed: true,
        });
        let postgres = self.key_type();
        self.columns.push(Column { name: self.id_column.clone(), sqlite: declaration, postgres });
        self.rows = ids.iter().map(|id| vec![id.clone()]).collect();
        self.ids = ids;
    }

    fn add_column(
        &mut self,
        dice: &mut Dice,
        column: &str,
        (sqlite, postgres): (&'static str, &'static str),
        mut value: impl FnMut(&mut Dice) -> Value,
    ) {
        self.columns.push(Column { name: column.to_owned(), sqlite, postgres });
        self.rows.iter_mut().for_each(|row| row.push(value(dice)));
    }

    fn add_reference(&mut self, dice: &mut Dice, column: &str, ty: &'static str, ids: &[Value]) {
        self.add_column(dice, column, ("", ty), |dice| key(dice, ids));
    }

    /// Returns the type of the id in PostgreSQL.
    fn key_type(&self) -> &'static str {
        if self.id == Id::Text { "text" } else { "integer" }
    }

    /// Returns whether PostgreSQL and MariaDB store a field in a type of times.
    pub(crate) fn stores_times(&self, field: &Field) -> bool {
        let is_its = |column: &&Column| column.name == field.column;
        self.columns
            .iter()
            .find(is_its)
            .is_some_and(|column| ["timestamp", "date"].contains(&column.postgres))
    }

    /// Returns an entity without relations. The first field is its key.
    pub(crate) fn plain(key: &'static str, fields: &[(&str, Kind)], rows: Vec<Vec<Value>>) -> Self {
        let field = |(name, kind): &(&str, Kind)| Field {
            name: (*name).to_owned(),
            kind: *kind,
            column: (*name).to_owned(),
            is_typed: true,
        };
        let column = |(name, kind): &(&str, Kind)| Column {
            name: (*name).to_owned(),
            sqlite: kind.declaration(),
            postgres: kind.postgres(),
        };
        Self {
            key,
            fields: fields.iter().map(field).collect(),
            computed: Vec::new(),
            relations: Vec::new(),
            points: true,
            ids: rows.iter().map(|row| row[0].clone()).collect(),
            table: format!("{key}s"),
            id: Id::Integer,
            id_column: fields[0].0.to_owned(),
            columns: fields.iter().map(column).collect(),
            constraint: ", PRIMARY KEY (id)",
            options: " WITHOUT ROWID",
            rows,
        }
    }

    /// Returns whether a column is part of the key.
    pub(crate) fn is_key(&self, column: &str) -> bool {
        match self.id {
            Id::None => false,
            Id::Pair | Id::Key => ["k 1", "k2"].contains(&column),
            Id::Integer | Id::Text | Id::Loose => column == self.id_column,
        }
    }

    /// Returns the index of the column of a field.
    pub(crate) fn column(&self, field: &Field) -> usize {
        self.columns.iter().position(|column| column.name == field.column).unwrap()
    }

    /// Returns whether the key is one column, which others can refer to.
    fn has_id(&self) -> bool {
        self.points && self.id != Id::Key
    }

    pub(crate) fn describe(&self, mut builder: mesh_schema::EntityBuilder) -> mesh_schema::EntityBuilder {
        builder = builder.table(&self.table);
        builder = match self.fields.first() {
            _ if self.id == Id::Key => builder.key(["one", "two"]),
            Some(field) if self.points => builder.id(&field.name),
            _ => builder.no_id(),
        };
        for field in &self.fields {
            builder = if field.is_typed {
                builder.field(&field.name, field.kind.ty())
            } else {
                builder.untyped(&field.name)
            };
            builder =
                if field.column == field.name { builder } else { builder.column(&field.name, &field.column) };
        }
        for computed in &self.computed {
            let from = computed.from.iter().map(String::as_str);
            builder = builder.computed(&computed.name, from, &computed.template());
        }
        builder
    }
}
