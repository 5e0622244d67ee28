//! Records as a table, with a column for each field.

use std::collections::HashSet;

use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentLineStyle, LineStyle, Row, Table, TableStyle, Width,
};
use serde_json::{Map, Value};

use super::escape::escaped_data;

/// Columns separated by blanks, and dashes under the header.
const STYLE: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none().junction(' '))
    .header_separator(LineStyle::none().fill('-').junction(' '))
    .content_lines(ContentLineStyle::none().junction(' '));

/// Returns the records as lines under the field names. Nested values are JSON; cells wider than `max_width` are cut.
pub(crate) fn table(records: &[&Map<String, Value>], max_width: Option<u16>) -> String {
    let mut seen = HashSet::new();
    let fields = records.iter().flat_map(|record| record.keys());
    let names: Vec<&String> = fields.filter(|name| seen.insert(*name)).collect();

    let mut table = Table::new();
    table.load_style(STYLE);
    table.set_truncation_indicator("…");
    table.set_header(row(names.iter().map(|name| escaped_data(name))));
    for record in records {
        table.add_row(row(names.iter().map(|name| record.get(*name).map_or_else(String::new, text))));
    }
    for (column, name) in table.column_iter_mut().zip(&names) {
        column.set_padding((0, 1));
        if let Some(width) = max_width {
            column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(width + 1)));
        }
        // Numbers are aligned by their last digit.
        let mut values =
            records.iter().filter_map(|record| record.get(*name)).filter(|value| !value.is_null());
        if values.clone().next().is_some() && values.all(Value::is_number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

fn row(cells: impl Iterator<Item = String>) -> Row {
    let mut row = Row::from(cells.map(Cell::new).collect::<Vec<_>>());
    row.max_height(1);
    row
}

/// Returns the text of a cell: strings without quotes, and nothing for `null`.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => escaped_data(text),
        other => escaped_data(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    fn shown(records: &Value, max_width: Option<u16>) -> String {
        let records: Vec<_> = records.as_array().unwrap().iter().map(|it| it.as_object().unwrap()).collect();
        table(&records, max_width) + "\n"
    }

    #[test]
    fn columns_are_aligned_by_display_width() {
        let records = json!([
            {"id": 7, "name": "Yūko", "city": "東京", "tags": [{"label": "é"}]},
            {"id": 12.5, "name": null, "city": "Ulm", "extra": true},
            {"id": 1, "name": "two\nlines \u{1b}[2J", "city": "👩‍🚀", "tags": []},
        ]);
        expect![[r#"
              id  name                  city  tags             extra
            ----- --------------------- ----- ---------------- ------
               7  Yūko                  東京  [{"label":"é"}]
            12.5                        Ulm                    true
               1  two\nlines \u{1b}[2J  👩‍🚀    []
        "#]]
        .assert_eq(&shown(&records, None));
    }

    #[test]
    fn wide_cells_are_cut_between_characters() {
        let records = json!([{"name": "abcdefgh"}, {"name": "東京東京"}, {"name": "abcde"}]);
        expect![[r"
            name
            ------
            abcd…
            東京…
            abcde
        "]]
        .assert_eq(&shown(&records, Some(5)));
    }
}
