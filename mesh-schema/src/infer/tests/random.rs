//! Documents inferred from random catalogs load, and serve no secrets.

use proptest::prelude::*;

use crate::ForeignKey;
use crate::infer::*;

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
    (odd_schema(), odd_name(), columns, names(), unique, prop::collection::vec(foreign_key, 0..4), row_id)
        .prop_map(|(schema, name, columns, primary_key, unique, foreign_keys, row_id)| Table {
            schema,
            name,
            columns,
            primary_key,
            unique,
            foreign_keys,
            row_id,
            ..Table::default()
        })
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
    fn inferred_document_loads(tables in linked_tables()) {
        let catalog = Catalog { tables, ..Catalog::default() };
        let inference = infer(&catalog);
        let schema = inference.document.load(Some(&catalog));
        prop_assert!(schema.is_ok(), "{:#?}\n{}", schema.err(), inference.document.to_json());
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
