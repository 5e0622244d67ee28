//! Periods of time as text.

use mesh_plan::plan::Bucket;
use sea_query::{Expr, ExprTrait as _, Func};

use super::Operand;
use super::type_class::TypeClass;
use crate::custom::{cast, collate};

/// Names of the IANA database that the database takes for abbreviations of fixed offsets, and zones with the same rules.
const ABBREVIATIONS: [(&str, &str); 7] = [
    ("CET", "Europe/Brussels"),
    ("EET", "Europe/Athens"),
    ("EST", "America/Panama"),
    ("HST", "Pacific/Honolulu"),
    ("MET", "Europe/Brussels"),
    ("MST", "America/Phoenix"),
    ("WET", "Europe/Lisbon"),
];

pub(super) fn lower(value: Operand, bucket: &Bucket) -> Operand {
    let has_time = bucket.unit.is_within_day();
    let format = if has_time { "YYYY-MM-DD\"T\"HH24:MI:SS AD" } else { "YYYY-MM-DD AD" };
    let zone = bucket.zone.as_deref();
    let start = call("date_trunc", [constant(bucket.unit.as_str()), local(value, zone)]);
    let text = call("to_char", [start, constant(format)]);
    // Infinite times have no text. Years before 1 and after 9999 do not match.
    let text = call("substring", [text, constant("^([0-9]{4}-.*) AD$")]);
    Operand::new(collate(text, "C"), TypeClass::Text("text"))
}

/// Returns a time in a zone, without the zone.
fn local(value: Operand, zone: Option<&str>) -> Expr {
    let Operand { expr, class, .. } = value;
    let utc = match class {
        TypeClass::TimestampZone => return in_zone(zone.unwrap_or("UTC"), expr),
        TypeClass::Timestamp => expr,
        TypeClass::Date => {
            // Later dates are no times that the database has.
            let template = "(CASE WHEN $1 OPERATOR(pg_catalog.<) '10000-01-01' THEN $2 END)";
            cast(Expr::cust_with_exprs(template, [expr.clone(), expr]), "timestamp")
        }
        // The planner refuses columns of other types.
        _ => cast(Expr::null(), "timestamp"),
    };
    match zone {
        Some(zone) => in_zone(zone, in_zone("UTC", utc)),
        None => utc,
    }
}

/// Returns a condition on a constant, which the database evaluates when it plans the statement.
pub(super) fn has_zone(zone: &str) -> Expr {
    in_zone(zone, cast(constant("2000-01-01"), "timestamp")).is_not_null()
}

/// Converts a time without zone, which is that of `zone`, to one with zone, or vice versa.
fn in_zone(zone: &str, time: Expr) -> Expr {
    let known = ABBREVIATIONS.iter().find(|(name, _)| name.eq_ignore_ascii_case(zone));
    call("timezone", [constant(known.map_or(zone, |(_, zone)| zone)), time])
}

fn constant(text: &str) -> Expr {
    Expr::Constant(text.into())
}

fn call<const N: usize>(function: &str, arguments: [Expr; N]) -> Expr {
    Func::cust(format!("pg_catalog.{function}")).args(arguments).into()
}
