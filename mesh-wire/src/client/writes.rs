//! Write requests. `SPEC §11`

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request};
use serde::Serialize;

use super::{Client, ClientError, Endpoint, Operation};

/// A write as its route has it, still without the query that shapes the answer.
#[derive(Clone, Debug)]
pub(super) struct Write {
    method: Method,
    /// The path under the base.
    segments: Vec<String>,
    /// What is sent as JSON; `None` for a write without a body.
    body: Option<Result<Bytes, ClientError>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Related<'a> {
    entity_id: &'a str,
}

impl Write {
    fn new(method: Method, segments: &[&str]) -> Self {
        let segments = segments.iter().map(|&segment| segment.to_owned()).collect();
        Self { method, segments, body: None }
    }

    fn with(self, body: &(impl Serialize + ?Sized)) -> Self {
        let body = serde_json::to_vec(body).map(Bytes::from);
        Self { body: Some(body.map_err(|error| ClientError::Fields(error.to_string()))), ..self }
    }

    pub(super) fn request(&self, at: &Endpoint) -> Result<Request<Bytes>, ClientError> {
        let segments: Vec<&str> = self.segments.iter().map(String::as_str).collect();
        let mut request = Request::new(Bytes::new());
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = at.at(&segments)?;
        if let Some(body) = &self.body {
            request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            *request.body_mut() = body.clone()?;
        }
        Ok(request)
    }
}

/// Writes. Each is answered with the record that it made, changed or connected, whose scalar fields stand in the
/// answer unless [`Operation::select`] asks for another shape; those that leave no record have an empty answer.
///
/// Fields are what serializes as a JSON object. No write is sent twice, unless the server has said that the first one
/// was not done.
impl Client {
    /// Makes a record.
    pub fn create(&self, entity: &str, fields: &(impl Serialize + ?Sized)) -> Operation {
        self.write(Write::new(Method::POST, &[entity]).with(fields))
    }

    /// Changes the given fields of a record.
    pub fn update(&self, entity: &str, id: &str, fields: &(impl Serialize + ?Sized)) -> Operation {
        self.write(Write::new(Method::PUT, &[entity, id]).with(fields))
    }

    /// Deletes a record; the answer is empty.
    pub fn delete(&self, entity: &str, id: &str) -> Operation {
        self.write(Write::new(Method::DELETE, &[entity, id]))
    }

    /// Makes a record below another one, at a to-many relation.
    pub fn create_child(
        &self,
        entity: &str,
        id: &str,
        relation: &str,
        fields: &(impl Serialize + ?Sized),
    ) -> Operation {
        self.write(Write::new(Method::POST, &[entity, id, relation]).with(fields))
    }

    /// Links two records at a many-to-many relation; the answer is empty.
    pub fn attach(&self, entity: &str, id: &str, relation: &str, other: &str) -> Operation {
        self.write(Write::new(Method::POST, &[entity, id, relation]).with(&Related { entity_id: other }))
    }

    /// Has a to-one relation lead to another record, which is the answer.
    pub fn connect(&self, entity: &str, id: &str, relation: &str, other: &str) -> Operation {
        self.write(Write::new(Method::PUT, &[entity, id, relation]).with(&Related { entity_id: other }))
    }

    /// Has a to-one relation lead nowhere; the answer is empty.
    pub fn disconnect(&self, entity: &str, id: &str, relation: &str) -> Operation {
        self.write(Write::new(Method::DELETE, &[entity, id, relation]))
    }

    /// Deletes a child of a record, or at a many-to-many relation only its link; the answer is empty.
    pub fn remove(&self, entity: &str, id: &str, relation: &str, child: &str) -> Operation {
        self.write(Write::new(Method::DELETE, &[entity, id, relation, child]))
    }

    fn write(&self, write: Write) -> Operation {
        Operation::writing(self.clone(), write)
    }
}

#[cfg(test)]
mod tests;
