//! The classes of one entity.

use std::fmt::Write as _;

use mesh_schema::{Cardinality, Entity, EntityId, Field, FieldType, Link, Relation, Schema};

use super::names::{ClassNames, ModuleNames, has_creatable_children, is_plain, text};
use crate::members;
use crate::text::one_line;

/// Writes the type of the records of an entity. Like the results of writes, they have all fields but no computed
/// fields.
pub(super) fn record(out: &mut String, (id, entity): (EntityId, &Entity), names: &ModuleNames) {
    let name = &names.entity(id).record;
    let comment = entity.description.clone().unwrap_or_else(|| format!("A record of `{}`.", entity.key));
    // Writing to a String cannot fail.
    if members::fields(entity).all(|field| is_plain(&field.name)) {
        let _ = writeln!(out, "\n\nclass {name}(TypedDict):");
        docstring(out, "    ", &comment);
        out.push('\n');
        for field in members::fields(entity) {
            let _ = writeln!(out, "    {}: {}", field.name, value(field));
            docstring(out, "    ", field.description.as_deref().unwrap_or_default());
        }
    } else {
        let _ = writeln!(out, "\n\n{name} = TypedDict(\n    {},\n    {{", text(name));
        for field in members::fields(entity) {
            let _ = writeln!(out, "        {}: {},", text(&field.name), text(&value(field)));
        }
        out.push_str("    },\n)\n");
        docstring(out, "", &comment);
    }
}

/// Writes the classes of an entity's fields, of relations to it, and of the entity.
pub(super) fn entity_class(
    out: &mut String,
    schema: &Schema,
    (id, entity): (EntityId, &Entity),
    names: &ModuleNames,
) {
    let class = names.entity(id);
    let is_to_one = |relation: &&Relation| relation.cardinality == Cardinality::One;
    let members = member_names(entity, names);
    let name_of = |wire: &str| name_of(&members, wire);
    // Writing to a String cannot fail.
    let _ = writeln!(out, "\n\nclass {}(mesh.Fields[E]):", class.fields);
    docstring(out, "    ", &format!("The fields of {}.", quoted(&entity.key)));
    out.push('\n');
    for field in members::fields(entity) {
        let _ = writeln!(out, "    {}: mesh.{}[E]", name_of(&field.name), field_class(field));
        docstring(out, "    ", field.description.as_deref().unwrap_or_default());
    }
    for computed in members::computed(entity) {
        let _ = writeln!(out, "    {}: mesh.ComputedField[E]", name_of(&computed.name));
        docstring(out, "    ", computed.description.as_deref().unwrap_or_default());
    }
    for relation in members::relations(entity).filter(is_to_one) {
        let _ = writeln!(out, "    {}: {}[E]", name_of(&relation.name), names.entity(relation.target).path);
    }
    let is_target = schema.entities().any(|(_, other)| {
        members::relations(other)
            .any(|relation| relation.cardinality == Cardinality::One && relation.target == id)
    });
    if is_target {
        let ClassNames { path, fields, record, .. } = class;
        let _ = writeln!(out, "\n\nclass {path}({fields}[E], mesh.One[E, {record}]):");
        docstring(out, "    ", &format!("A relation to a record of {}.", quoted(&entity.key)));
    }
    for relation in members::relations(entity).filter(|relation| has_creatable_children(schema, relation)) {
        children(out, schema, (entity, class), relation, names);
    }
    let has_id = !entity.id.is_empty();
    let ClassNames { entity: name, record, .. } = class;
    let _ = writeln!(out, "\n\nclass {name}({}):", bases(entity, class));
    docstring(out, "    ", &format!("The entity {}.", quoted(&entity.key)));
    let mut first = true;
    for relation in members::relations(entity).filter(|relation| !is_to_one(relation)) {
        if std::mem::take(&mut first) {
            out.push('\n');
        }
        let target = &names.entity(relation.target).entity;
        let kind = match (class.children.get(&relation.name), &relation.link) {
            (Some(children), _) => children.clone(),
            (None, Link::Direct { .. }) => format!("mesh.Many[{name}, {target}]"),
            (None, _) => format!("mesh.Links[{name}, {target}]"),
        };
        let _ = writeln!(out, "    {}: {kind}", name_of(&relation.name));
    }
    let creatable = || members::fields(entity).filter(|field| has_id && field.writable.create);
    if creatable().next().is_some() {
        let signature = parameters(creatable(), &members, |field| field.required);
        method(
            out,
            "new",
            "",
            &signature,
            &format!("mesh.New[{record}]"),
            "Returns a new record, for `create`.",
        );
    }
    let updatable = || members::fields(entity).filter(|field| has_id && field.writable.update);
    if updatable().next().is_some() {
        let signature = parameters(updatable(), &members, |_| false);
        let result = format!("mesh.Change[{record}]");
        method(out, "change", "_id", &signature, &result, "Returns changes of a record, for `update`.");
    }
}

