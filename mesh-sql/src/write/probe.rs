//! Statements that show which writes a database would refuse. They are like those of writes, but change nothing.

use mesh_schema::{Entity, Field, Schema};
use sea_query::{Expr, Query};

use crate::dialect::Dialect;

/// A statement that a database refuses if it would refuse the writes of an entity.
#[derive(Clone, Debug)]
pub struct WriteProbe {
    /// The statement.
    pub sql: String,
    /// The same statement for each field that the write may set, if there are several.
    pub fields: Vec<(String, String)>,
    entity: String,
    action: &'static str,
}

impl WriteProbe {
    /// Returns the note about a refused statement. `refused` are the fields whose statements are refused, too.
    pub fn note(&self, refused: &[&str], cause: &str) -> String {
        let Self { entity, action, fields, .. } = self;
        let names = if refused.len() < fields.len() { refused } else { &[] };
        let names = names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
        let of = if names.is_empty() { String::new() } else { format!(" with {names}") };
        format!(
            "Records of entity '{entity}' are writable, but the database refuses to {action} them{of}: {cause}"
        )
    }
}

/// The writes of the records of an entity.
#[derive(Clone, Copy)]
enum Write {
    Create,
    Update,
    Delete,
}

impl Write {
    /// Returns whether a body may set a field.
    fn sets(self, field: &Field) -> bool {
        let is_set = match self {
            Self::Create => field.writable.create,
            Self::Update => field.writable.update || field.upload.is_some(),
            Self::Delete => false,
        };
        is_set && !field.generated
    }

    /// Returns the statement of the write of some fields, which finds no row.
    fn statement<D: Dialect>(self, dialect: &D, entity: &Entity, fields: &[&Field]) -> String {
        let none = Expr::Constant(false.into());
        // The builder leaves the clause out for a database that does not have it.
        let returned = Query::returning().columns(entity.id_fields().map(|field| field.column.clone()));
        let columns = fields.iter().map(|field| field.column.clone());
        let table = dialect.table(&entity.table);
        match self {
            Self::Create => {
                let mut rows = Query::select();
                rows.columns(columns.clone()).from(table.clone()).and_where(none);
                let mut insert = Query::insert();
                insert.into_table(table).columns(columns).returning(returned);
                // There are as many columns as values, so this cannot fail.
                let _ = insert.select_from(rows);
                insert.to_string(dialect.builder())
            }
            Self::Update => {
                let values = columns.map(|column| (column.clone(), Expr::col(column)));
                let mut update = Query::update();
                update.table(table).values(values).and_where(none).returning(returned);
                update.to_string(dialect.builder())
            }
            Self::Delete => {
                let mut delete = Query::delete();
                delete.from_table(table).and_where(none).returning(returned);
                delete.to_string(dialect.builder())
            }
        }
    }
}

/// Returns statements that show which of the writes that the schema permits the database would refuse.
pub fn write_probes<D: Dialect>(schema: &Schema, dialect: &D) -> Vec<WriteProbe> {
    let mut probes = Vec::new();
    for (_, entity) in schema.entities().filter(|(_, entity)| !entity.id.is_empty()) {
        for (write, action) in
            [(Write::Create, "create"), (Write::Update, "update"), (Write::Delete, "delete")]
        {
            let fields: Vec<&Field> = entity.fields.iter().filter(|field| write.sets(field)).collect();
            let is_permitted =
                if matches!(write, Write::Delete) { entity.deletable } else { !fields.is_empty() };
            if !is_permitted {
                continue;
            }
            let sql = |fields: &[&Field]| write.statement(dialect, entity, fields);
            let singles = if fields.len() > 1 { fields.as_slice() } else { &[] };
            probes.push(WriteProbe {
                sql: sql(&fields),
                fields: singles.iter().map(|field| (field.name.clone(), sql(&[field]))).collect(),
                entity: entity.key.clone(),
                action,
            });
        }
    }
    probes
}
