//! Settings of the collector of traces, which OpenTelemetry has variables for.

use super::*;

#[test]
fn variables_of_opentelemetry_are_settings() {
    let environment = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector.example"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=5ecret,Authorization=Basic%205ecret=="),
        ("OTEL_TRACES_SAMPLER", "always_on"),
    ];
    let loaded = load(&[], &environment, "otlp.headers = ['a: b']");
    assert_eq!(loaded.warnings, []);
    let otlp = loaded.config.unwrap().otlp;
    assert_eq!(otlp.endpoint.unwrap().to_string(), "https://collector.example/v1/traces");
    let headers: Vec<_> = otlp.headers.iter().map(|line| line.0.as_str()).collect();
    assert_eq!(headers, ["api-key: 5ecret", "Authorization: Basic 5ecret=="]);
    let printed = loaded.effective.to_toml();
    assert!(
        printed.contains("# headers = \"********\" # OTEL_EXPORTER_OTLP_HEADERS, not shown"),
        "{printed}"
    );
    assert!(!printed.contains("5ecret"), "{printed}");

    let own = load(&[], &[environment[0], ("MESH_OTLP__ENDPOINT", "http://[::1]:4318")], "");
    assert_eq!(own.config.unwrap().otlp.endpoint.unwrap().to_string(), "http://[::1]:4318/v1/traces");
}

#[test]
fn credentials_are_not_quoted() {
    for (file, expected) in [
        ("otlp.headers = ['5ecret']", "'otlp.headers' must be a list of headers, such as 'X-Api-Key: KEY'"),
        ("otlp.headers = '5 ecret: 5ecret'", "'otlp.headers' must be a list of headers"),
        ("otlp.endpoint = 'https://ada:5ecret@collector'", "'otlp.endpoint' must be the URL of a collector"),
        ("bearer.jwks = 'https://ada:5ecret@issuer'", "a loopback address, not a URL with an account"),
        ("caching.purge.urls = ['https://ada:5ecret@cache']", "'cache' is not a URL"),
    ] {
        let faults = lines(&load(&[], &[], file).config.unwrap_err());
        assert!(faults.contains(expected) && !faults.contains("5ecret"), "{faults}");
    }
    let file = "otlp.endpoint = 'http://collector'\notlp.headers = ['X-Api-Key: 5ecret']";
    let warnings = lines(&load(&[], &[], file).warnings);
    assert!(warnings.contains("'otlp.headers' can be read on the way"), "{warnings}");
}
