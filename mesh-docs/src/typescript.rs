//! What does a TypeScript program know of a schema? Types of its entities, from which answers take their shape.
//!
//! [`types`] is the part that depends on a schema. [`CLIENT`] is the module it builds on: a client without
//! dependencies, and the types that make of a selection the shape of its answer. It is the same for every schema.

use std::collections::HashSet;
use std::fmt::Write as _;

use mesh_schema::{Cardinality, Entity, Field, FieldType, Schema};

/// The text of the module that [`types`] refers to.
pub const CLIENT: &str = include_str!("typescript/mesh-client.ts");

/// The name of the file that [`CLIENT`] has to stand in, beside that of [`types`].
pub const CLIENT_FILE: &str = "mesh-client.ts";

/// Names at the end of the file, which no entity's type may have.
const OWN: [&str; 5] = ["Entities", "Query", "PointQuery", "Item", "Result"];

const HEAD: &str = "\
// The types of a Mesh schema, written by `mesh-server types`. Write it anew when the schema changes.

import * as mesh from \"./mesh-client.js\";
";

const TAIL: &str = "
/** A read of a collection. */
export type Query = mesh.Query<Entities>;
/** A read of one record. */
export type PointQuery = mesh.PointQuery<Entities>;
/** A record of exactly the names that a query selects. */
export type Item<Q> = mesh.Item<Entities, Q>;
/** What a read of a collection is answered with. */
export type Result<Q> = mesh.Page<Item<Q>>;

/** The query as it is, once the compiler has found every name of it in the schema. */
export function query<const Q extends Query>(query: Q & mesh.Checked<Entities, Q>): Q {
  return query;
}

/** The server at a URL, its base path included. */
export function connect(base: string, options?: mesh.Options): mesh.Client<Entities> {
  return new mesh.Client<Entities>(base, options);
}
";

/// The module with the types of a schema's entities. What can be NULL is `T | null`, a to-one relation may lead to
/// no record, and what is text in answers is a `string`, numbers that JavaScript cannot hold among it. `SPEC §5.5`
pub fn types(schema: &Schema) -> String {
    let mut out = HEAD.to_owned();
    let mut taken: HashSet<String> = OWN.map(str::to_owned).into();
    let mut names = Vec::new();
    for (_, entity) in schema.entities() {
        let mut name = type_name(&entity.key);
        while !taken.insert(name.clone()) {
            name.push('_');
        }
        record(&mut out, entity, &name);
        names.push((entity, name));
    }
    out.push_str("\n/** What can be read: every entity, with what its names stand for. */\nexport interface Entities {\n");
    for (entity, name) in &names {
        known(&mut out, schema, entity, name);
    }
    out.push_str("}\n");
    out.push_str(TAIL);
    out
}

/// An entity's record: fields and computed fields.
fn record(out: &mut String, entity: &Entity, name: &str) {
    let said = entity.description.as_deref();
    comment(out, "", said.unwrap_or(&format!("A record of `{}`.", entity.key)), true);
    // Writing to a String cannot fail.
    let _ = writeln!(out, "export interface {name} {{");
    for field in entity.fields.iter().filter(|field| entity.member(&field.name).is_some()) {
        if let Some(said) = &field.description {
            comment(out, "  ", said, false);
        }
        let or_null = if field.nullable { " | null" } else { "" };
        let _ = writeln!(out, "  {}: {}{or_null};", key(&field.name), value(field.ty));
    }
    for computed in entity.computed.iter().filter(|computed| entity.member(&computed.name).is_some()) {
        let _ = writeln!(out, "  {}: string;", key(&computed.name));
    }
    out.push_str("}\n");
}

/// What the machinery of types looks up.
fn known(out: &mut String, schema: &Schema, entity: &Entity, name: &str) {
    let is_there = |name: &str| entity.member(name).is_some();
    let fields = || entity.fields.iter().filter(|field| is_there(&field.name));
    let kinds = fields().map(|field| {
        let kind = field.ty.map_or("scalar", FieldType::name);
        format!("{}: {}", key(&field.name), text(kind))
    });
    let relations = entity.relations.iter().filter(|relation| is_there(&relation.name)).map(|relation| {
        let how = match relation.cardinality {
            Cardinality::One => "One",
            Cardinality::Many => "Many",
        };
        let target = text(&schema.entity(relation.target).key);
        format!("{}: mesh.{how}<{target}>", key(&relation.name))
    });
    let uploads = one_of(fields().filter(|field| field.upload.is_some()));
    let is_found = entity.id.is_some();
    let writable = one_of(fields().filter(|field| is_found && field.writable));
    // Writing to a String cannot fail.
    let _ = writeln!(out, "  {}: {{\n    fields: {name};", key(&entity.key));
    let id = entity.id.map(|id| entity.field(id).name.as_str()).filter(|name| is_there(name));
    let _ = writeln!(out, "    id: {};", id.map_or_else(|| "null".to_owned(), text));
    let _ = writeln!(out, "    kinds: {};", members(kinds));
    let _ = writeln!(out, "    relations: {};", members(relations));
    let _ = writeln!(out, "    uploads: {uploads};\n    writable: {writable};\n  }};");
}

/// The type of the names of some fields.
fn one_of<'f>(fields: impl Iterator<Item = &'f Field>) -> String {
    let names: Vec<_> = fields.map(|field| text(&field.name)).collect();
    if names.is_empty() { "never".to_owned() } else { names.join(" | ") }
}

fn members(all: impl Iterator<Item = String>) -> String {
    let all: Vec<_> = all.collect();
    if all.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", all.join("; ")) }
}

/// The type of a field's values as they stand in answers.
fn value(ty: Option<FieldType>) -> &'static str {
    use FieldType::{Bigint, Binary, Boolean, Date, Datetime, Decimal, Integer, Json, Number, String, Uuid};
    match ty {
        None => "string | number | boolean",
        Some(Integer | Number) => "number",
        Some(Boolean) => "boolean",
        Some(Json) => "mesh.Json",
        Some(String | Bigint | Datetime | Date | Binary | Uuid | Decimal) => "string",
    }
}

/// An entity's key as the name of a type: capitals where words begin, and nothing that a name cannot have.
fn type_name(key: &str) -> String {
    // Letters in circles count as letters, but not in names.
    let is_letter = |letter: char| {
        letter.is_alphabetic() && !matches!(letter, '\u{24b6}'..='\u{24e9}' | '\u{1f130}'..='\u{1f189}')
    };
    let words = key.split(|letter: char| !is_letter(letter) && !letter.is_ascii_digit());
    let mut name = String::new();
    for word in words {
        let mut letters = word.chars();
        name.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        name.push_str(letters.as_str());
    }
    // A mark that belongs on the letter before it cannot begin a name, but what follows `_` is always one.
    let begins = name.chars().next().is_some_and(|first| first.is_ascii_alphabetic() || first.is_uppercase());
    if begins { name } else { format!("_{name}") }
}

/// A name as a key of an object type.
fn key(name: &str) -> String {
    let mut letters = name.bytes();
    let begins =
        letters.next().is_some_and(|first| first.is_ascii_alphabetic() || matches!(first, b'_' | b'$'));
    let plain =
        begins && letters.all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, b'_' | b'$'));
    if plain { name.to_owned() } else { text(name) }
}

/// A text as a literal; those of JSON are ones of TypeScript as well.
fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A description as a comment that it cannot end.
fn comment(out: &mut String, indent: &str, said: &str, apart: bool) {
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ").replace("*/", "* /");
    if apart {
        out.push('\n');
    }
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{indent}/** {said} */");
}

#[cfg(test)]
mod tests;
