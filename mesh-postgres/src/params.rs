//! Parameters of statements, all of which are sent as text.

use std::borrow::Cow;
use std::error::Error as StdError;

use bytes::BytesMut;
use mesh_plan::Value;
use mesh_plan::sql::postgres;
use tokio_postgres::types::{Format, IsNull, ToSql, Type};
use tokio_postgres::{Client, Error, Row};

/// A parameter as text, which the database parses as the type that the statement expects; `None` is NULL.
#[derive(Debug)]
pub(crate) struct TextParam<'a>(pub(crate) Option<Cow<'a, str>>);

impl<'a> TextParam<'a> {
    pub(crate) fn text(text: &'a str) -> Self {
        Self(Some(Cow::Borrowed(text)))
    }

    /// A `bigint`. Numbers out of its range, such as times, become its maximum.
    pub(crate) fn number(number: u64) -> Self {
        Self(Some(Cow::Owned(number.min(i64::MAX as u64).to_string())))
    }

    /// A `bytea`.
    pub(crate) fn bytes(bytes: &[u8]) -> Self {
        Self(postgres::text(&Value::Bytes(bytes.to_vec())).map(Cow::Owned))
    }
}

impl ToSql for TextParam<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match &self.0 {
            Some(text) => {
                out.extend_from_slice(text.as_bytes());
                Ok(IsNull::No)
            }
            None => Ok(IsNull::Yes),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    tokio_postgres::types::to_sql_checked!();
}

/// Runs a statement without preparing it, which also works through a pooler.
pub(crate) async fn query(client: &Client, sql: &str, params: &[TextParam<'_>]) -> Result<Vec<Row>, Error> {
    let typed: Vec<(&(dyn ToSql + Sync), Type)> =
        params.iter().map(|param| (param as _, Type::UNKNOWN)).collect();
    client.query_typed(sql, &typed).await
}
