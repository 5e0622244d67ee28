//! The workloads over tokio-postgres: hard-coded SQL, prepared once per connection. Statements are sent without waiting for
//! the replies to earlier ones, so a connection carries the statements of many requests.

mod blog;

use bytes::Bytes;
use tokio_postgres::types::{FromSql, Type};
use tokio_postgres::{Client, NoTls, Row, Statement};

use crate::json::Kind::{Integer, Text};
use crate::json::{self, Cells};
use crate::written::{Comment, Views};
use crate::{Ask, Error};

/// Each statement runs in its own transaction. The foreign key rejects a comment on a missing post.
const UPDATE: &str = "UPDATE posts SET views = $1 WHERE id = $2 RETURNING id, views";
const CREATE: &str = "INSERT INTO comments (post_id, author_id, body, created_at) \
    VALUES ($1, $2, $3, $4::text::timestamptz) RETURNING body";

/// A connection with the statements of a workload.
pub struct Link {
    client: Client,
    workload: Workload,
    statements: Vec<Statement>,
}

#[derive(Clone, Copy, Debug)]
enum Workload {
    Scalars,
    PostRows,
    PostLevels,
    Newest,
    DeepRows,
    DeepLevels,
    JsonPost,
    JsonNewest,
    Json,
    Update,
    Create,
}

impl Link {
    pub async fn open(url: &str, workload: &str, variant: &str) -> Result<Self, Error> {
        let (workload, statements) = match (workload, variant) {
            ("w1", "joined") => (Workload::Scalars, &[blog::SCALARS][..]),
            ("w1", "json") => (Workload::JsonPost, &[blog::JSON_SCALARS][..]),
            ("w2", "rows") => (Workload::PostRows, &[blog::POST_ROWS][..]),
            ("w2", "levels") => (Workload::PostLevels, &[blog::POST, blog::COMMENTS][..]),
            ("w2", "json") => (Workload::JsonPost, &[blog::JSON_NESTED][..]),
            ("w3", "joined") => (Workload::Newest, &[blog::NEWEST][..]),
            ("w3", "json") => (Workload::JsonNewest, &[blog::JSON_NEWEST][..]),
            ("w4", "rows") => (Workload::DeepRows, &[blog::DEEP_ROWS][..]),
            ("w4", "levels") => (Workload::DeepLevels, &[blog::NEWEST, blog::COMMENTS_OF_MANY][..]),
            ("w1", "postgrest") => (Workload::JsonPost, &[blog::POSTGREST_SCALARS][..]),
            ("w2", "postgrest") => (Workload::JsonPost, &[blog::POSTGREST_NESTED][..]),
            ("w3", "postgrest") => (Workload::Json, &[blog::POSTGREST_NEWEST][..]),
            ("w4", "postgrest") => (Workload::Json, &[blog::POSTGREST_DEEP][..]),
            ("update", "joined") => (Workload::Update, &[UPDATE][..]),
            ("create", "joined") => (Workload::Create, &[CREATE][..]),
            ("w4", "json") => (Workload::JsonNewest, &[blog::JSON_DEEP][..]),
            _ => return Err(format!("there is no variant '{variant}' of '{workload}'").into()),
        };
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        tokio::task::spawn_local(connection);
        client.batch_execute("SET jit = off").await?;
        let mut prepared = Vec::with_capacity(statements.len());
        for statement in statements {
            prepared.push(client.prepare(statement).await?);
        }
        Ok(Self { client, workload, statements: prepared })
    }

