//! Random databases: small, with many ties and NULLs, and with unusual names and texts.

use std::fmt::Write as _;

use mesh_plan::Value;
use mesh_plan::memory::Tables;
use mesh_schema::{FieldType, JoinDocument, Schema, SchemaBuilder, ThroughDocument};

use super::dice::Dice;
use super::documents::{self, JSON_TYPES};
use super::script::{Column, Scripts, quoted};

/// A random database and its schema.
pub(crate) struct Database {
    pub(crate) entities: Vec<Entity>,
    pub(crate) scripts: Scripts,
    /// The same data in memory.
    pub(crate) tables: Tables,
    pub(crate) schema: SchemaBuilder,
}

pub(crate) struct Entity {
    pub(crate) key: &'static str,
    /// The fields, including the id.
    pub(crate) fields: Vec<Field>,
    pub(crate) relations: Vec<Relation>,
    /// Whether records can be read by id.
    pub(crate) points: bool,
    /// The ids of the rows; NULL for rows without one.
    pub(crate) ids: Vec<Value>,
    table: String,
    id: Id,
    id_column: String,
    /// Storage columns with their declarations.
    columns: Vec<Column>,
    /// A constraint of the table.
    constraint: &'static str,
    options: &'static str,
    rows: Vec<Vec<Value>>,
}

#[derive(Clone)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    column: String,
    /// Whether the schema declares its type.
    is_typed: bool,
}

#[derive(Clone)]
pub(crate) struct Relation {
    pub(crate) name: String,
    pub(crate) target: usize,
    pub(crate) many: bool,
}

/// The kind of values in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Integer,
    Real,
    Boolean,
    /// Booleans in a column of text.
    BooleanText,
    /// Booleans in a column of reals.
    BooleanReal,
    Bigint,
    /// 64-bit integers whose sums overflow.
    Huge,
    Decimal,
    /// Times, written as in this entry of [`TIMES`].
    Time(usize),
    Date,
    /// Days in a column of numbers, as in this entry of [`TIMES`].
    DateNumber(usize),
    /// In columns of this one of [`JSON_TYPES`].
    Json(usize),
    Binary,
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
}

const KEYS: [&str; 4] = ["author", "book", "note", "series"];

/// Three times in each of the formats that a column may have.
const TIMES: [[&str; 3]; 5] = [
    ["2024-01-01T00:00:00", "2024-05-01T10:00:00", "2023-12-31T23:59:59"],
    ["2024-01-01 00:00:00", "2024-05-01 10:00:00", "2023-12-31 23:59:59"],
    ["2024-01-01T00:00:00.000Z", "2024-05-01T10:00:00.000Z", "2023-12-31T23:59:59.500Z"],
    ["1704067200", "1714557600", "1704067199"],
    ["1704067200000", "1714557600000", "1704067199500"],
];

pub(crate) const TEXTS: [&str; 16] =
    ["a", "b", "B", "é", "É", "", "ab", "%", "a_b", "it's", "say \"hi\"", "\\", "日本", "a%", " ", "12"];

const TEXT_KEYS: [&str; 12] = ["a", "A", "é", "x'y", "q\"q", "50%", "_", "日", "z z", "\\", "--;", "01"];

impl Kind {
    fn random(dice: &mut Dice) -> Self {
        match dice.below(19) {
            0..=2 => Self::Text,
            3 | 4 => Self::Integer,
            5 => Self::Real,
            6 => Self::Boolean,
            7 => Self::Bigint,
            8 => Self::Huge,
            9 => Self::Decimal,
            10 | 11 => Self::Time(dice.below(TIMES.len())),
            12 => Self::Date,
            13 => Self::BooleanText,
            14 => Self::BooleanReal,
            15 => Self::DateNumber(3 + dice.below(2)),
            16 => Self::Binary,
            _ => Self::Json(dice.below(JSON_TYPES.len())),
        }
    }

    fn ty(self) -> FieldType {
        match self {
            Self::Text => FieldType::String,
            Self::Integer => FieldType::Integer,
            Self::Real => FieldType::Number,
            Self::Boolean | Self::BooleanText | Self::BooleanReal => FieldType::Boolean,
            Self::Bigint | Self::Huge => FieldType::Bigint,
            Self::Decimal => FieldType::Decimal,
            Self::Time(_) => FieldType::Datetime,
            Self::Date | Self::DateNumber(_) => FieldType::Date,
            Self::Json(_) => FieldType::Json,
            Self::Binary => FieldType::Binary,
        }
    }

