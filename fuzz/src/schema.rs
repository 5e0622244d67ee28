//! Schema documents and join conditions: every input gives a schema or faults with messages.

use mesh_schema::{Document, Fault, JoinDocument, Schema};

/// Parses a schema document. An accepted one prints as a document that loads again.
pub fn document(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Schema::read(text, None) {
        Ok(_) => {
            let document = Document::parse(text).expect("a well-formed document");
            let printed = document.to_json();
            let again = Document::parse(&printed).unwrap_or_else(|faults| panic!("{}: {printed}", faults[0]));
            assert_eq!(again.to_json(), printed);
            assert!(again.load(None).is_ok(), "{printed}");
        }
        Err(faults) => check_faults(text, &faults),
    }
}

/// Loads the condition `on` of a relation between two tables, and of a table with itself.
pub fn join(data: &[u8]) {
    let Ok(on) = std::str::from_utf8(data) else { return };
    for target in ["post", "user"] {
        let schema = Schema::builder()
            .entity("user", |it| it.table("public.users").field("id", mesh_schema::FieldType::Integer))
            .entity("post", |it| it.table("order details").field("id", mesh_schema::FieldType::Integer))
            .relation("user.them", JoinDocument::many(target, on))
            .build();
        match schema {
            Ok(schema) => assert!(schema.find("user").is_some()),
            Err(faults) => check_faults(on, &faults),
        }
    }
}

/// Checks that there are faults, whose messages are not much longer than the text.
fn check_faults(input: &str, faults: &[Fault]) {
    assert!(!faults.is_empty());
    for fault in faults {
        let text = fault.to_string();
        assert!(!text.is_empty() && text.len() < 4 * input.len() + 1_000, "{text}");
    }
}
