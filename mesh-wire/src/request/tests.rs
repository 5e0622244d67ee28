//! Tests of request decoding, and of the errors of refused requests.

use super::*;
use crate::ErrorKind;

fn head(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    headers
}

fn text(format: Format, text: &str) -> QuerySource {
    QuerySource::Text { format, text: text.to_owned() }
}

fn decode_head(headers: &HeaderMap) -> Result<QuerySource, WireError> {
    MeshHeaders::scan(headers).reject_repeated()?.raw_query()?.decode()
}

/// Returns the message of the 400 `TransportError` with which these headers are refused.
fn refusal(pairs: &[(&'static str, &str)]) -> String {
    let error = decode_head(&head(pairs)).unwrap_err();
    assert_eq!((error.kind, error.status.as_u16(), error.code), (ErrorKind::Transport, 400, None));
    error.message.into_owned()
}

#[test]
fn a_query_in_the_head_is_decoded() {
    let value = base64::encode("{ user { id } }");
    let ql = head(&[("X-Mesh-Query", &value), ("x-mesh-format", "ql")]);
    assert_eq!(decode_head(&ql), Ok(text(Format::Ql, "{ user { id } }")));
    assert_eq!(decode_head(&head(&[("X-Mesh-Query", "e30")])), Ok(text(Format::Json, "{}")));
    assert_eq!(
        decode_head(&head(&[("X-Mesh-Query", "e30="), ("X-Mesh-Format", "json")])),
        Ok(text(Format::Json, "{}"))
    );
}

#[test]
fn an_id_in_the_head_ignores_the_format() {
    for format in ["ql", "nonsense", ""] {
        let headers = head(&[("X-Mesh-Query-Id", "q_1"), ("X-Mesh-Format", format)]);
        assert_eq!(decode_head(&headers), Ok(QuerySource::Id("q_1".to_owned())));
    }
}

#[test]
fn the_raw_query_is_not_decoded() {
    let headers = head(&[("X-Mesh-Query", "%%%"), ("X-Mesh-Format", "ql")]);
    let raw = MeshHeaders::scan(&headers).raw_query().unwrap();
    assert_eq!(raw, RawQuery::Text { format: Format::Ql, raw: b"%%%" });
    assert!(raw.decode().is_err());
}

#[test]
fn a_request_without_exactly_one_query_is_refused() {
    assert_eq!(
        refusal(&[]),
        "The request has no query; send it in X-Mesh-Query as base64, or its id in X-Mesh-Query-Id"
    );
    assert_eq!(
        refusal(&[("X-Mesh-Query", "e30"), ("X-Mesh-Query-Id", "q_1")]),
        "X-Mesh-Query and X-Mesh-Query-Id are mutually exclusive; send only one of them"
    );
    for empty in ["", " ", "\t"] {
        assert_eq!(refusal(&[("X-Mesh-Query", empty)]), "Header X-Mesh-Query is empty");
        assert_eq!(refusal(&[("X-Mesh-Query-Id", empty)]), "Header X-Mesh-Query-Id is empty");
        assert_eq!(
            refusal(&[("X-Mesh-Query", "e30"), ("X-Mesh-Query-Id", empty)]),
            "Header X-Mesh-Query-Id is empty"
        );
    }
}

#[test]
fn repeated_headers_are_refused() {
    for name in ["X-Mesh-Query", "X-Mesh-Query-Id", "X-Mesh-Format"] {
        let message = format!("Header {name} is repeated; send it once");
        let query = ("X-Mesh-Query", "e30");
        match name {
            "X-Mesh-Format" => assert_eq!(refusal(&[query, (name, "json"), (name, "json")]), message),
            _ => assert_eq!(refusal(&[(name, "e30"), (name, "e30")]), message),
        }
    }
}

#[test]
fn formats_are_case_sensitive() {
    for format in ["JSON", "Ql", "graphql", "", "json, ql", "é"] {
        assert_eq!(
            refusal(&[("X-Mesh-Query", "e30"), ("X-Mesh-Format", format)]),
            "X-Mesh-Format must be 'json' or 'ql'",
            "{format}"
        );
    }
}

#[test]
fn queries_that_are_not_base64_of_utf8_are_refused() {
    assert_eq!(
        refusal(&[("X-Mesh-Query", "e3-0")]),
        "X-Mesh-Query is not base64 text: character 3 ('-') belongs to the URL-safe alphabet; use the standard one"
    );
    assert_eq!(
        refusal(&[("X-Mesh-Query", "{}")]),
        "X-Mesh-Query is not base64 text: character 1 ('{') is not in the standard base64 alphabet; encode the \
         text as base64, or send it as it is in the body of a POST"
    );
    assert_eq!(
        refusal(&[("X-Mesh-Query", "/w")]),
        "X-Mesh-Query is not base64 text: the decoded bytes are not valid UTF-8 at byte 1"
    );
    assert_eq!(
        refusal(&[("X-Mesh-Query-Id", "q_é")]),
        "X-Mesh-Query-Id has characters that a query id cannot have"
    );
}

#[test]
fn url_parameters_that_belong_elsewhere_are_refused() {
    for name in ["X-Mesh-Query", "x-mesh-query-id", "X-MESH-FORMAT", "x%2dmesh-Token", "X-Mesh-Signature"] {
        for query in [format!("{name}=e30"), name.to_owned(), format!("a=1&{name}"), format!("&&{name}=")] {
            let error = check_url_query(Some(&query)).unwrap_err();
            assert_eq!((error.kind, error.status.as_u16()), (ErrorKind::Transport, 400));
            assert!(
                error.message.ends_with("is not a URL parameter; send it as a request header"),
                "{error}"
            );
        }
    }
    for name in ["$where", "%24PAGE", "$OrderBy", "$groupby", "$select", "$having", "$distinct", "$aggregate"]
    {
        let error = check_url_query(Some(&format!("{name}=x"))).unwrap_err();
        assert!(error.message.ends_with("is not a URL parameter; write it inside the query"), "{error}");
    }
    for query in ["", "a=1", "q=$where", "where=1", "$whereas=1", "%zz=1", "%ff", "==&&=", "x-mesh=1"] {
        assert_eq!(check_url_query(Some(query)), Ok(()), "{query}");
    }
    assert_eq!(check_url_query(None), Ok(()));
}

fn posted(content_type: &str, body: &str) -> Result<PostBody, WireError> {
    decode_body(&head(&[("content-type", content_type)]), body.as_bytes())
}

#[test]
fn valid_bodies_are_decoded() {
    let read = |body: &str| posted("application/json", body).unwrap();
    let plain = PostBody { format: Format::Json, text: "{}".to_owned(), id: None, params: None };
    assert_eq!(read(r#"{"query": "{}"}"#), plain);
    assert_eq!(
        read(r#" {"format": "ql", "query": "{}"} "#),
        PostBody { format: Format::Ql, ..plain.clone() }
    );
    assert_eq!(read(r#"{"query": "{}", "variables": {"query": [1]}, "query2": null}"#), plain);
    for (id, expected) in [
        (r#""a/b""#, "a/b"),
        (r#""""#, ""),
        ("7", "7"),
        ("-7", "-7"),
        ("-0", "0"),
        ("18446744073709551616", "18446744073709551616"),
        ("1.5", "1.5"),
        ("1e3", "1e3"),
    ] {
        let body = format!(r#"{{"query": "{{}}", "id": {id}}}"#);
        assert_eq!(read(&body).id, Some(PostedId::Text(expected.to_owned())), "{id}");
    }
    let parts = read(r#"{"query": "{}", "id": [7, "a,b", true]}"#).id;
    assert_eq!(parts, Some(PostedId::Parts(["7", "a,b", "true"].map(str::to_owned).to_vec())));
}

#[test]
fn bodies_that_are_not_json_are_refused_with_415() {
    let body = r#"{"query": "{}"}"#;
    for good in
        ["application/json", "Application/JSON", "application/json; charset=utf-8", "application/json;"]
    {
        assert!(posted(good, body).is_ok(), "{good}");
    }
    for bad in ["", "text/plain", "application/jsonp", "application/json, text/plain", "multipart/form-data"]
    {
        let error = posted(bad, body).unwrap_err();
        assert_eq!((error.kind, error.status.as_u16()), (ErrorKind::Transport, 415), "{bad}");
    }
    let twice = head(&[("content-type", "application/json"), ("content-type", "text/plain")]);
    for headers in [HeaderMap::new(), twice] {
        assert_eq!(decode_body(&headers, body.as_bytes()).unwrap_err().status.as_u16(), 415);
    }
}

#[test]
fn invalid_bodies_are_refused() {
    let deep = format!(r#"{{"x": {}"#, "[".repeat(100_000));
    for (body, message) in [
        ("", "The body must be a JSON object {query, format?, id?}"),
        (r#"["{}"]"#, "The body must be a JSON object {query, format?, id?}"),
        (r#""{}""#, "The body must be a JSON object {query, format?, id?}"),
        ("null", "The body must be a JSON object {query, format?, id?}"),
        ("\u{feff}{}", "The body must be a JSON object {query, format?, id?}"),
        ("{}", "The body has no 'query'"),
        (r#"{"Query": "{}"}"#, "The body has no 'query'"),
        (r#"{"query": {}}"#, "'query' in the body must be a string"),
        (r#"{"query": null}"#, "'query' in the body must be a string"),
        (r#"{"query": "\ud800"}"#, "'query' in the body must be a string"),
        (r#"{"query": "{}", "format": "JSON"}"#, "'format' in the body must be \"json\" or \"ql\""),
        (r#"{"query": "{}", "format": null}"#, "'format' in the body must be \"json\" or \"ql\""),
        (r#"{"query": "{}", "id": null}"#, "'id' in the body must be a string, a number or an array"),
        (r#"{"query": "{}", "id": [null]}"#, "'id' in the body must be a string, a number or an array"),
        (r#"{"query": "{}", "id": true}"#, "'id' in the body must be a string, a number or an array"),
        ("{", "The body is not a valid JSON object: "),
        (r#"{"query": "{}",}"#, "The body is not a valid JSON object: "),
        (r#"{"query": "{}"} x"#, "The body is not a valid JSON object: "),
        (r#"{"query": "{}", "id": 01}"#, "The body is not a valid JSON object: "),
        (r#"{"query": "{}", "query": "{}"}"#, "The body is not a valid JSON object: duplicate field `query`"),
        (
            r#"{"id": 1, "query": "{}", "\u0069d": 2}"#,
            "The body is not a valid JSON object: duplicate field `id`",
        ),
        (&deep, "The body is not a valid JSON object: "),
    ] {
        let error = posted("application/json", body).unwrap_err();
        assert_eq!((error.kind, error.status.as_u16()), (ErrorKind::Transport, 400), "{body:.40}");
        assert!(error.message.starts_with(message), "{body:.40}: {error}");
    }
    let error =
        decode_body(&head(&[("content-type", "application/json")]), b"{\"query\": \"\xff\"}").unwrap_err();
    assert_eq!(error.message, "The body is not valid UTF-8 at byte 12");
}

#[test]
fn heads_over_the_limit_are_refused() {
    let size = |path: &str, header: usize| {
        let uri: Uri = path.parse().unwrap();
        let value = "a".repeat(header);
        let fields = MeshHeaders::scan(&head(&[("x-mesh-query", &value)])).size;
        check_head_size(&Method::GET, &uri, fields, 100).map_err(|error| (error.kind, error.status.as_u16()))
    };
    // "GET /mesh HTTP/1.1" and "x-mesh-query" are 18 and 12 bytes.
    assert_eq!(size("/mesh", 70), Ok(()));
    assert_eq!(size("/mesh", 71), Err((ErrorKind::Transport, 431)));
    assert_eq!(size(&format!("/mesh?{}", "a".repeat(100)), 0), Err((ErrorKind::Transport, 414)));
}

#[test]
fn valid_client_ids_are_kept_and_others_replaced() {
    let generated = "000102030405060708090a0b0c0d0e0f";
    let choose = |pairs: &[_]| {
        let bytes = std::array::from_fn(|index| index as u8);
        RequestId::from_headers(&head(pairs), bytes).to_string()
    };
    assert_eq!(choose(&[]), generated);
    let longest = "x".repeat(128);
    for good in ["a", "~!", &longest] {
        assert_eq!(choose(&[("X-Request-Id", good)]), good);
    }
    let longer = "x".repeat(129);
    for bad in ["", "a b", "é", "a\tb", &longer] {
        assert_eq!(choose(&[("X-Request-Id", bad)]), generated, "{bad}");
    }
    assert_eq!(choose(&[("X-Request-Id", "a"), ("X-Request-Id", "b")]), generated);
}

proptest::proptest! {
    #[test]
    fn no_body_panics(body in r#"[{}\[\]":,a-z0-9 \\]{0,40}"#) {
        if let Err(error) = posted("application/json", &body) {
            proptest::prop_assert_eq!(error.status.as_u16(), 400);
        }
    }
}
