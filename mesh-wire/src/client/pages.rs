//! Reads of a list, page by page.

use std::mem;

use bytes::Bytes;
use http::{Request, Response};
use mesh_ql::{OrParam, ParamValue, ParamValues, Query};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Client, ClientError, Operation, ReplyError};

/// A read of a list in progress. It starts at the first page and moves forward, or at the last page and moves backward
/// if the query asks for the last records. Send the request of [`Pages::request`] and pass the reply to
/// [`Pages::receive`], until there is no further request.
#[derive(Clone, Debug)]
pub struct Pages {
    client: Client,
    query: Query,
    params: ParamValues,
    /// `None` after the last page.
    operation: Option<Operation>,
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The body of the reply.
    pub body: Bytes,
    /// The cursor of the first record; `None` if the page is empty.
    pub start_cursor: Option<String>,
    /// The cursor of the last record; `None` if the page is empty.
    pub end_cursor: Option<String>,
    /// Whether another page follows.
    pub has_next: bool,
    /// Whether another page precedes; `None` unless the query asks for the last records.
    pub has_previous: Option<bool>,
    /// How many records match; `None` unless the query asks for the total.
    pub total: Option<u64>,
}

/// A page of a list with its records, for [`Operation::receive_as`].
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct List<T> {
    /// The records.
    pub items: Vec<T>,
    /// The position of the page in the list.
    pub page_info: PageInfo,
}

/// The position of a page in its list.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PageInfo {
    /// Whether another page follows.
    pub has_next_page: bool,
    /// Whether another page precedes; `None` unless the query asks for the last records.
    pub has_previous_page: Option<bool>,
    /// The cursor of the first record; `None` if the page is empty.
    pub start_cursor: Option<String>,
    /// The cursor of the last record; `None` if the page is empty.
    pub end_cursor: Option<String>,
    /// How many records match; `None` unless the query asks for the total.
    pub total_count: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    page_info: PageInfo,
}

#[derive(Deserialize)]
struct Items<T> {
    items: Vec<T>,
}

impl Pages {
    pub(super) fn new(client: Client, query: Query) -> Self {
        let operation = Some(client.collection(&query));
        Self { client, query, params: ParamValues::new(), operation }
    }

    /// Sets the values of the query's parameters. `SPEC §19.2`
    #[must_use]
    pub fn with_params(self, params: ParamValues) -> Self {
        let operation = self.operation.map(|operation| operation.with_params(params.clone()));
        Self { params, operation, ..self }
    }

    /// Returns the next request to send; `None` after the last page.
    ///
    /// # Errors
    /// See [`Operation::request`].
    pub fn request(&self) -> Option<Result<Request<Bytes>, ClientError>> {
        self.operation.as_ref().map(Operation::request)
    }

    /// Decodes the reply to the last request. Returns a page, or `None` if another request has to be sent first.
    ///
    /// # Errors
    /// [`ReplyError`] if the server refused the request or the reply is not a page. The request can be repeated.
    pub fn receive(&mut self, reply: Response<Bytes>) -> Result<Option<Page>, ReplyError> {
        let status = reply.status();
        let Some(operation) = &mut self.operation else { return Ok(None) };
        let Some(body) = operation.receive(reply)? else { return Ok(None) };
        let envelope = serde_json::from_slice::<Envelope>(&body);
        let info = envelope.map_err(|_| ReplyError::Unexpected { status })?.page_info;
        let page = Page {
            body,
            start_cursor: info.start_cursor,
            end_cursor: info.end_cursor,
            has_next: info.has_next_page,
            has_previous: info.has_previous_page,
            total: info.total_count,
        };
        let controls = self.query.root.controls.page.get_or_insert_default();
        let (has_more, cursor, position) = match controls.last {
            Some(_) => (page.has_previous == Some(true), &page.start_cursor, &mut controls.before),
            None => (page.has_next, &page.end_cursor, &mut controls.after),
        };
        if !has_more {
            self.operation = None;
            return Ok(Some(page));
        }
        let Some(cursor) = cursor else { return Err(ReplyError::Unexpected { status }) };
        // With a cursor that does not advance, paging would never end.
        let is_new = match position.as_mut().map(|position| &mut position.value) {
            Some(OrParam::Param { name }) => {
                let value = ParamValue::from(cursor.as_str());
                let is_new = self.params.get(&name.value) != Some(&value);
                self.params.insert(name.value.as_str(), value);
                is_new
            }
            Some(OrParam::Value(earlier)) => mem::replace(earlier, cursor.clone()) != *cursor,
            None => {
                *position = Some(OrParam::Value(cursor.clone()).into());
                true
            }
        };
        if !is_new {
            return Err(ReplyError::Unexpected { status });
        }
        // Later pages begin at a cursor instead.
        let skip = self.query.root.controls.page.as_mut().and_then(|page| page.skip.take());
        if let Some(OrParam::Param { name }) = skip.map(|skip| skip.value)
            && !mesh_ql::print_json(&self.query).contains(&format!(r#"{{"$param":"{name}"}}"#))
        {
            // The server refuses the value of a parameter that only `skip` has used.
            self.params.remove(&name.value);
        }
        self.operation = Some(self.client.collection(&self.query).with_params(self.params.clone()));
        Ok(Some(page))
    }
}

impl Page {
    /// Deserializes the records of the page.
    ///
    /// # Errors
    /// A record does not match the type.
    pub fn items<T: DeserializeOwned>(&self) -> Result<Vec<T>, serde_json::Error> {
        serde_json::from_slice::<Items<T>>(&self.body).map(|answer| answer.items)
    }
}

#[cfg(test)]
mod tests;
