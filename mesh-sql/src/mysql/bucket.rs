//! Periods of time as text.

use mesh_plan::plan::Bucket;
use mesh_ql::TimeUnit;
use sea_query::Expr;

use super::Operand;
use super::charset::{BINARY_COLLATION, CHARSET};
use super::type_class::TypeClass;
use crate::custom::convert;

pub(super) fn lower(value: Operand, bucket: &Bucket) -> Operand {
    let time = match &bucket.zone {
        Some(zone) => in_zone(value.expr, zone),
        None => value.expr,
    };
    let template = match bucket.unit {
        TimeUnit::Year => "DATE_FORMAT(?, '%Y-01-01')",
        TimeUnit::Quarter => "CONCAT(DATE_FORMAT(?, '%Y-'), ELT(QUARTER(?), '01', '04', '07', '10'), '-01')",
        TimeUnit::Month => "DATE_FORMAT(?, '%Y-%m-01')",
        TimeUnit::Week => "DATE_FORMAT(? - INTERVAL WEEKDAY(?) DAY, '%Y-%m-%d')",
        TimeUnit::Day => "DATE_FORMAT(?, '%Y-%m-%d')",
        TimeUnit::Hour => "DATE_FORMAT(?, '%Y-%m-%dT%H:00:00')",
        TimeUnit::Minute => "DATE_FORMAT(?, '%Y-%m-%dT%H:%i:00')",
    };
    let times = vec![time; template.matches('?').count()];
    let text = convert(Expr::cust_with_exprs(template, times), CHARSET, BINARY_COLLATION);
    Operand::new(text, TypeClass::Text(Some(BINARY_COLLATION.to_owned())))
}

/// Returns a condition in which two rows stand for one value, which is an error, if the database does not know the zone.
pub(super) fn has_zone(zone: &str) -> Expr {
    let time = in_zone(Expr::Constant("2000-01-01 00:00:00".into()), zone);
    Expr::cust_with_expr("(CASE WHEN ? IS NULL THEN (SELECT 1 UNION SELECT 2) ELSE TRUE END)", time)
}

/// Converts a time in UTC. The result is NULL if the database does not know the zone.
fn in_zone(time: Expr, zone: &str) -> Expr {
    Expr::cust_with_exprs("CONVERT_TZ(?, '+00:00', ?)", [time, Expr::Constant(zone.into())])
}