    pub async fn body(&self, ask: Ask<'_>) -> Result<Bytes, Error> {
        let id = i32::try_from(ask.id)?;
        let client = &self.client;
        let mut out = Vec::with_capacity(1_024);
        match (self.workload, &self.statements[..]) {
            (Workload::Scalars, [post]) => blog::scalars(&mut out, &client.query_one(post, &[&id]).await?)?,
            (Workload::PostRows, [post]) => blog::post_rows(&mut out, &client.query(post, &[&id]).await?)?,
            (Workload::PostLevels, [post, comments]) => {
                // Both statements are sent before the first reply.
                let keys: [&(dyn tokio_postgres::types::ToSql + Sync); 1] = [&id];
                let (post, comments) =
                    tokio::try_join!(client.query_one(post, &keys), client.query(comments, &keys))?;
                blog::post_levels(&mut out, &post, &comments)?;
            }
            (Workload::Newest, [newest]) => blog::newest(&mut out, &client.query(newest, &[]).await?)?,
            (Workload::DeepRows, [newest]) => blog::deep_rows(&mut out, &client.query(newest, &[]).await?)?,
            (Workload::DeepLevels, [newest, comments]) => {
                let posts = client.query(newest, &[]).await?;
                let keys: Vec<i32> = posts.iter().take(crate::json::PAGE).map(|row| row.get(0)).collect();
                blog::deep_levels(&mut out, &posts, &client.query(comments, &[&keys]).await?)?;
            }
            (Workload::JsonPost, [post]) => {
                out.extend_from_slice(
                    client.query_one(post, &[&id]).await?.try_get::<_, &str>(0)?.as_bytes(),
                );
            }
            (Workload::Json, [newest]) => {
                out.extend_from_slice(client.query_one(newest, &[]).await?.try_get::<_, &str>(0)?.as_bytes());
            }
            (Workload::JsonNewest, [newest]) => {
                blog::json_newest(&mut out, &client.query(newest, &[]).await?)?;
            }
            (Workload::Update, [update]) => {
                let Views { views } = serde_json::from_slice(ask.body)?;
                let row = client.query_one(update, &[&i32::try_from(views)?, &id]).await?;
                json::members(&mut out, &row, 0, [("{\"id\":", Integer), (",\"views\":", Integer)])?;
                out.push(b'}');
            }
            (Workload::Create, [create]) => {
                let Comment { body, author_id, created_at } = serde_json::from_slice(ask.body)?;
                let author_id = i32::try_from(author_id)?;
                let row = client.query_one(create, &[&id, &author_id, &body, &created_at]).await?;
                json::members(&mut out, &row, 0, [("{\"body\":", Text)])?;
                out.push(b'}');
            }
            _ => return Err("statements are missing".into()),
        }
        Ok(out.into())
    }
}

impl Cells for Row {
    fn integer(&self, column: usize) -> Result<Option<i64>, Error> {
        Ok(self.try_get::<_, Option<i32>>(column)?.map(i64::from))
    }

    fn real(&self, column: usize) -> Result<Option<f64>, Error> {
        Ok(self.try_get(column)?)
    }

    fn flag(&self, column: usize) -> Result<Option<bool>, Error> {
        Ok(self.try_get(column)?)
    }

    fn text(&self, column: usize) -> Result<Option<&str>, Error> {
        Ok(self.try_get(column)?)
    }

    fn moment(&self, out: &mut Vec<u8>, column: usize) -> Result<bool, Error> {
        let moment: Option<Moment> = self.try_get(column)?;
        if let Some(moment) = &moment {
            moment.write(out);
        }
        Ok(moment.is_some())
    }
}

/// Microseconds since the year 2000.
struct Moment(i64);

impl<'a> FromSql<'a> for Moment {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Error> {
        Ok(Self(i64::from_be_bytes(raw.try_into()?)))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::TIMESTAMPTZ
    }
}

impl Moment {
    /// Writes whole seconds; the sample has no others.
    fn write(&self, out: &mut Vec<u8>) {
        let seconds = self.0.div_euclid(1_000_000);
        let (days, of_day) = (seconds.div_euclid(86_400) + 10_957 + 719_468, seconds.rem_euclid(86_400));
        let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let years = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * years + years / 4 - years / 100);
        let shifted = (5 * of_year + 2) / 153;
        let month = (shifted + 2) % 12 + 1;
        let (year, day) = (years + era * 400 + i64::from(month <= 2), of_year - (153 * shifted + 2) / 5 + 1);
        let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
        let mut text = *b"0000-00-00T00:00:00Z";
        let parts =
            [(0, year / 100), (2, year % 100), (5, month), (8, day), (11, hour), (14, minute), (17, second)];
        for (place, number) in parts {
            text[place] += (number / 10) as u8;
            text[place + 1] += (number % 10) as u8;
        }
        out.extend_from_slice(&text);
    }
}
