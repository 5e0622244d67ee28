//! Write requests. `SPEC §11`

use bytes::Bytes;
use http::{HeaderValue, Method, Request};
use serde::Serialize;
use serde_json::json;

use Segment::{Id, Name};

use super::{Client, ClientError, Endpoint, Operation, RecordId, request};
use crate::headers;
use crate::route::percent;

/// The route and body of a write, without the query that shapes the answer.
#[derive(Clone, Debug)]
pub(super) struct Write {
    method: Method,
    /// The segments of the path after the base path, percent-encoded.
    segments: Vec<String>,
    /// The serialized body; `None` for a write without one.
    body: Option<Result<Bytes, ClientError>>,
    /// Whether a record that does not exist is created.
    merges: bool,
}

/// A segment of a path.
enum Segment<'a> {
    Name(&'a str),
    Id(RecordId),
}

impl Segment<'_> {
    fn encoded(&self) -> String {
        match self {
            Name(name) => percent::encode(name),
            Id(id) => id.to_segment(),
        }
    }
}

impl Write {
    fn new(method: Method, segments: &[Segment<'_>]) -> Self {
        let segments = segments.iter().map(|segment| segment.encoded()).collect();
        Self { method, segments, body: None, merges: false }
    }

    fn with_body(self, body: &(impl Serialize + ?Sized)) -> Self {
        let body = serde_json::to_vec(body).map(Bytes::from);
        Self { body: Some(body.map_err(|error| ClientError::Fields(error.to_string()))), ..self }
    }

    pub(super) fn request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, ClientError> {
        let segments: Vec<&str> = self.segments.iter().map(String::as_str).collect();
        let mut request =
            request(self.method.clone(), endpoint.url(&segments)?, self.body.clone().transpose()?);
        if self.merges {
            let preference = HeaderValue::from_static(headers::MERGE_DUPLICATES);
            request.headers_mut().insert("prefer", preference);
        }
        Ok(request)
    }
}

/// Writes. The answer is the created, changed or connected record with its scalar fields, unless [`Operation::select`]
/// sets another shape; it is empty if there is no resulting record.
///
/// Fields must serialize as a JSON object. A write is repeated only after a reply that shows that it was not executed.
impl Client {
    /// Creates a record.
    pub fn create(&self, entity: &str, fields: &(impl Serialize + ?Sized)) -> Operation {
        self.write(Write::new(Method::POST, &[Name(entity)]).with_body(fields))
    }

    /// Creates all records or none. The answer is an array of the created records in the same order. `SPEC §18.1`
    pub fn create_all(&self, entity: &str, records: &[impl Serialize]) -> Operation {
        self.write(Write::new(Method::POST, &[Name(entity)]).with_body(records))
    }

    /// Runs steps in one transaction; reads alone are of one snapshot. Each step serializes as an object
    /// `{method, path, body?, query?, queryId?, params?, format?, as?}`. The answer contains the results of the steps.
    /// `SPEC §18.4`
    pub fn batch(&self, steps: &[impl Serialize]) -> Operation {
        self.write(Write::new(Method::POST, &[Name("batch")]).with_body(&json!({ "steps": steps })))
    }

    /// Updates fields of a record.
    pub fn update(
        &self,
        entity: &str,
        id: impl Into<RecordId>,
        fields: &(impl Serialize + ?Sized),
    ) -> Operation {
        self.write(Write::new(Method::PUT, &[Name(entity), Id(id.into())]).with_body(fields))
    }

    /// Updates fields of the record with this id, or creates the record with these fields.
    pub fn upsert(
        &self,
        entity: &str,
        id: impl Into<RecordId>,
        fields: &(impl Serialize + ?Sized),
    ) -> Operation {
        let write = Write::new(Method::PUT, &[Name(entity), Id(id.into())]).with_body(fields);
        self.write(Write { merges: true, ..write })
    }

    /// Deletes a record; the answer is empty.
    pub fn delete(&self, entity: &str, id: impl Into<RecordId>) -> Operation {
        self.write(Write::new(Method::DELETE, &[Name(entity), Id(id.into())]))
    }

    /// Creates a child of a record in a to-many relation.
    pub fn create_child(
        &self,
        entity: &str,
        id: impl Into<RecordId>,
        relation: &str,
        fields: &(impl Serialize + ?Sized),
    ) -> Operation {
        self.write(Write::new(Method::POST, &[Name(entity), Id(id.into()), Name(relation)]).with_body(fields))
    }

    /// Links two records in a many-to-many relation; the answer is empty.
    pub fn attach(
        &self,
        entity: &str,
        id: impl Into<RecordId>,
        relation: &str,
        other: impl Into<RecordId>,
    ) -> Operation {
        self.link(Method::POST, entity, id.into(), relation, other.into())
    }

    /// Points a to-one relation at another record, which is the answer.
    pub fn connect(
        &self,
        entity: &str,
        id: impl Into<RecordId>,
        relation: &str,
        other: impl Into<RecordId>,
    ) -> Operation {
        self.link(Method::PUT, entity, id.into(), relation, other.into())
    }

    /// Clears a to-one relation; the answer is empty.
    pub fn disconnect(&self, entity: &str, id: impl Into<RecordId>, relation: &str) -> Operation {
        self.write(Write::new(Method::DELETE, &[Name(entity), Id(id.into()), Name(relation)]))
    }

    /// Deletes a child of a record, or only the link in a many-to-many relation; the answer is empty.
    pub fn remove(
        &self,
        entity: &str,
        id: impl Into<RecordId>,
        relation: &str,
        child: impl Into<RecordId>,
    ) -> Operation {
        self.write(Write::new(
            Method::DELETE,
            &[Name(entity), Id(id.into()), Name(relation), Id(child.into())],
        ))
    }

    /// Adds `other` to a relation, or makes it the related record.
    fn link(&self, method: Method, entity: &str, id: RecordId, relation: &str, other: RecordId) -> Operation {
        let link = Write::new(method, &[Name(entity), Id(id), Name(relation)]);
        self.write(link.with_body(&json!({ "entityId": other.to_json() })))
    }

    fn write(&self, write: Write) -> Operation {
        Operation::writing(self.clone(), write)
    }
}

#[cfg(test)]
mod tests;
