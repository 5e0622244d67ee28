//! Table names in documents; a dot separates schema and table. `SPEC §6`

use std::fmt;

use crate::TableName;

impl TableName {
    /// Parses a name as written in documents: `orders`, `sales.orders`, `"a.b"`, `sales."a.b"`.
    ///
    /// Only parts that begin with a double quote are unquoted; all other characters, blanks included, are literal.
    ///
    /// # Errors
    /// A sentence that describes the mistake.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (first, rest) = part(text)?;
        if rest.is_empty() && !text.ends_with('.') {
            return Ok(Self { schema: None, name: first });
        }
        let (second, rest) = part(rest)?;
        if !rest.is_empty() {
            return Err(format!(
                "The table '{text}' has more than one dot; put names with dots in double quotes"
            ));
        }
        Ok(Self { schema: Some(first), name: second })
    }
}

/// Returns the part up to the next dot, and the text after that dot.
fn part(text: &str) -> Result<(String, &str), String> {
    let (name, rest) = match text.strip_prefix('"') {
        Some(quoted) => {
            let (name, rest) =
                unquote(quoted).ok_or_else(|| format!("The quoted name in '{text}' has no closing quote"))?;
            match rest.strip_prefix('.') {
                Some(after) if !after.is_empty() => (name, after),
                None if rest.is_empty() => (name, rest),
                _ => {
                    return Err(format!(
                        "The quoted name in '{text}' may be followed only by a dot and a name"
                    ));
                }
            }
        }
        None => {
            let (name, rest) = text.split_once('.').unwrap_or((text, ""));
            (name.to_owned(), rest)
        }
    };
    if name.is_empty() {
        return Err("A table needs a name".to_owned());
    }
    Ok((name, rest))
}

/// Returns the name up to the closing quote, with doubled quotes replaced by single ones, and the text after it.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once('"')?;
        name.push_str(before);
        match after.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Some((name, after)),
        }
    }
}

/// Writes the name as [`TableName::parse`] accepts it.
impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.schema.iter().chain([&self.name]).enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            if part.contains('.') || part.starts_with('"') {
                write!(f, "\"{}\"", part.replace('"', "\"\""))?;
            } else {
                f.write_str(part)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_and_printed() {
        let cases = [
            ("orders", None, "orders"),
            ("order details", None, "order details"),
            ("we\"ird", None, "we\"ird"),
            ("sales.orders", Some("sales"), "orders"),
            ("\"a.b\"", None, "a.b"),
            ("sales.\"a.b\"", Some("sales"), "a.b"),
            ("\"s.t\".orders", Some("s.t"), "orders"),
            ("\"\"\"x\"", None, "\"x"),
        ];
        for (text, schema, name) in cases {
            let table = TableName { schema: schema.map(str::to_owned), name: name.to_owned() };
            assert_eq!(TableName::parse(text), Ok(table.clone()), "{text}");
            assert_eq!(table.to_string(), text);
        }
        assert_eq!(
            TableName::parse("\"order details\"").map(|table| table.name),
            Ok("order details".to_owned())
        );
    }

    #[test]
    fn incomplete_names_are_refused() {
        for text in ["", ".", "a.", ".a", "a.b.c", "\"a", "\"a\"b", "\"\"", "\"a\".", "a.\"\"", "\"a\".b.c"] {
            assert!(TableName::parse(text).is_err(), "{text}");
        }
    }
}
