//! The rules for claims.

use super::*;

#[test]
fn times_are_compared_with_the_leeway() {
    let rules = BearerVerifier::new().leeway(Duration::from_secs(30));
    let verify = |claims: Value, now| rules.verify(shared(&claims).as_bytes(), &secret(), now).map(|_| ());
    let until = json!({"sub": "7", "exp": NOW});
    assert_eq!(verify(until.clone(), at(NOW + 29)), Ok(()));
    assert_eq!(verify(until.clone(), at(NOW + 30)), Err(BearerError::Expired));
    assert_eq!(verify(until, at(NOW + 1_000_000)), Err(BearerError::Expired));
    let from = json!({"sub": "7", "exp": NOW + 600, "nbf": NOW});
    assert_eq!(verify(from.clone(), at(NOW - 30)), Ok(()));
    assert_eq!(verify(from, at(NOW - 31)), Err(BearerFault::Early.into()));
    let fraction = json!({"sub": "7", "exp": NOW as f64 + 0.5});
    assert_eq!(verify(fraction.clone(), at(NOW + 30)), Ok(()));
    assert_eq!(verify(fraction, at(NOW + 31)), Err(BearerError::Expired));
    for exp in
        [json!(null), json!("soon"), json!(-1), json!(1e300), json!([NOW]), json!(true), json!("1800000000")]
    {
        let error = verify(json!({"sub": "7", "exp": exp}), at(NOW));
        assert_eq!(error, Err(BearerFault::Expiry.into()), "{exp}");
    }
    assert_eq!(verify(json!({"sub": "7"}), at(NOW)), Err(BearerFault::Expiry.into()), "exp is required");
    for nbf in [json!(null), json!("x"), json!(-1)] {
        let error = verify(json!({"sub": "7", "exp": NOW, "nbf": nbf}), at(NOW));
        assert_eq!(error, Err(BearerFault::NotBefore.into()), "{nbf}");
    }
    let strict = BearerVerifier::new().leeway(Duration::ZERO);
    let late = strict.verify(shared(&json!({"sub": "7", "exp": NOW})).as_bytes(), &secret(), at(NOW));
    assert_eq!(late.unwrap_err(), BearerError::Expired);
}

#[test]
fn issuer_and_audience_have_to_be_the_expected_ones() {
    let rules = BearerVerifier::new().issuer("https://a.example/").audience(["api", "web"]);
    let with = |iss: Value, aud: Value| {
        verify(&rules, &shared(&json!({"sub": "7", "exp": NOW + 1, "iss": iss, "aud": aud})))
    };
    let iss = "https://a.example/";
    for aud in [json!("api"), json!("web"), json!(["x", "web"]), json!([1, "api"])] {
        assert!(with(json!(iss), aud.clone()).is_ok(), "{aud}");
    }
    for aud in [
        json!("API"),
        json!("ap"),
        json!("api "),
        json!([]),
        json!(["x"]),
        json!(null),
        json!({"api": 1}),
        json!([["api"]]),
    ] {
        assert_eq!(fault(with(json!(iss), aud.clone())), BearerFault::Audience, "{aud}");
    }
    for iss in [json!("https://a.example"), json!("https://A.example/"), json!(null), json!([iss]), json!("")]
    {
        assert_eq!(fault(with(iss.clone(), json!("api"))), BearerFault::Issuer, "{iss}");
    }
    assert_eq!(fault(verify(&rules, &shared(&claims()))), BearerFault::Issuer);
    let any = BearerVerifier::new();
    assert!(verify(&any, &shared(&json!({"sub": "7", "exp": NOW + 1, "iss": "x", "aud": "y"}))).is_ok());
}

#[test]
fn the_role_is_the_first_of_a_list_or_the_first_by_rank() {
    let role = |rules: &BearerVerifier, role: Value| {
        let token = shared(&json!({"sub": "7", "exp": NOW + 1, "role": role}));
        verify(rules, &token).map(|opened| opened.session().role.clone())
    };
    let any = BearerVerifier::new();
    for (value, expected) in [
        (json!("editor"), Some("editor")),
        (json!(["editor", "admin"]), Some("editor")),
        (json!([{"a": 1}, "editor"]), Some("editor")),
        (json!([]), None),
        (json!(null), None),
    ] {
        assert_eq!(role(&any, value).unwrap().as_deref(), expected);
    }
    let ranked = BearerVerifier::new().roles(["admin", "editor"]);
    for (value, expected) in [
        (json!(["offline", "editor", "admin"]), Some("admin")),
        (json!(["offline", "editor"]), Some("editor")),
        (json!("editor"), Some("editor")),
        (json!("root"), None),
        (json!(["root"]), None),
    ] {
        assert_eq!(role(&ranked, value).unwrap().as_deref(), expected);
    }
    for value in [json!({"a": 1}), json!(true), json!(""), json!("x".repeat(255))] {
        assert_eq!(fault(role(&any, value)), BearerFault::Claim { name: "role".to_owned() });
    }
    let none = BearerVerifier::new().role("");
    assert_eq!(role(&none, json!({"a": 1})), Ok(None));
}
