//! Documents inferred from random catalogs load, and serve no secrets.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::infer::*;
use crate::{Configuration, ForeignKey, TextIndex};

fn odd_name() -> impl Strategy<Value = String> {
    const KNOWN: [&str; 2] = [
        "a|A|b|B|a_id|aId|id|Id|ID|user|users|Users|user_id|files|file|events|event|queries|query|auth",
        r#"???|!|$|$a|a.b|a b|A B|"|"a"|a"b|.|..| ||_|__proto__|token|password|news|people|côde|_a|a_|as|bs"#,
    ];
    let known: Vec<&str> = KNOWN.iter().flat_map(|names| names.split('|')).collect();
    prop_oneof![8 => prop::sample::select(known).prop_map(str::to_owned), 1 => ".{0,3}"]
}

fn odd_schema() -> impl Strategy<Value = Option<String>> {
    prop::sample::select(vec![
        None,
        None,
        None,
        Some("sales"),
        Some("Sales"),
        Some("public"),
        Some("main"),
        Some("a.b"),
        Some(""),
    ])
    .prop_map(|schema| schema.map(str::to_owned))
}

fn odd_table() -> impl Strategy<Value = Table> {
    let names = || prop::collection::vec(odd_name(), 0..3);
    let ty = prop_oneof![Just(None), prop::sample::select(FieldType::ALL.to_vec()).prop_map(Some)];
    let column = (odd_name(), ty, any::<bool>()).prop_map(|(name, ty, nullable)| Column {
        name,
        ty,
        nullable,
        ..Column::default()
    });
    let foreign_key = (names(), odd_schema(), odd_name(), names()).prop_map(
        |(columns, target_schema, target, target_columns)| ForeignKey {
            columns,
            target_schema,
            target,
            target_columns,
        },
    );
    let columns = prop::collection::vec(column, 0..6);
    let row_id = prop_oneof![Just(None), Just(Some("rowid".to_owned()))];
    let unique = prop::collection::vec(names(), 0..2);
    let foreign_keys = prop::collection::vec(foreign_key, 0..4);
    (odd_schema(), odd_name(), columns, names(), unique, foreign_keys, row_id, text_indexes()).prop_map(
        |(schema, name, columns, primary_key, unique, foreign_keys, row_id, text_indexes)| Table {
            schema,
            name,
            columns,
            primary_key,
            unique,
            foreign_keys,
            row_id,
            integer_key: Some("key".to_owned()),
            text_indexes,
            ..Table::default()
        },
    )
}

fn text_indexes() -> impl Strategy<Value = Vec<TextIndex>> {
    let names = prop::collection::btree_set(odd_name(), 0..3);
    let columns = prop::collection::vec(prop::collection::btree_set(odd_name(), 0..3), 3);
    (names, columns, any::<bool>()).prop_map(|(names, columns, is_simple)| {
        let index = |(name, columns): (String, BTreeSet<String>)| TextIndex {
            name,
            columns: columns.into_iter().collect(),
            language: Some(if is_simple { "simple" } else { "own.\"One\"" }.to_owned()),
            vector: Vec::new(),
        };
        let named = names.into_iter().filter(|name| !name.is_empty());
        named.zip(columns).map(index).collect()
    })
}

fn text_search() -> impl Strategy<Value = TextSearch> {
    let known = ["simple", "own.\"One\""]
        .map(|name| Configuration { name: name.to_owned(), qualified: format!("own.{name}") });
    let all = [TextSearch::Unknown, TextSearch::Fts5, TextSearch::FullText];
    prop::sample::select([&all[..], &[TextSearch::Configurations(known.to_vec())]].concat())
}

/// Generates tables whose foreign keys are mostly valid, because columns and targets are drawn from existing tables.
fn linked_tables() -> impl Strategy<Value = Vec<Table>> {
    let picks = prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..12);
    (prop::collection::vec(odd_table(), 1..6), picks).prop_map(|(mut tables, picks)| {
        let all = tables.clone();
        for (child, parent) in picks {
            let (child, parent) = (child.index(all.len()), parent.index(all.len()));
            let (Some(from), Some(to)) = (all[child].columns.last(), all[parent].columns.first()) else {
                continue;
            };
            let second = all[child].columns.first().unwrap_or(from);
            tables[child].primary_key = vec![from.name.clone(), second.name.clone()];
            for column in [from, second] {
                tables[child].foreign_keys.push(ForeignKey {
                    columns: vec![column.name.clone()],
                    target_schema: all[parent].schema.clone(),
                    target: all[parent].name.clone(),
                    target_columns: vec![to.name.clone()],
                });
            }
        }
        tables
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn inferred_document_loads(tables in linked_tables(), text_search in text_search()) {
        let catalog = Catalog { tables, text_search };
        let inference = infer(&catalog);
        let schema = inference.document.load(Some(&catalog));
        prop_assert!(schema.is_ok(), "{:#?}\n{}", schema.err(), inference.document.to_json());
        let searches = schema.iter().flat_map(|schema| schema.entities()).filter_map(|(_, it)| it.search.as_ref());
        let is_named = matches!(catalog.text_search, TextSearch::Fts5 | TextSearch::Configurations(_));
        for search in searches.filter(|_| is_named) {
            prop_assert!(search.index.is_some(), "{:?}", search);
        }
        prop_assert!(inference.document.load(None).is_ok());
        let read = Document::parse(&inference.document.to_json());
        prop_assert_eq!(read, Ok(inference.document));
    }

    #[test]
    fn internal_tables_and_secrets_are_never_served(tables in linked_tables()) {
        let catalog = Catalog { tables, ..Catalog::default() };
        let schema = infer(&catalog).document.load(Some(&catalog)).unwrap();
        for (_, entity) in schema.entities() {
            prop_assert!(!is_internal_table(entity.table.schema.as_deref(), &entity.table.name));
            for field in &entity.fields {
                let column = Column { name: field.column.clone(), ty: field.ty, ..Column::default() };
                prop_assert!(!secret::is_secret(&column));
            }
        }
    }
}
