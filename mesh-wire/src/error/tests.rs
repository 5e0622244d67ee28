//! Tests of the error table and of error bodies.

use super::*;

#[test]
fn kinds_have_the_statuses_of_the_protocol() {
    let rows: Vec<_> =
        ErrorKind::ALL.into_iter().map(|kind| (kind.as_str(), kind.status().as_u16())).collect();
    assert_eq!(
        rows,
        [
            ("TransportError", 400),
            ("ValidationError", 400),
            ("IntegrityError", 401),
            ("ResolverError", 500),
            ("InternalError", 500),
            ("NotFound", 404),
            ("MethodNotAllowed", 405),
            ("ConflictError", 409),
            ("PreconditionFailed", 412),
            ("RateLimitError", 429),
            ("Unavailable", 503),
        ]
    );
}

#[test]
fn names_parse_to_their_values() {
    assert!(ErrorKind::ALL.into_iter().all(|kind| kind.as_str().parse() == Ok(kind)));
    assert!(Code::ALL.into_iter().all(|code| code.as_str().parse() == Ok(code)));
    assert!("transporterror".parse::<ErrorKind>().is_err() && "".parse::<Code>().is_err());
}

#[test]
fn some_transport_errors_have_specific_statuses() {
    let statuses = [
        (WireError::payload_too_large(1), 413),
        (WireError::uri_too_long(1), 414),
        (WireError::unsupported_media_type(), 415),
        (WireError::headers_too_large(1), 431),
        (WireError::query_id_unknown(), 400),
    ];
    for (error, status) in statuses {
        assert_eq!((error.kind, error.status.as_u16()), (ErrorKind::Transport, status));
    }
}

#[test]
fn constructors_set_codes() {
    assert_eq!(WireError::timeout().code, Some(Code::Timeout));
    assert_eq!(WireError::timeout().status.as_u16(), 500);
    assert_eq!(WireError::query_id_unknown().code, Some(Code::QueryIdUnknown));
}

#[test]
fn an_empty_path_is_omitted() {
    assert_eq!(WireError::validation("m").with_path("").path, None);
    assert_eq!(WireError::validation("m").with_path("user.posts").path.as_deref(), Some("user.posts"));
}

#[test]
fn absent_members_are_omitted() {
    let body = WireError::internal().body(&RequestId::from_headers(&http::HeaderMap::new(), [0xab; 16]));
    assert_eq!(
        serde_json::to_string(&body).unwrap(),
        "{\"error\":\"InternalError\",\"message\":\"The server failed; its log has the cause under this request \
         id\",\"requestId\":\"abababababababababababababababab\"}"
    );
}

#[test]
fn an_error_body_is_displayed_with_its_position() {
    let body = ErrorBody {
        error: "ValidationError".to_owned(),
        message: "m".to_owned(),
        request_id: None,
        code: None,
        path: Some("user.posts".to_owned()),
        line: Some(3),
        column: Some(9),
        fields: Vec::new(),
        step: None,
        effect: None,
    };
    assert_eq!(body.to_string(), "ValidationError: m (in user.posts, line 3, column 9)");
    let body = ErrorBody { step: Some(2), ..body };
    assert_eq!(body.to_string(), "ValidationError: m (step 2, in user.posts, line 3, column 9)");
}

#[test]
fn syntax_errors_keep_their_position() {
    let text = "{\"user\": {\n \"$select\": {\"posts\": {\"$select\": {\"id\": 1}}}}}";
    let syntax_error = mesh_ql::parse(mesh_ql::Format::Json, text, &mesh_ql::Limits::default()).unwrap_err();
    let error = WireError::from(syntax_error.clone());
    assert_eq!((error.kind, error.status.as_u16()), (ErrorKind::Validation, 400));
    assert_eq!(error.message, syntax_error.message);
    assert_eq!(
        (error.path.as_deref(), error.line, error.column),
        (Some("user.posts"), Some(2), Some(syntax_error.position.column))
    );
    assert!(error.column.is_some());
}
