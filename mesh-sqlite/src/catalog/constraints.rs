//! The names of checks and of unique indexes on expressions, with the columns that they refer to. SQLite stores them
//! only in the text of the statements that created them.

use mesh_schema::Constraint;
use mesh_sql::text::{self, Token};
use rusqlite::{Connection, Error, OptionalExtension as _};

const STATEMENTS: &str = "\
    SELECT type = 'index', name, sql FROM main.sqlite_schema \
    WHERE lower(tbl_name) = lower(?1) AND type IN ('table', 'index') AND sql IS NOT NULL ORDER BY rowid";

const DECLARATION: &str =
    "SELECT sql FROM main.sqlite_schema WHERE lower(name) = lower(?1) AND type = 'table' AND sql IS NOT NULL";

/// Returns the ways in which the declaration of a table resolves violations, other than by ending the statement.
pub(super) fn resolutions(connection: &Connection, table: &str) -> Result<Vec<&'static str>, Error> {
    let mut statement = connection.prepare_cached(DECLARATION)?;
    let sql = statement.query_row([table], |row| row.get::<_, String>(0)).optional();
    // Text that is not UTF-8 is read as if it had a clause of each kind.
    let Ok(sql) = sql else { return Ok(RESOLUTIONS.to_vec()) };
    let tokens = text::tokens(sql.as_deref().unwrap_or_default());
    let has = |way: &&str| {
        tokens.windows(3).any(|part| {
            matches!(part, [on, conflict, found]
                if is_word(on, "ON") && is_word(conflict, "CONFLICT") && is_word(found, way))
        })
    };
    Ok(RESOLUTIONS.into_iter().filter(has).collect())
}

/// The words after `ON CONFLICT` that do not only end the statement.
const RESOLUTIONS: [&str; 4] = ["REPLACE", "IGNORE", "FAIL", "ROLLBACK"];

/// Reads the named checks and the indexes of a table with these columns.
pub(super) fn read(connection: &Connection, table: &str, columns: &[&str]) -> Result<Vec<Constraint>, Error> {
    let mut statement = connection.prepare_cached(STATEMENTS)?;
    let mut rows = statement.query([table])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        // Text that is not UTF-8 contains no name that a message could contain.
        let Ok(sql) = row.get::<_, String>(2) else { continue };
        let tokens = text::tokens(&sql);
        if row.get(0)? {
            let terms = group(tokens.split(|token| is_word(token, "ON")).nth(1).unwrap_or_default());
            found.push(constraint(row.get(1)?, terms, columns));
        } else {
            found.extend(
                checks(&tokens).map(|(name, condition)| constraint(name.to_owned(), condition, columns)),
            );
        }
    }
    Ok(found)
}

fn constraint(name: String, condition: &[Token], columns: &[&str]) -> Constraint {
    let used = text::columns(condition, columns.iter().copied());
    Constraint { name, columns: used.into_iter().map(str::to_owned).collect() }
}

/// Returns the named checks in a statement that creates a table.
fn checks(tokens: &[Token]) -> impl Iterator<Item = (&str, &[Token])> {
    (0..tokens.len()).filter_map(|start| match tokens.get(start..)? {
        [constraint, Token::Word(name) | Token::Quoted(name) | Token::Text(name), check, rest @ ..]
            if is_word(constraint, "CONSTRAINT") && is_word(check, "CHECK") =>
        {
            Some((name.as_str(), group(rest)))
        }
        _ => None,
    })
}

/// Returns the tokens in the first parentheses.
pub(super) fn group(tokens: &[Token]) -> &[Token] {
    let Some(start) = tokens.iter().position(|token| *token == Token::Symbol('(')) else { return &[] };
    let inner = tokens.get(start + 1..).unwrap_or_default();
    let mut depth = 1;
    for (index, token) in inner.iter().enumerate() {
        match token {
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return inner.get(..index).unwrap_or_default();
        }
    }
    inner
}

pub(super) fn is_word(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(text) if text.eq_ignore_ascii_case(word))
}
