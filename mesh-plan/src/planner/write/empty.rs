//! Required fields without a value.

use mesh_schema::{Entity, Field, Member};

use super::WriteKind;
use crate::Value;
use crate::error::{FieldFault, WriteFault};
use crate::mutation::{Assignment, RelatedRecord};

/// Returns the faults of fields that may be written, must have a value and have none: first the fields that are set to
/// `null`, then, in a new record, the fields for which `has_value` is false. A field with the link to the `parent` has a
/// value.
pub(crate) fn faults(
    entity: &Entity,
    kind: WriteKind,
    parent: Option<&RelatedRecord>,
    values: &[Assignment],
    has_value: impl Fn(&Field) -> bool,
) -> Vec<FieldFault> {
    let fields =
        || entity.fields.iter().filter(|field| matches!(entity.member(&field.name), Some(Member::Field(_))));
    let is_null = |field: &&Field| {
        // A key without a value may get one from the database.
        let may_be_null = field.nullable || kind == WriteKind::Create && entity.is_id_column(&field.column);
        !may_be_null && values.iter().any(|it| *it.field == *field.name && it.value == Value::Null)
    };
    let nulls = fields()
        .filter(is_null)
        .map(|field| FieldFault::new(field.name.as_str(), WriteFault::Null { field: field.name.clone() }));
    let is_missing = |field: &&Field| {
        let is_link = parent.is_some_and(|parent| parent.stores_link_in(&field.column));
        kind == WriteKind::Create && field.required && field.writable.create && !is_link && !has_value(field)
    };
    let missing = fields().filter(is_missing).map(|field| {
        FieldFault::new(field.name.as_str(), WriteFault::Required { field: field.name.clone() })
    });
    nulls.chain(missing).collect()
}
