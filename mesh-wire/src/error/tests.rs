//! Tests of the error table and of error bodies.

use super::*;

#[test]
fn names_parse_to_their_values() {
    assert!(ErrorKind::ALL.into_iter().all(|kind| kind.as_str().parse() == Ok(kind)));
    assert!(Code::ALL.into_iter().all(|code| code.as_str().parse() == Ok(code)));
    assert!("transporterror".parse::<ErrorKind>().is_err() && "".parse::<Code>().is_err());
}

#[test]
fn an_empty_path_is_omitted() {
    assert_eq!(WireError::validation("m").with_path("").path, None);
    assert_eq!(WireError::validation("m").with_path("user.posts").path.as_deref(), Some("user.posts"));
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
