//! Records as lines of CSV. `SPEC §16.2`

use mesh_schema::FieldType;

use super::{Cells, Flow, RowSource, Shaper, scalar};
use crate::plan::{Node, Output};
use crate::{ResolveError, ValueRef};

/// Writes the line of names: those of the selection, with the names of to-one relations before those of their fields.
pub(super) fn write_names(out: &mut Vec<u8>, node: &Node) {
    let mut names = Vec::new();
    collect_names(node, "", &mut names);
    for (index, name) in names.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        quote(out, name.as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

/// The recursion is bounded by the depth of queries.
fn collect_names(node: &Node, prefix: &str, names: &mut Vec<String>) {
    for output in &node.output {
        match output {
            Output::Field { key, .. } | Output::Part { key, .. } | Output::Computed { key, .. } => {
                names.push(format!("{prefix}{}", key.name()));
            }
            Output::Join { key, join } => {
                if let Some(join) = node.joins.get(*join) {
                    collect_names(&join.node, &format!("{prefix}{}.", key.name()), names);
                }
            }
        }
    }
}

/// Writes the values of a record, or as many empty ones if there is none. The recursion is bounded by the depth of queries.
pub(super) fn record<S: RowSource>(
    shaper: &mut Shaper<'_>,
    node: &Node,
    row: Option<&S::Row<'_>>,
    children: &mut [S],
) -> Result<(), ResolveError> {
    shaper.count_object()?;
    for (index, output) in node.output.iter().enumerate() {
        if index > 0 {
            shaper.out.push(b',');
        }
        let start = shaper.out.len();
        match (output, row) {
            (Output::Join { join, .. }, row) => {
                let (Some(join), Some(child)) = (node.joins.get(*join), children.get_mut(*join)) else {
                    return Err(ResolveError::new("a row source lacks the source of a join"));
                };
                related(shaper, &join.node, row, child)?;
                continue;
            }
            (_, None) => continue,
            (Output::Field { column, .. }, Some(row)) => {
                let known = node.columns.get(*column);
                let (ty, form) = known.map_or((None, None), |it| (it.ty, it.time_form));
                let cell = row.cell(*column);
                shaper.check_cell(cell)?;
                match scalar::plain_text(ty, cell) {
                    Some(text) => {
                        quote(&mut shaper.out, String::from_utf8_lossy(text).as_bytes());
                        continue;
                    }
                    None => scalar::write(&mut shaper.out, ty, form, cell),
                }
                if ty == Some(FieldType::Json) && !matches!(cell, ValueRef::Null) {
                    json_text(&mut shaper.out, start);
                    continue;
                }
            }
            (Output::Part { column, at, .. }, Some(row)) => {
                let cell = row.cell(*column);
                shaper.check_cell(cell)?;
                scalar::write_part(&mut shaper.out, cell, at);
                if shaper.out.get(start) != Some(&b'n') {
                    json_text(&mut shaper.out, start);
                    continue;
                }
            }
            (Output::Computed { template, .. }, Some(row)) => shaper.computed(node, row, template)?,
        }
        from_json(&mut shaper.out, start);
    }
    shaper.check_length()
}

/// Writes the record of a to-one relation.
fn related<S: RowSource>(
    shaper: &mut Shaper<'_>,
    node: &Node,
    parent: Option<&S::Row<'_>>,
    source: &mut S,
) -> Result<(), ResolveError> {
    let mut is_found = false;
    if let Some(parent) = parent {
        source.visit(Some(parent), |row, children| {
            is_found = true;
            record(shaper, node, Some(row), children)?;
            Ok(Flow::Stop)
        })?;
    }
    if !is_found {
        let mut names = Vec::new();
        collect_names(node, "", &mut names);
        shaper.out.extend(std::iter::repeat_n(b',', names.len().saturating_sub(1)));
    }
    Ok(())
}

/// Converts the JSON of a value of the type `json` at the end of `out` to a CSV value: its JSON text, so that different values
/// differ.
fn json_text(out: &mut Vec<u8>, start: usize) {
    if out.get(start).is_some_and(|first| !matches!(first, b'-' | b'0'..=b'9' | b't' | b'f')) {
        let json = out.split_off(start);
        quote(out, &json);
    }
}

/// Converts the JSON of a scalar at the end of `out` to a CSV value.
fn from_json(out: &mut Vec<u8>, start: usize) {
    let json = out.get(start..).unwrap_or_default();
    match json.first() {
        Some(b'n') => out.truncate(start),
        // A JSON string without escapes contains no quotes.
        Some(b'"') if !json.contains(&b'\\') => {}
        Some(b'"') => {
            let text: String = serde_json::from_slice(json).unwrap_or_default();
            out.truncate(start);
            quote(out, text.as_bytes());
        }
        Some(b'{' | b'[') => {
            let json = out.split_off(start);
            quote(out, &json);
        }
        _ => {}
    }
}

/// Writes quoted text.
fn quote(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    if text.contains(&b'"') {
        for byte in text {
            if *byte == b'"' {
                out.push(b'"');
            }
            out.push(*byte);
        }
    } else {
        out.extend_from_slice(text);
    }
    out.push(b'"');
}
