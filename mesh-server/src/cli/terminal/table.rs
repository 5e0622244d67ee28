//! How do records look as a table? A column for each name, and as wide as its widest cell.

use std::collections::HashSet;

use serde_json::{Map, Value};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Colors, Look, harmless};

/// Between two columns.
const GAP: &str = "  ";

/// Records as lines, the names first; a cell longer than `widest` is cut. What is nested stays JSON.
pub(crate) fn table(records: &[&Map<String, Value>], widest: Option<usize>, colors: Colors) -> String {
    let mut seen = HashSet::new();
    let all = records.iter().flat_map(|record| record.keys());
    let names: Vec<&String> = all.filter(|name| seen.insert(*name)).collect();
    let columns: Vec<Column> = names.iter().map(|name| Column::of(name, records, widest)).collect();
    let mut out = String::new();
    let mut line = |cells: Vec<String>| {
        out.push_str(cells.join(GAP).trim_end());
        out.push('\n');
    };
    line(columns.iter().map(|column| colors.paint(Look::Head, &column.padded(&column.name))).collect());
    line(columns.iter().map(|column| colors.paint(Look::Dim, &"-".repeat(column.width))).collect());
    for row in 0..records.len() {
        let cell = |column: &Column| column.padded(column.cells.get(row).map_or("", String::as_str));
        line(columns.iter().map(cell).collect());
    }
    out
}

struct Column {
    name: String,
    cells: Vec<String>,
    width: usize,
    /// Numbers stand right, so that their digits are below each other.
    right: bool,
}

impl Column {
    fn of(name: &str, records: &[&Map<String, Value>], widest: Option<usize>) -> Self {
        let values = || records.iter().filter_map(|record| record.get(name));
        let right = values().any(Value::is_number) && values().all(|it| it.is_number() || it.is_null());
        let cell =
            |record: &&Map<String, Value>| cut(record.get(name).map_or_else(String::new, text), widest);
        let cells: Vec<String> = records.iter().map(cell).collect();
        let name = cut(harmless(name), widest);
        let width = cells.iter().chain([&name]).map(|cell| cell.width()).max().unwrap_or_default();
        Self { name, cells, width, right }
    }

    fn padded(&self, text: &str) -> String {
        let blanks = " ".repeat(self.width.saturating_sub(text.width()));
        if self.right { format!("{blanks}{text}") } else { format!("{text}{blanks}") }
    }
}

/// A value as a cell: text without quotes, nothing for `null`.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => harmless(text),
        other => harmless(&other.to_string()),
    }
}

fn cut(text: String, widest: Option<usize>) -> String {
    let Some(widest) = widest.filter(|widest| text.width() > *widest) else { return text };
    let mut width = 1;
    let fits = |letter: &char| {
        width += letter.width().unwrap_or_default();
        width <= widest
    };
    let mut kept: String = text.chars().take_while(fits).collect();
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    fn shown(records: &Value, widest: Option<usize>) -> String {
        let records: Vec<_> = records.as_array().unwrap().iter().map(|it| it.as_object().unwrap()).collect();
        table(&records, widest, Colors::OFF)
    }

    #[test]
    fn columns_are_aligned_whatever_the_letters() {
        let records = json!([
            {"id": 7, "name": "Yūko", "city": "東京", "tags": [{"label": "é"}]},
            {"id": 12.5, "name": null, "city": "Ulm", "extra": true},
            {"id": 1, "name": "two\nlines \u{1b}[2J", "city": "👩‍🚀", "tags": []},
        ]);
        expect![[r#"
              id  name                  city  tags             extra
            ----  --------------------  ----  ---------------  -----
               7  Yūko                  東京  [{"label":"é"}]
            12.5                        Ulm                    true
               1  two\nlines \u{1b}[2J  👩‍🚀    []
        "#]]
        .assert_eq(&shown(&records, None));
    }

    #[test]
    fn long_cells_are_cut_where_letters_end() {
        let records = json!([{"name": "abcdefgh"}, {"name": "東京東京"}, {"name": "abcde"}]);
        expect![[r"
            name
            -----
            abcd…
            東京…
            abcde
        "]]
        .assert_eq(&shown(&records, Some(5)));
    }

    #[test]
    fn no_records_are_no_columns() {
        assert_eq!(shown(&json!([]), None), "\n\n");
    }
}
