//! Full-text indexes, and the text search configurations.
//!
//! An index is read only if its expression consists of functions and operators whose meaning for a search is known.

use std::collections::HashMap;

use mesh_schema::{Configuration, SqlPart, TextIndex};
use tokio_postgres::Error;

use crate::pool::connection::Connection;
use crate::sql::TextParam;

/// Reads the text search configurations.
pub(super) async fn configurations(connection: &Connection) -> Result<Vec<Configuration>, Error> {
    let sql = "SELECT c.oid::pg_catalog.regconfig::text, \
                 pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.cfgname) \
               FROM pg_catalog.pg_ts_config AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.cfgnamespace \
               ORDER BY 1";
    let rows = connection.query_once(sql, &[]).await?;
    Ok(rows.iter().map(|row| Configuration { name: row.get(0), qualified: row.get(1) }).collect())
}

/// Reads the full-text indexes of each table over all its rows, by name. Their columns may be ones that cannot be read.
pub(super) async fn read(connection: &Connection, ids: &str) -> Result<HashMap<u32, Vec<TextIndex>>, Error> {
    let sql = "SELECT i.indrelid, n.relname, a.attname, coalesce( \
                 pg_catalog.pg_get_expr(d.adbin, d.adrelid, true), pg_catalog.pg_get_indexdef(i.indexrelid, 1, true)) \
               FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS n ON n.oid = i.indexrelid \
               JOIN pg_catalog.pg_am AS m ON m.oid = n.relam AND m.amname = 'gin' \
               JOIN pg_catalog.pg_opclass AS o ON o.oid = i.indclass[0] \
                 AND o.opcintype = 'pg_catalog.tsvector'::pg_catalog.regtype \
               LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] \
               LEFT JOIN pg_catalog.pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
                 AND a.attgenerated <> '' \
               WHERE i.indrelid = ANY($1::oid[]) AND i.indisvalid AND i.indpred IS NULL AND i.indnkeyatts = 1 \
                 AND (a.attname IS NULL OR pg_catalog.has_column_privilege(i.indrelid, a.attnum, 'SELECT')) \
               ORDER BY n.relname";
    let mut indexes: HashMap<u32, Vec<TextIndex>> = HashMap::new();
    for row in connection.query_once(sql, &[TextParam::text(ids)]).await? {
        let Some(mut index) = parse(row.get(3)) else { continue };
        index.name = row.get(1);
        if let Some(column) = row.get(2) {
            index.vector = vec![SqlPart::Column(column)];
        }
        indexes.entry(row.get(0)).or_default().push(index);
    }
    Ok(indexes)
}

/// Parses an expression of type `tsvector` as the server prints it: keywords are in upper case, and names that are not in
/// lower case have quotation marks. Returns `None` if its meaning is unknown.
fn parse(expression: &str) -> Option<TextIndex> {
    let tokens = tokens(expression)?;
    let at = |index: usize| tokens.get(index).copied().unwrap_or_default();
    let mut found = TextIndex::default();
    let mut sql = String::new();
    for (index, token) in tokens.iter().copied().enumerate() {
        let (before, next) = (index.checked_sub(1).map(at).unwrap_or_default(), at(index + 1));
        let is_type = before == "::" || before == "." || before == "character" && token == "varying";
        let is_name = token.starts_with(|first: char| first == '"' || first == '_' || first.is_alphabetic());
        if !is_name || is_type {
            // Text that is cast to a vector is not split into words. Only names of types have a schema.
            let is_known = match token {
                "tsvector" => false,
                "." => index.checked_sub(2).map(at) == Some("::"),
                _ => true,
            };
            if !is_known {
                return None;
            }
        } else if next == "(" {
            match token {
                "to_tsvector" => {
                    let language = unquoted(at(index + 2), '\'')?;
                    if [at(index + 3), at(index + 4), at(index + 5)] != ["::", "regconfig", ","]
                        || found.language.as_ref().is_some_and(|known| *known != language)
                    {
                        return None;
                    }
                    found.language = Some(language);
                }
                "COALESCE" | "setweight" => {}
                _ => return None,
            }
        } else {
            let name = unquoted(token, '"').unwrap_or_else(|| token.to_owned());
            let is_keyword = token.starts_with(|first: char| first.is_ascii_uppercase());
            if next == "." || is_keyword {
                return None;
            }
            if !found.columns.contains(&name) {
                found.columns.push(name.clone());
            }
            found.vector.push(SqlPart::Sql(std::mem::take(&mut sql)));
            found.vector.push(SqlPart::Column(name));
            continue;
        }
        sql.push_str(token);
        sql.push(' ');
    }
    found.vector.push(SqlPart::Sql(sql));
    found.vector.retain(|part| !matches!(part, SqlPart::Sql(sql) if sql.is_empty()));
    (found.language.is_some() && !found.columns.is_empty()).then_some(found)
}

/// Splits an expression into names, literals, `::`, `||` and punctuation; `None` if it contains anything else.
fn tokens(expression: &str) -> Option<Vec<&str>> {
    let mut tokens = Vec::new();
    let mut rest = expression.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |char: char| char == '_' || char.is_alphanumeric();
        let length = match first {
            '(' | ')' | ',' | '.' => 1,
            ':' | '|' if rest.starts_with("::") || rest.starts_with("||") => 2,
            // A doubled quotation mark begins a part of its own, which belongs to the same token.
            '\'' | '"' => {
                let mut parts = rest.split(first);
                let mut length = 0;
                loop {
                    length += parts.nth(1)?.len() + 2;
                    if !rest.get(length..)?.starts_with(first) {
                        break length;
                    }
                }
            }
            _ if is_word(first) => rest.find(|char| !is_word(char)).unwrap_or(rest.len()),
            _ => return None,
        };
        let (token, after) = rest.split_at_checked(length)?;
        tokens.push(token);
        rest = after.trim_start();
    }
    Some(tokens)
}

/// Returns the text in these quotation marks; `None` if the token is not quoted so.
fn unquoted(token: &str, mark: char) -> Option<String> {
    let inner = token.strip_prefix(mark)?.strip_suffix(mark)?;
    Some(inner.replace(&[mark, mark].iter().collect::<String>(), &mark.to_string()))
}
