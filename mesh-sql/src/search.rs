//! The texts that databases search for, made of the words of a search.

use std::borrow::Cow;

use mesh_plan::Value;
use mesh_plan::backend::{SearchTerm, SearchText};

use crate::class::Class;

/// A form in which a database takes the words of a search. Words have only letters and digits, so none of them is an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchForm {
    /// The text as the client sent it.
    Text,
    /// SQLite: a query of FTS5.
    Fts5,
    /// PostgreSQL: the text of a `tsquery`.
    TsQuery,
    /// PostgreSQL: a `tsquery` of a vector over several fields. It leaves excluded phrases out, which could begin in one field and
    /// end in the next.
    TsQueryOfFields,
    /// PostgreSQL: the list of phrases, each a `tsquery`.
    Phrases,
    /// PostgreSQL: the list of excluded phrases, each a `tsquery`.
    ExcludedPhrases,
    /// MariaDB: a query in boolean mode.
    BooleanMode,
    /// MariaDB: a regular expression with one group, which matches each word.
    Regex,
}

impl SearchForm {
    /// Returns the value to bind for a search text.
    pub(crate) fn of<C: Class>(self, text: &str) -> Value {
        let search = SearchText::parse(text);
        let list = |is_excluded| {
            let phrases =
                search.terms().iter().filter(|term| term.words.len() > 1 && term.is_excluded == is_excluded);
            C::list(phrases.map(|phrase| Cow::Owned(ts_term(phrase).into())))
        };
        match self {
            Self::Text => text.into(),
            Self::Fts5 => fts5(&search).into(),
            Self::TsQuery => ts_query(&search, |_| true).into(),
            Self::TsQueryOfFields => {
                ts_query(&search, |term| !term.is_excluded || term.words.len() == 1).into()
            }
            Self::Phrases => list(false),
            Self::ExcludedPhrases => list(true),
            Self::BooleanMode => boolean_mode(&search).into(),
            Self::Regex => regex(&search).into(),
        }
    }
}

fn joined<'t>(
    terms: impl Iterator<Item = &'t SearchTerm>,
    separator: &str,
    written: impl Fn(&SearchTerm) -> String,
) -> String {
    terms.map(written).collect::<Vec<_>>().join(separator)
}

fn fts5(search: &SearchText) -> String {
    let term = |term: &SearchTerm| {
        let prefix = if term.is_prefix { " *" } else { "" };
        format!("\"{}\"{prefix}", term.words.join(" "))
    };
    let required = joined(search.required(), " AND ", term);
    let excluded = joined(search.terms().iter().filter(|term| term.is_excluded), " OR ", term);
    if excluded.is_empty() { format!("({required})") } else { format!("(({required}) NOT ({excluded}))") }
}

fn ts_query(search: &SearchText, is_part: impl Fn(&&SearchTerm) -> bool) -> String {
    joined(search.terms().iter().filter(is_part), " & ", |term| {
        format!("{}{}", if term.is_excluded { "!" } else { "" }, ts_term(term))
    })
}

fn ts_term(term: &SearchTerm) -> String {
    match term.words.as_slice() {
        [word] => format!("'{word}'{}", if term.is_prefix { ":*" } else { "" }),
        words => format!("('{}')", words.join("' <-> '")),
    }
}

fn boolean_mode(search: &SearchText) -> String {
    joined(search.terms().iter(), " ", |term| {
        let sign = if term.is_excluded { '-' } else { '+' };
        match term.words.as_slice() {
            [word] => format!("{sign}{word}{}", if term.is_prefix { "*" } else { "" }),
            words => format!("{sign}\"{}\"", words.join(" ")),
        }
    })
}

fn regex(search: &SearchText) -> String {
    let words = joined(search.required(), "|", |term| {
        let prefix = if term.is_prefix { "[\\p{L}\\p{N}]*" } else { "" };
        format!("{}{prefix}", term.words.join("[^\\p{L}\\p{N}]+"))
    });
    format!("((?i)(?<![\\p{{L}}\\p{{N}}])(?:{words})(?![\\p{{L}}\\p{{N}}]))")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::dialect::Dialect;
    use crate::postgres::Postgres;

    #[test]
    fn each_database_has_a_form() {
        let forms = [
            SearchForm::Fts5,
            SearchForm::TsQuery,
            SearchForm::TsQueryOfFields,
            SearchForm::Phrases,
            SearchForm::ExcludedPhrases,
            SearchForm::BooleanMode,
            SearchForm::Regex,
        ];
        let shown = |text: &str| {
            let forms = forms.map(|form| match form.of::<<Postgres as Dialect>::Class>(text) {
                Value::Text(text) => format!("    {text}\n"),
                other => format!("    {other:?}\n"),
            });
            format!("{text}\n{}", forms.concat())
        };
        expect![[r#"
            rust
                ("rust")
                'rust'
                'rust'
                {}
                {}
                +rust
                ((?i)(?<![\p{L}\p{N}])(?:rust)(?![\p{L}\p{N}]))
            go* "zero cost" -async -"a b" -c*
                (("go" * AND "zero cost") NOT ("async" OR "a b" OR "c" *))
                'go':* & ('zero' <-> 'cost') & !'async' & !('a' <-> 'b') & !'c':*
                'go':* & ('zero' <-> 'cost') & !'async' & !'c':*
                {"('zero' <-> 'cost')"}
                {"('a' <-> 'b')"}
                +go* +"zero cost" -async -"a b" -c*
                ((?i)(?<![\p{L}\p{N}])(?:go[\p{L}\p{N}]*|zero[^\p{L}\p{N}]+cost)(?![\p{L}\p{N}]))
        "#]]
        .assert_eq(&["rust", "go* \"zero cost\" -async -\"a b\" -c*"].map(shown).concat());
    }
}
