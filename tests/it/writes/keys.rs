//! Writes, uploads and events of records whose keys have several columns. `SPEC §15`

use mesh_tests::{Request, Response};
use serde_json::json;

use crate::events::open;
use crate::support::keyed::{on_each_engine, with_policies};

#[track_caller]
fn refused(reply: &Response, status: u16, words: &str) {
    assert_eq!(reply.status, status, "{}", reply.text());
    assert!(reply.text().contains(words), "{}", reply.text());
}

#[test]
fn records_are_created_changed_and_deleted() {
    on_each_engine(|keyed| {
        let created = keyed.write("POST", "/detail", r#"{"orderId": 2, "productId": 1, "quantity": 5}"#);
        assert_eq!((created.status, created.header("location")), (201, Some("/mesh/detail/2,1")));
        assert_eq!(created.text(), r#"{"orderId":2,"productId":1,"quantity":5,"image":null}"#);
        refused(&keyed.write("POST", "/detail", r#"{"orderId": 2, "productId": 1}"#), 409, "ConflictError");
        refused(&keyed.write("POST", "/detail", r#"{"orderId": 2}"#), 409, "productId");
        let changed = keyed.write("PUT", "/detail/2,1", r#"{"quantity": 6}"#);
        assert_eq!((changed.status, &changed.json()["quantity"]), (200, &json!(6)));
        // A change of the key is a change of the record, and the reply shows the new key.
        let moved = keyed.write("PUT", "/detail/2,1", r#"{"productId": 3}"#);
        assert_eq!(moved.text(), r#"{"orderId":2,"productId":3,"quantity":6,"image":null}"#);
        assert_eq!(keyed.details(), "1/1=10 1/2=20 2/2=30 2/3=6");
        for id in ["2,1", "2", "2,3,1", "2%2C3", "x,3"] {
            refused(&keyed.write("PUT", &format!("/detail/{id}"), r#"{"quantity": 1}"#), 404, "NotFound");
            refused(&keyed.delete(&format!("/detail/{id}")), 404, "NotFound");
        }
        refused(&keyed.delete("/detail/2,9"), 404, "There is no 'detail' with the id '2,9'");
        assert_eq!(keyed.delete("/detail/2,3").status, 204);
        assert_eq!(keyed.details(), "1/1=10 1/2=20 2/2=30");
    });
}

#[test]
fn locations_encode_each_part() {
    on_each_engine(|keyed| {
        let body = r#"{"lang": "a,b/c", "word": "%", "nr": -1, "meaning": "new"}"#;
        let created = keyed.write("POST", "/word", body);
        assert_eq!((created.status, created.header("location")), (201, Some("/mesh/word/a%2Cb%2Fc,%25,-1")));
        assert_eq!(keyed.read("/word/a%2Cb%2Fc,%25,-1", "{ word meaning }"), r#"{"meaning":"new"}"#);
        let created = keyed.write("POST", "/word", r#"{"lang": "", "word": "", "nr": 0}"#);
        assert_eq!(created.header("location"), Some("/mesh/word/,,0"));
        assert_eq!(keyed.write("PUT", "/word/,,0", r#"{"meaning": "none"}"#).json()["meaning"], "none");
        let visit = r#"{"room": "00000000-0000-0000-0000-000000000001", "start": "2024-05-02T00:00:00"}"#;
        let created = keyed.write("POST", "/visit", visit);
        let location = "/mesh/visit/00000000-0000-0000-0000-000000000001,2024-05-02T00%3A00%3A00";
        assert_eq!((created.status, created.header("location")), (201, Some(location)));
        assert_eq!(keyed.delete(location.strip_prefix("/mesh").unwrap()).status, 204);
    });
}

#[test]
fn children_are_created_through_their_parent_with_their_own_fields() {
    on_each_engine(|keyed| {
        let created = keyed.write("POST", "/order/2/details", r#"{"productId": 3, "quantity": 7}"#);
        assert_eq!((created.status, created.header("location")), (201, Some("/mesh/detail/2,3")));
        assert_eq!(created.text(), r#"{"orderId":2,"productId":3,"quantity":7,"image":null}"#);
        refused(&keyed.write("POST", "/order/2/details", r#"{"productId": 3}"#), 409, "ConflictError");
        refused(
            &keyed.write("POST", "/order/2/details", r#"{"orderId": 1, "productId": 1}"#),
            400,
            "is set by the relation",
        );
        refused(&keyed.write("POST", "/order/9/details", r#"{"productId": 1}"#), 404, "There is no 'order'");
        // A child of another parent is not found under this one.
        refused(&keyed.delete("/order/1/details/2,3"), 404, "There is no 'detail' with the id '2,3'");
        refused(&keyed.delete("/order/2/details/3"), 404, "NotFound");
        assert_eq!(keyed.delete("/order/2/details/2,3").status, 204);
        assert_eq!(keyed.details(), "1/1=10 1/2=20 2/2=30");
    });
}

#[test]
fn such_a_record_is_the_parent_of_children_and_the_target_of_links() {
    on_each_engine(|keyed| {
        let created = keyed.write("POST", "/detail/2,2/shipments", r#"{"id": 9, "note": "third"}"#);
        assert_eq!((created.status, created.header("location")), (201, Some("/mesh/shipment/9")));
        assert_eq!(
            keyed.read("/shipment/9", "{ shipment detail { quantity } }"),
            r#"{"detail":{"quantity":30}}"#
        );
        refused(
            &keyed.write("POST", "/detail/2,1/shipments", "{}"),
            404,
            "There is no 'detail' with the id '2,1'",
        );
        assert_eq!(keyed.delete("/detail/2,2/shipments/9").status, 204);
        for id in [json!("1,1"), json!([2, 2]), json!(["1", "2"])] {
            let reply = keyed.write("PUT", "/shipment/3/detail", &json!({"entityId": id}).to_string());
            assert_eq!(reply.status, 200, "{id}: {}", reply.text());
            let shown = reply.json();
            let expected = keyed.read("/shipment/3", "{ shipment detail { orderId productId } }");
            let linked = json!({"detail": {"orderId": shown["orderId"], "productId": shown["productId"]}});
            assert_eq!(expected, linked.to_string());
        }
        for id in [json!("1"), json!(1), json!([1]), json!([1, 2, 3]), json!("2,1"), json!(["1,2"])] {
            let reply = keyed.write("PUT", "/shipment/3/detail", &json!({"entityId": id}).to_string());
            refused(&reply, 404, "There is no 'detail'");
        }
        refused(&keyed.write("PUT", "/shipment/3/detail", r#"{"entityId": [1, null]}"#), 400, "entityId");
        assert_eq!(keyed.delete("/shipment/3/detail").status, 204);
        assert_eq!(keyed.read("/shipment/3", "{ shipment detail { quantity } }"), r#"{"detail":null}"#);
    });
}

#[test]
fn the_link_of_a_child_moves_its_key() {
    on_each_engine(|keyed| {
        let reply = keyed.write("PUT", "/detail/1,1/order", r#"{"entityId": 2}"#);
        assert_eq!((reply.status, reply.text().as_str()), (200, r#"{"id":2,"customer":"Bo"}"#));
        assert_eq!(keyed.details(), "1/2=20 2/1=10 2/2=30");
        refused(&keyed.write("PUT", "/detail/2,1/product", r#"{"entityId": 2}"#), 409, "ConflictError");
        refused(&keyed.delete("/detail/2,1/order"), 409, "ConflictError");
    });
}

#[test]
fn a_junction_that_is_an_entity_keeps_its_many_to_many_relations() {
    on_each_engine(|keyed| {
        assert_eq!(keyed.write("POST", "/order/2/products", r#"{"entityId": 1}"#).status, 204);
        assert_eq!(keyed.write("POST", "/product/3/orders", r#"{"entityId": 2}"#).status, 204);
        assert_eq!(keyed.details(), "1/1=10 1/2=20 2/1=1 2/2=30 2/3=1");
        // An id of one field is a scalar.
        for id in ["[1]", "[1, 2]"] {
            let body = format!(r#"{{"entityId": {id}}}"#);
            refused(&keyed.write("POST", "/order/2/products", &body), 400, "entityId");
        }
        assert_eq!(keyed.delete("/order/2/products/1").status, 204);
        assert_eq!(keyed.delete("/product/3/orders/2").status, 204);
        assert_eq!(keyed.details(), "1/1=10 1/2=20 2/2=30");
    });
}

#[test]
fn changes_of_the_record_are_sent_and_those_of_others_are_not() {
    on_each_engine(|keyed| {
        let query = r#"{"detail":{"$select":{"quantity":true}}}"#;
        let mut stream = open(&keyed.server, "/detail/1,2/events", query);
        assert_eq!(stream.data(), r#"{"quantity":20}"#);
        assert_eq!(keyed.write("PUT", "/detail/2,2", r#"{"quantity": 31}"#).status, 200);
        assert_eq!(keyed.write("PUT", "/detail/1,2", r#"{"quantity": 21}"#).status, 200);
        assert_eq!(stream.data(), r#"{"quantity":21}"#);
        assert_eq!(
            keyed.write("PUT", "/detail/1,2", r#"{"productId": 3}"#).status,
            409,
            "shipments refer to it"
        );
        assert_eq!(keyed.write("PUT", "/shipment/1/detail", r#"{"entityId": "2,2"}"#).status, 200);
        assert_eq!(keyed.write("PUT", "/shipment/2/detail", r#"{"entityId": "2,2"}"#).status, 200);
        let mut later = open(&keyed.server, "/detail/2,3/events", query);
        assert_eq!(later.data(), "null");
        // The link gives the record another key, so one stream loses it and the other gets it.
        assert_eq!(keyed.write("PUT", "/detail/1,2", r#"{"productId": 3}"#).status, 200);
        assert_eq!(stream.data(), "null");
        assert_eq!(keyed.write("PUT", "/detail/1,3/order", r#"{"entityId": 2}"#).status, 200);
        assert_eq!(later.data(), r#"{"quantity":21}"#);
    });
}

#[test]
fn files_are_attached_and_created() {
    on_each_engine(|keyed| {
        let upload = |path: &str, meta: &str| {
            let form = format!(
                "--b\r\nContent-Disposition: form-data; name=\"meta\"\r\n\r\n{meta}\r\n\
                 --b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\
                 Content-Type: text/plain\r\n\r\nhello\r\n--b--\r\n"
            );
            let statement = r#"{"detail": {"image": {"upload": true}}}"#;
            let request = Request::new("POST", &format!("/mesh{path}")).query(statement);
            keyed.server.send(&request.header("Content-Type", "multipart/form-data; boundary=b").body(form))
        };
        let attached = upload("/detail/1,2/image", "{}");
        assert_eq!(attached.status, 200, "{}", attached.text());
        let key = attached.json()["image"].as_str().unwrap().to_owned();
        assert_eq!(keyed.read("/detail/1,2", "{ detail image }"), json!({"image": key}).to_string());
        refused(&upload("/detail/1/image", "{}"), 404, "There is no 'detail' with the id '1'");
        refused(&upload("/detail/2,1/image", "{}"), 404, "There is no 'detail' with the id '2,1'");
        let created = upload("/detail", r#"{"orderId": 2, "productId": 3}"#);
        assert_eq!(
            (created.status, created.header("location")),
            (201, Some("/mesh/detail/2,3")),
            "{}",
            created.text()
        );
        let shown = created.json();
        assert_eq!(
            (&shown["orderId"], &shown["productId"], &shown["image"]),
            (&json!(2), &json!(3), &json!(key))
        );
    });
}

#[test]
fn policies_hold_for_such_records() {
    let policies = r#", "policies": {"*": {
        "order": {"$where": {"field": "id", "op": "eq", "value": 1}, "writable": true},
        "product": true,
        "detail": {"$where": {"field": "quantity", "op": "gt", "value": 5}, "writable": true}
    }}"#;
    with_policies(policies, |keyed| {
        // The record is found by its old key before the write, and by its new key after it.
        let moved = keyed.write("PUT", "/detail/1,1", r#"{"productId": 3}"#);
        assert_eq!((moved.status, &moved.json()["productId"]), (200, &json!(3)));
        let linked = keyed.write("PUT", "/detail/1,3/product", r#"{"entityId": 1}"#);
        assert_eq!((linked.status, linked.text().as_str()), (200, r#"{"id":1,"name":"Tea"}"#));
        let hidden = keyed.write("POST", "/order/1/details", r#"{"productId": 3, "quantity": 1}"#);
        refused(&hidden, 403, "may write");
        let created = keyed.write("POST", "/order/1/details", r#"{"productId": 3, "quantity": 6}"#);
        assert_eq!((created.status, created.header("location")), (201, Some("/mesh/detail/1,3")));
        assert_eq!(keyed.details(), "1/1=10 1/2=20 1/3=6 2/2=30");
        refused(&keyed.write("PUT", "/detail/1,1", r#"{"quantity": 5}"#), 403, "not one that you may write");
        // Part of the key refers to a record that is hidden.
        refused(&keyed.write("PUT", "/detail/1,1", r#"{"orderId": 2}"#), 404, "'orderId' refers to a record");
        let hidden = r#"{"orderId": 2, "productId": 1, "quantity": 9}"#;
        refused(&keyed.write("POST", "/detail", hidden), 404, "'orderId' refers to a record");
        refused(&keyed.write("PUT", "/detail/1,1/order", r#"{"entityId": 2}"#), 404, "There is no 'order'");
        assert_eq!(keyed.details(), "1/1=10 1/2=20 1/3=6 2/2=30");
    });
}