    fn declaration(self) -> &'static str {
        match self {
            Self::Text | Self::BooleanText => "TEXT",
            Self::Integer | Self::DateNumber(_) => "INTEGER",
            Self::Real | Self::BooleanReal => "REAL",
            Self::Boolean => "BOOLEAN",
            Self::Bigint | Self::Huge => "BIGINT",
            Self::Decimal => "DECIMAL(10, 2)",
            Self::Time(_) => "DATETIME",
            Self::Date => "DATE",
            Self::Json(_) => "JSON",
            Self::Binary => "BLOB",
        }
    }

    /// PostgreSQL's types, if their values are written as in SQLite.
    fn postgres(self) -> &'static str {
        match self {
            Self::Text | Self::BooleanText => "text",
            Self::Integer => "integer",
            Self::Real | Self::BooleanReal => "double precision",
            Self::Boolean => "boolean",
            Self::Bigint | Self::Huge => "bigint",
            Self::Decimal => "numeric",
            Self::Time(0) => "timestamp",
            Self::Time(1 | 2) => "text",
            Self::Time(_) | Self::DateNumber(_) => "bigint",
            Self::Date => "date",
            Self::Json(form) => JSON_TYPES[form],
            Self::Binary => "bytea",
        }
    }

    fn value(self, dice: &mut Dice) -> Value {
        if dice.chance(25) {
            return Value::Null;
        }
        match self {
            Self::Text => dice.pick(&TEXTS).into(),
            Self::Integer => (dice.below(6) as i64 - 1).into(),
            Self::Real => dice.pick(&[0.25, 0.5, 1.0, 2.0, -3.25, 1000.75]).into(),
            Self::Boolean => (dice.below(2) as i64).into(),
            Self::Bigint => dice.pick(&[1, 4, -5, 7, 9_007_199_254_740_993i64]).into(),
            Self::Huge => dice.pick(&[i64::MIN, i64::MAX, 0, 1]).into(),
            Self::Decimal => dice.pick(&[Value::from(1.5), 2.into(), 0.25.into(), 10.into()]),
            Self::BooleanText => dice.pick(&["0", "1", "false", "true"]).into(),
            Self::BooleanReal => dice.pick(&[0.0, 1.0]).into(),
            Self::DateNumber(form) => dice.pick(&TIMES[form]).parse::<i64>().unwrap().into(),
            Self::Time(form) => match dice.pick(&TIMES[form]) {
                text if form < 3 => text.into(),
                number => number.parse::<i64>().unwrap().into(),
            },
            Self::Date => dice.pick(&["2024-01-01", "2024-05-01", "2023-12-31"]).into(),
            Self::Json(form) => documents::random(dice, form).into(),
            Self::Binary => dice.pick(&[vec![0u8, 255], vec![1, 2, 3]]).into(),
        }
    }
}

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
                    tables = tables.with(&junction, ["from", "to"], rows);
                    for (from, to, start, end) in [(from, to, "from", "to"), (to, from, "to", "from")] {
                        let name = format!("via{number}{start}");
                        let through = ThroughDocument::new(&junction, start, end);
                        let join = JoinDocument::through(entities[to].key, through);
                        schema = schema.relation(&format!("{}.{name}", entities[from].key), join);
                        entities[from].relations.push(Relation { name, target: to, many: true });
                    }
                }
                // Columns that are no key, so several records match a to-one relation.
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
            scripts.add_table(
                &entity.table,
                &entity.columns,
                entity.constraint,
                entity.options,
                &entity.rows,
            );
            let columns = entity.columns.iter().map(|column| &column.name);
            tables = tables.with(&entity.table, columns, entity.rows.clone());
        }
        Self { entities, scripts, tables, schema }
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
        let id = dice.pick(&[Id::Integer, Id::Integer, Id::Integer, Id::Text, Id::Loose, Id::None, Id::Pair]);
        let typed = dice.chance(60);
        let default = if key.ends_with('s') { key.to_owned() } else { format!("{key}s") };
        let table = dice.pick(&[default.clone(), default, format!("two {key}"), format!("été_{key}")]);
        let name = dice.pick(&["id", "id", "key"]);
        let mut entity = Self {
            key,
            fields: Vec::new(),
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
        entity
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
            Id::Pair => {
                self.columns = vec![
                    Column { name: "k 1".to_owned(), sqlite: "INTEGER", postgres: "integer" },
                    Column { name: "k2".to_owned(), sqlite: "TEXT", postgres: "text" },
                ];
                self.constraint = ", PRIMARY KEY (\"k 1\", k2)";
                self.options = " WITHOUT ROWID";
                let pairs = [1, 2, 3].into_iter().flat_map(|one| ["a", "b", "é"].map(|two| (one, two)));
                let mut rows: Vec<_> = pairs.map(|(one, two)| vec![Value::from(one), two.into()]).collect();
                dice.shuffle(&mut rows);
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

    fn has_id(&self) -> bool {
        self.points
    }

    fn describe(&self, mut builder: mesh_schema::EntityBuilder) -> mesh_schema::EntityBuilder {
        builder = builder.table(&self.table);
        builder = match self.fields.first() {
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
        builder
    }
}
