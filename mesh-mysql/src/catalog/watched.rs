//! Tables and views whose changes the database does not show. `SPEC §10`

use std::collections::HashSet;

use mesh_schema::Table;
use mesh_sql::text::{Token, tokens};
use mysql_async::Error;

use crate::cells::text;
use crate::changes::ENGINES;
use crate::pool::connection::Connection;

/// Returns the tables and views with their storage engines and definitions. A definition is empty if the account may not see
/// it.
const TABLES: &str = "SELECT t.TABLE_NAME, t.ENGINE, v.VIEW_DEFINITION FROM information_schema.TABLES AS t \
    LEFT JOIN information_schema.VIEWS AS v ON v.TABLE_SCHEMA = t.TABLE_SCHEMA AND v.TABLE_NAME = t.TABLE_NAME \
    WHERE t.TABLE_SCHEMA = DATABASE()";

/// Marks the tables of other storage engines than those that record commits, and the views that read such tables or tables of
/// another database.
pub(super) async fn mark(
    connection: &mut Connection,
    tables: &mut [Table],
    notes: &mut Vec<String>,
) -> Result<(), Error> {
    let database = connection.query("SELECT DATABASE()", &[]).await?;
    let database = database.first().map(|row| text(row, 0)).unwrap_or_default();
    let mut unwatched = HashSet::new();
    let mut views = Vec::new();
    for row in connection.query(TABLES, &[]).await? {
        let (name, engine, definition) = (text(&row, 0), text(&row, 1), text(&row, 2));
        if engine.is_empty() {
            views.push((name, definition));
        } else if !ENGINES.contains(&&*engine) {
            notes.push(note(&name, &format!("the engine {engine} does not record the times of changes")));
            unwatched.insert(name);
        }
    }
    // A view can read another view.
    loop {
        let is_unwatched = |(_, definition): &(String, String)| {
            let mut tables = tables_of(definition).into_iter();
            let is_other = |(of, name): (String, String)| of != database || unwatched.contains(&name);
            if definition.is_empty() { !unwatched.is_empty() } else { tables.any(is_other) }
        };
        let (found, rest): (Vec<_>, Vec<_>) = views.into_iter().partition(is_unwatched);
        views = rest;
        if found.is_empty() {
            break;
        }
        for (name, _) in found {
            notes.push(note(&name, "the view may read a table of another database or engine"));
            unwatched.insert(name);
        }
    }
    for table in tables {
        table.has_unseen_changes = unwatched.contains(&table.name);
    }
    Ok(())
}

fn note(name: &str, reason: &str) -> String {
    format!("'{name}' has no event streams, since changes by other programs are not noticed: {reason}")
}

/// Returns the tables in the definition of a view, each with its database, and what else of a database the view uses. Other names
/// with a dot begin with an alias.
fn tables_of(definition: &str) -> Vec<(String, String)> {
    let tokens = tokens(definition);
    let dot = |index: Option<usize>| index.and_then(|index| tokens.get(index)) == Some(&Token::Symbol('.'));
    // In `EXTRACT(YEAR FROM a.day)`, the first name is an alias, which also occurs alone.
    let alone = tokens.iter().enumerate().filter_map(|(index, token)| match token {
        Token::Quoted(name) if !dot(index.checked_sub(1)) && !dot(index.checked_add(1)) => Some(name),
        _ => None,
    });
    let aliases: HashSet<&String> = alone.collect();
    let pairs = tokens.windows(3).enumerate().filter_map(|(index, tokens)| match tokens {
        [Token::Quoted(database), Token::Symbol('.'), Token::Quoted(table)]
            if !dot(index.checked_sub(1)) && !aliases.contains(database) =>
        {
            Some((database.clone(), table.clone()))
        }
        _ => None,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn tables_are_found_in_the_definitions_of_views() {
        let found = |definition: &str| {
            let tables =
                tables_of(definition).into_iter().map(|(database, name)| format!("{database}.{name}"));
            tables.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(found("select `b`.`posts`.`id` AS `id` from `b`.`posts`"), "b.posts");
        assert_eq!(
            found(
                "select `a`.`id` AS `id`,(select count(0) from `b`.`m` `m` where `m`.`n` = `a`.`n`) AS `c` \
                 from ((`b`.`x` `a` left join `b`.`y` `z` on(`a`.`id` = `z`.`id`)) join `other`.`w`) \
                 where extract(year from `a`.`day`) = 2024"
            ),
            "b.m b.x b.y other.w"
        );
        assert_eq!(found("with q as (select 1 AS `n`)select `q`.`n` AS `n` from `q`"), "");
    }
}
