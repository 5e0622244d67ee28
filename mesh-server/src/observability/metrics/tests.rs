//! Tests of counting and of the text format.

use super::*;
use crate::observability::record::{ReadRecord, RouteKind};

fn facts(route: RouteKind) -> Facts {
    Facts { route, ..Facts::default() }
}

fn value(text: &str, sample: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {sample} in\n{text}")).parse().unwrap()
}

#[test]
fn requests_are_counted_by_route_and_status() {
    let metrics = Metrics::default();
    let read = ReadRecord { rows: 3, until_start: Duration::ZERO, duration: Duration::from_millis(1) };
    let point = Facts { read: Some(read), ..facts(RouteKind::Point) };
    for micros in [50, 100, 101, 30_000_000] {
        metrics.answered(&point, 200, Duration::from_micros(micros));
    }
    std::thread::scope(|scope| {
        scope.spawn(|| metrics.answered(&facts(RouteKind::Point), 404, Duration::from_millis(1)));
        scope.spawn(|| metrics.answered(&facts(RouteKind::None), 418, Duration::from_millis(1)));
    });
    let text = metrics.text();
    let of_point = r#"method="GET",route="/:entity/:id",status="#;
    assert_eq!(value(&text, &format!("mesh_requests_total{{{of_point}\"200\"}}")), 4.0);
    assert_eq!(value(&text, &format!("mesh_requests_total{{{of_point}\"404\"}}")), 1.0);
    assert_eq!(value(&text, r#"mesh_requests_total{method="",route="none",status="0"}"#), 1.0);
    let bucket = |end: &str| {
        value(&text, &format!("mesh_request_duration_seconds_bucket{{{of_point}\"2xx\",le=\"{end}\"}}"))
    };
    let buckets = ["0.0001", "0.00025", "10", "+Inf"].map(bucket);
    assert_eq!(buckets, [2.0, 3.0, 3.0, 4.0]);
    let sum = value(&text, &format!("mesh_request_duration_seconds_sum{{{of_point}\"2xx\"}}"));
    assert!((sum - 30.000_251).abs() < 1e-6, "{sum}");
    assert_eq!(value(&text, "mesh_rows_total"), 12.0);
    assert_eq!(value(&text, "mesh_reads_total"), 4.0);
}

#[test]
fn refusals_are_counted_by_limit() {
    let metrics = Metrics::default();
    for error in [
        WireError::rate_limit(1),
        WireError::rate_limit(1),
        WireError::payload_too_large(5),
        WireError::uri_too_long(5),
        WireError::headers_too_large(5),
        WireError::timeout(),
        WireError::unavailable(),
        WireError::not_found(),
    ] {
        metrics.refused(&error);
    }
    let text = metrics.text();
    let hits = |limit: &str| value(&text, &format!("mesh_limit_hits_total{{limit=\"{limit}\"}}"));
    let hits = ["rate", "body_bytes", "header_bytes", "request_timeout", "busy", "rows"].map(hits);
    assert_eq!(hits, [2.0, 1.0, 2.0, 1.0, 1.0, 0.0]);
}

#[test]
fn open_connections_are_counted() {
    let metrics = Metrics::default();
    let (one, two) = (metrics.connection_opened(), metrics.connection_opened());
    drop(one);
    let text = metrics.text();
    assert_eq!(value(&text, "mesh_connections_total"), 2.0);
    assert_eq!(value(&text, "mesh_connections_open"), 1.0);
    drop(two);
    assert_eq!(value(&metrics.text(), "mesh_connections_open"), 0.0);
}

#[test]
fn every_family_has_one_head_followed_by_its_samples() {
    let metrics = Metrics::default();
    metrics.answered(&facts(RouteKind::Login), 401, Duration::from_millis(300));
    metrics.add(|out| out.gauge("own", "Two\nlines \\.", &[(&[("name", "a \"b\"\\\n")], 1.5)]));
    let text = metrics.text();
    assert!(
        text.contains(
            "# HELP own Two\\nlines \\\\.\n# TYPE own gauge\nown{name=\"a \\\"b\\\"\\\\\\n\"} 1.5\n"
        )
    );
    let mut families = std::collections::HashSet::new();
    let mut family = "";
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            family = rest.split(' ').next().unwrap();
            assert!(families.insert(family), "{family} occurs twice");
        } else if !line.starts_with('#') {
            assert!(line.starts_with(family), "{line} in the family {family}");
            let (_, value) = line.rsplit_once(' ').unwrap();
            assert!(value.parse::<f64>().is_ok(), "{line}");
        }
    }
    assert!(cfg!(not(target_os = "linux")) || families.contains("process_resident_memory_bytes"));
}