/// Returns the base classes of an entity's class.
fn bases(entity: &Entity, ClassNames { entity: name, fields, record, .. }: &ClassNames) -> String {
    let own = text(name);
    let search = if entity.search.is_some() { format!("mesh.Searchable[{own}], ") } else { String::new() };
    let base = match (entity.id.is_empty(), entity.deletable) {
        (false, true) => "DeletableEntity",
        (false, false) => "RecordEntity",
        (true, _) => "Entity",
    };
    format!("{fields}[{own}], {search}mesh.{base}[{own}, {record}]")
}

/// Writes the class of a relation in which records can be created. Fields that the relation sets are not required.
fn children(
    out: &mut String,
    schema: &Schema,
    (entity, class): (&Entity, &ClassNames),
    relation: &Relation,
    names: &ModuleNames,
) {
    let (target, target_names) = (schema.entity(relation.target), names.entity(relation.target));
    let Some(name) = class.children.get(&relation.name) else { return };
    let linked: Vec<&str> = match &relation.link {
        Link::Direct { pairs } => pairs.iter().map(|pair| pair.target.as_str()).collect(),
        Link::Through { .. } => Vec::new(),
    };
    let (from, to) = (text(&class.entity), text(&target_names.entity));
    // Writing to a String cannot fail.
    let _ = writeln!(out, "\n\nclass {name}(mesh.Many[{from}, {to}]):");
    let path = format!("{}.{}", entity.key, relation.name);
    docstring(out, "    ", &format!("The relation {}.", quoted(&path)));
    let creatable = members::fields(target).filter(|field| field.writable.create);
    let members = member_names(target, names);
    let is_required = |field: &Field| field.required && !linked.contains(&field.column.as_str());
    let signature = parameters(creatable, &members, is_required);
    let result = format!("mesh.New[{}]", target_names.record);
    method(
        out,
        "new",
        "_id",
        &signature,
        &result,
        "Returns a new record in the relation of a record, for `create`.",
    );
}

/// The parameters of a method: names, types, and whether they are required.
type Parameters = Vec<(String, String, bool)>;

fn parameters<'f>(
    fields: impl Iterator<Item = &'f Field>,
    members: &[(&str, String)],
    is_required: impl Fn(&Field) -> bool,
) -> Parameters {
    fields
        .map(|field| (name_of(members, &field.name).to_owned(), written(field), is_required(field)))
        .collect()
}

/// Writes a method that passes its arguments to the private one of the same name.
fn method(out: &mut String, name: &str, id: &str, parameters: &Parameters, result: &str, comment: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "\n    def {name}(\n        self,");
    if !id.is_empty() {
        let _ = writeln!(out, "        {id}: mesh.RecordId,\n        /,");
    }
    out.push_str("        *,\n");
    for (name, ty, required) in parameters {
        let default = if *required { "" } else { " = mesh.UNSET" };
        let _ = writeln!(out, "        {name}: {ty}{default},");
    }
    let _ = writeln!(out, "    ) -> {result}:");
    docstring(out, "        ", comment);
    let _ = writeln!(out, "        return self._{name}(");
    if !id.is_empty() {
        let _ = writeln!(out, "            {id},");
    }
    for (name, ..) in parameters {
        let _ = writeln!(out, "            {name}={name},");
    }
    out.push_str("        )\n");
}

