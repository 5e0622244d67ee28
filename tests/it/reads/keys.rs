//! Reads of records whose keys have several columns. `SPEC §15`

use mesh_tests::Request;
use serde_json::{Value, json};

use crate::support::keyed::{Keyed, on_each_engine};

const DETAIL: &str = r#"{"detail":{"$select":{"quantity":true}}}"#;
const MEANING: &str = r#"{"word":{"$select":{"meaning":true}}}"#;

fn posted(keyed: &Keyed, query: &str, id: &Value) -> String {
    let body = json!({"query": query, "id": id}).to_string();
    keyed
        .server
        .send(&Request::new("POST", "/mesh").header("Content-Type", "application/json").body(body))
        .text()
}

#[test]
fn a_record_is_read_by_the_parts_of_its_key() {
    on_each_engine(|keyed| {
        assert_eq!(keyed.server.get("/detail/1,2", DETAIL).text(), r#"{"quantity":20}"#);
        assert_eq!(keyed.server.get("/detail/2,2", DETAIL).text(), r#"{"quantity":30}"#);
        // Each is an id that no record has: a wrong number of parts, another spelling, another type, no record.
        for id in [
            "1",
            "1,2,3",
            "1,2,",
            ",",
            "1%2C2",
            "01,2",
            "1,+2",
            "1,2.0",
            "1,x",
            "1, 2",
            "2,1",
            "1,99999999999",
        ] {
            let path = format!("/detail/{}", id.replace(' ', "%20"));
            let reply = keyed.server.get(&path, DETAIL);
            assert_eq!((reply.status, reply.text().as_str()), (200, "null"), "{id}");
        }
        for id in [json!("1,2"), json!([1, 2]), json!(["1", 2]), json!(["1", "2"])] {
            assert_eq!(posted(keyed, DETAIL, &id), r#"{"quantity":20}"#, "{id}");
        }
        for id in [
            json!([1]),
            json!([1, 2, 3]),
            json!([]),
            json!("1"),
            json!(1),
            json!(["1,2"]),
            json!(["01", 2]),
            json!([1.5, 2]),
        ] {
            assert_eq!(posted(keyed, DETAIL, &id), "null", "{id}");
        }
        let order = r#"{"order":{"$select":{"customer":true}}}"#;
        assert_eq!(posted(keyed, order, &json!(1)), r#"{"customer":"Ada"}"#);
        assert!(posted(keyed, order, &json!([1])).contains("the id is a single field"));
        for id in [json!([1, null]), json!([1, [2]]), json!({"orderId": 1})] {
            let text = posted(keyed, DETAIL, &id);
            assert!(text.contains("'id' in the body must be"), "{id}: {text}");
        }
    });
}

#[test]
fn parts_of_text_are_encoded_each_on_its_own() {
    on_each_engine(|keyed| {
        let read = |id: &str| keyed.server.get(&format!("/word/{id}"), MEANING).text();
        assert_eq!(read("a%2Cb,x%2Fy%25,-3"), r#"{"meaning":"odd"}"#);
        assert_eq!(read("%61%2cb,x%2fy%25,%2D3"), r#"{"meaning":"odd"}"#, "escapes are decoded once");
        assert_eq!(read(",%C3%A9,0"), r#"{"meaning":"empty"}"#);
        assert_eq!(read("%2C,%20,7"), r#"{"meaning":"blank"}"#);
        assert_eq!(read("a,b%2Cc,1"), r#"{"meaning":"one"}"#);
        assert_eq!(read("a%2Cb,c,1"), r#"{"meaning":"two"}"#);
        assert_eq!([read("a,b,c,1"), read("a%2Cb%2Cc,1"), read("a%252Cb,c,1")], ["null", "null", "null"]);
        assert_eq!(keyed.server.get("/word/a%2,c,1", MEANING).status, 400, "an escape that is cut");
        // A string in a body is decoded like an id in the path; the parts in an array are not decoded.
        assert_eq!(posted(keyed, MEANING, &json!("a%2Cb,x%2Fy%25,-3")), r#"{"meaning":"odd"}"#);
        assert_eq!(posted(keyed, MEANING, &json!(["a,b", "x/y%", -3])), r#"{"meaning":"odd"}"#);
        assert_eq!(posted(keyed, MEANING, &json!(["", "é", "0"])), r#"{"meaning":"empty"}"#);
        assert_eq!(posted(keyed, MEANING, &json!(["a%2Cb", "c", 1])), "null");
        assert_eq!(posted(keyed, MEANING, &json!("a%2,c,1")), "null");
        let visit = |id: &str| keyed.read(&format!("/visit/{id}"), "{ visit guest }");
        let room = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";
        assert_eq!(visit(&format!("{room},2024-05-01T12%3A30%3A00")), r#"{"guest":"Cy"}"#);
        assert_eq!(visit(&format!("{room},2024-05-01T12:30:00")), r#"{"guest":"Cy"}"#);
        assert_eq!(visit(&format!("{room},2024-05-01T12:30:01")), "null");
        assert_eq!(visit("x,2024-05-01T12:30:00"), "null");
    });
}

#[test]
fn relations_of_and_to_records_with_such_keys_nest() {
    on_each_engine(|keyed| {
        assert_eq!(
            keyed.read("/detail/1,2", "{ detail order { customer } product { name } shipments { note } }"),
            r#"{"order":{"customer":"Ada"},"product":{"name":"Rice"},"shipments":[{"note":"first"},{"note":"second"}]}"#
        );
        assert_eq!(
            keyed.read("/order/1", "{ order details { productId quantity } products { name } }"),
            concat!(
                r#"{"details":[{"productId":1,"quantity":10},{"productId":2,"quantity":20}],"#,
                r#""products":[{"name":"Tea"},{"name":"Rice"}]}"#
            )
        );
        assert_eq!(
            keyed.read("/product/2", "{ product orders { id } }"),
            r#"{"orders":[{"id":1},{"id":2}]}"#
        );
        assert_eq!(
            keyed.read("/shipment/1", "{ shipment detail { quantity } }"),
            r#"{"detail":{"quantity":20}}"#
        );
        assert_eq!(keyed.read("/shipment/3", "{ shipment detail { quantity } }"), r#"{"detail":null}"#);
    });
}

#[test]
fn key_columns_break_ties_of_pages() {
    on_each_engine(|keyed| {
        for (direction, expected) in [("asc", "1/1 1/2 2/2"), ("desc", "2/2 1/2 1/1")] {
            let (mut seen, mut after) = (Vec::new(), Value::Null);
            loop {
                let query = json!({"detail": {
                    "$select": {"orderId": true, "productId": true},
                    "$orderBy": [{"field": "image", "direction": direction}],
                    "$page": {"first": 1, "after": after}
                }});
                let page = keyed.server.get("/detail", &query.to_string()).json();
                let item = &page["items"][0];
                seen.push(format!("{}/{}", item["orderId"], item["productId"]));
                after = page["pageInfo"]["endCursor"].clone();
                if page["pageInfo"]["hasNextPage"] == false {
                    break;
                }
            }
            assert_eq!(seen.join(" "), expected);
        }
    });
}
