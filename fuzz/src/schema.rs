//! Schema documents and conditions of joins: a schema, or faults that each say something.

use mesh_schema::{Document, Fault, JoinDocument, Schema};

/// A document.
pub fn document(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Schema::read(text, None) {
        Ok(_) => {
            let document = Document::parse(text).expect("its form is right");
            let printed = document.to_json();
            let again = Document::parse(&printed).unwrap_or_else(|faults| panic!("{}: {printed}", faults[0]));
            assert_eq!(again.to_json(), printed);
            assert!(again.load(None).is_ok(), "{printed}");
        }
        Err(faults) => said(text, &faults),
    }
}

/// The condition `on` of a relation, between two tables and within one.
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
            Err(faults) => said(on, &faults),
        }
    }
}

/// A fault may repeat names of the text, and little besides.
fn said(written: &str, faults: &[Fault]) {
    assert!(!faults.is_empty());
    for fault in faults {
        let text = fault.to_string();
        assert!(!text.is_empty() && text.len() < 4 * written.len() + 1_000, "{text}");
    }
}
