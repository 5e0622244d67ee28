//! Printing and parsing of random documents.

use proptest::prelude::*;

use crate::document::*;

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,3}",
        Just("__proto__".to_owned()),
        Just("constructor".to_owned()),
        Just(String::new()),
        ".{0,4}"
    ]
}

fn map<T: std::fmt::Debug>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Entries<T>> {
    prop::collection::btree_map(name(), value, 0..3).prop_map(|map| map.into_iter().collect())
}

fn entities() -> impl Strategy<Value = Entries<EntityDocument>> {
    let id = prop_oneof![
        Just(IdField::Unset),
        Just(IdField::Null),
        name().prop_map(IdField::Field),
        prop::collection::vec(name(), 2..4).prop_map(IdField::Fields)
    ];
    let types = map(prop::sample::select(FieldType::ALL.to_vec()));
    let content_types = prop::option::of(prop::collection::vec("[a-z]{1,4}/[a-z]{1,4}", 1..3));
    let uploads = map((prop::option::of(1..u64::MAX), content_types)
        .prop_map(|(max_bytes, content_types)| Upload { max_bytes, content_types }));
    let names = || prop::collection::vec(name(), 0..3);
    let list =
        || prop_oneof![Just(FieldList::None), Just(FieldList::All), names().prop_map(FieldList::Fields)];
    let writable = (list(), list(), any::<bool>()).prop_map(|(create, update, delete)| Writable {
        create,
        update,
        delete,
    });
    let computed = map((names(), name()).prop_map(|(from, template)| ComputedDocument { from, template }));
    let search = (names(), prop::option::of(name()), prop::option::of(name()))
        .prop_map(|(fields, language, table)| SearchDocument { fields, language, table });
    let tables = (prop::option::of(name()), prop::option::of(search));
    map((
        names(),
        tables,
        map(name()),
        id,
        types,
        uploads,
        writable,
        computed,
        prop::option::of(name()),
        map(name()),
    )
        .prop_map(
            |(
                fields,
                (table, search),
                columns,
                id_field,
                types,
                uploads,
                writable,
                computed,
                description,
                descriptions,
            )| EntityDocument {
                fields,
                table,
                columns,
                id_field,
                types,
                uploads,
                writable,
                search,
                computed,
                description,
                descriptions,
            },
        ))
}

fn joins() -> impl Strategy<Value = Entries<JoinDocument>> {
    let through = (name(), name(), name()).prop_map(|(table, from, to)| ThroughDocument { table, from, to });
    let cardinality = prop_oneof![Just(Cardinality::One), Just(Cardinality::Many)];
    map((name(), prop::option::of(name()), cardinality, prop::option::of(through))
        .prop_map(|(entity, on, cardinality, through)| JoinDocument { entity, on, cardinality, through }))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn printed_documents_parse_to_equal_documents(entities in entities(), joins in joins()) {
        let document = Document { entities, joins, ..Document::default() };
        prop_assert_eq!(Document::parse(&document.to_json()), Ok(document));
    }

    #[test]
    fn truncated_document_is_a_fault(entities in entities(), cut in 0.0..1.0f64) {
        let text = Document { entities, ..Document::default() }.to_json();
        let kept = ((text.chars().count() - 1) as f64 * cut) as usize;
        let text: String = text.chars().take(kept).collect();
        let faults = Document::parse(&text).unwrap_err();
        prop_assert_eq!(faults[0].path.as_str(), "document");
    }
}