/// Writes the entry of an entity in the schema.
pub(super) fn info(
    out: &mut String,
    schema: &Schema,
    (id, entity): (EntityId, &Entity),
    names: &ModuleNames,
) {
    let members = member_names(entity, names);
    let dict = |entries: Vec<String>| format!("{{{}}}", entries.join(", "));
    let tuple = |entries: Vec<String>| match entries.as_slice() {
        [] => String::new(),
        entries => format!("({},)", entries.join(", ")),
    };
    let relations = |cardinality: Cardinality| {
        let all = members::relations(entity).filter(move |relation| relation.cardinality == cardinality);
        let entry = |relation: &Relation| {
            let target = text(&schema.entity(relation.target).key);
            let class = match (cardinality, &relation.link, names.entity(id).children.get(&relation.name)) {
                (Cardinality::One, ..) => names.entity(relation.target).path.clone(),
                (_, _, Some(children)) => children.clone(),
                (_, Link::Direct { .. }, None) => "mesh.Many".to_owned(),
                _ => "mesh.Links".to_owned(),
            };
            format!("{}: ({target}, {class})", text(&relation.name))
        };
        dict(all.map(entry).collect())
    };
    let kinds = members::fields(entity).map(|field| {
        let or_null = if field.reads_null { "?" } else { "" };
        format!("{}: \"{}{or_null}\"", text(&field.name), kind(field))
    });
    let computed = members::computed(entity).map(|computed| text(&computed.name)).collect();
    let files = members::fields(entity).filter(|field| field.upload.is_some());
    let renamed = members.iter().filter(|(wire, name)| wire != name);
    let entries = [
        ("fields", dict(kinds.collect())),
        ("computed", tuple(computed)),
        ("files", tuple(files.map(|field| text(&field.name)).collect())),
        ("one", relations(Cardinality::One)),
        ("many", relations(Cardinality::Many)),
        ("names", dict(renamed.map(|(wire, name)| format!("{}: {}", text(name), text(wire))).collect())),
    ];
    // Writing to a String cannot fail.
    let _ = writeln!(out, "    {}: mesh.EntityInfo(", text(&entity.key));
    for (name, value) in entries.iter().filter(|(name, value)| *name == "fields" || value.len() > 2) {
        let _ = writeln!(out, "        {name}={value},");
    }
    out.push_str("    ),\n");
}

/// Returns the Python names of all members of an entity.
fn member_names<'e>(entity: &'e Entity, names: &ModuleNames) -> Vec<(&'e str, String)> {
    let fields = members::fields(entity).map(|field| field.name.as_str());
    let computed = members::computed(entity).map(|computed| computed.name.as_str());
    names.members(
        fields.chain(computed).chain(members::relations(entity).map(|relation| relation.name.as_str())),
    )
}

fn name_of<'m>(members: &'m [(&str, String)], wire: &str) -> &'m str {
    members.iter().find(|(name, _)| *name == wire).map_or("", |(_, name)| name)
}

fn kind(field: &Field) -> &'static str {
    crate::literal_kind(field.ty)
}

/// Returns the class of a field.
fn field_class(field: &Field) -> String {
    if field.upload.is_some() {
        return "FileField".to_owned();
    }
    let (first, rest) = kind(field).split_at(1);
    format!("{}{rest}Field", first.to_ascii_uppercase())
}

/// Returns the type of a field's values in results.
fn value(field: &Field) -> String {
    use FieldType::{
        Bigint, Binary, Boolean, Date, Datetime, Decimal, Integer, Json, Number, String, Unsigned, Uuid,
    };
    let value = match field.ty {
        None => "str | int | float | bool",
        Some(Integer) => "int",
        Some(Unsigned) => "int | str",
        Some(Number) => "float",
        Some(Boolean) => "bool",
        Some(Json) => return "Any".to_owned(),
        Some(String | Bigint | Datetime | Date | Binary | Uuid | Decimal) => "str",
    };
    or_none(value, field.reads_null)
}

/// Returns the type of the values that can be written to a field.
fn written(field: &Field) -> String {
    use FieldType::{
        Bigint, Binary, Boolean, Date, Datetime, Decimal, Integer, Json, Number, String, Unsigned, Uuid,
    };
    let value = match field.ty {
        None => "mesh.Scalar",
        Some(Integer) => "int",
        Some(Bigint | Unsigned) => "int | str",
        Some(Number) => "float",
        Some(Decimal) => "mesh.DecimalValue",
        Some(Boolean) => "bool",
        Some(Datetime) => "mesh.DatetimeValue",
        Some(Date) => "mesh.DateValue",
        Some(Uuid) => "mesh.UuidValue",
        Some(Binary) => "mesh.BytesValue",
        Some(Json) => return "Any".to_owned(),
        Some(String) => "str",
    };
    or_none(value, field.nullable)
}

fn or_none(value: &str, can_be_none: bool) -> String {
    if can_be_none { format!("{value} | None") } else { value.to_owned() }
}

/// Returns a name of the schema for a docstring.
fn quoted(name: &str) -> String {
    format!("`{name}`")
}

/// Writes a docstring, which the text cannot terminate. Writes nothing for an empty text.
pub(super) fn docstring(out: &mut String, indent: &str, comment: &str) {
    let comment = one_line(comment);
    if !comment.is_empty() {
        let comment = comment.replace('\\', "\\\\").replace('"', "\\\"");
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{indent}\"\"\"{comment}\"\"\"");
    }
}
