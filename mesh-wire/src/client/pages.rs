//! Reads of a list page by page.

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use mesh_ql::Query;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Client, ClientError, Operation, ReplyError};

/// A list that is being read: send what [`Pages::request`] says and hand the reply to [`Pages::receive`], until
/// there is no request.
#[derive(Clone, Debug)]
pub struct Pages {
    client: Client,
    query: Query,
    /// `None` after the last page.
    asking: Option<Operation>,
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The whole answer.
    pub body: Bytes,
    /// Where the page ends; `None` where it is empty.
    pub end_cursor: Option<String>,
    /// Whether another page follows.
    pub has_next: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    page_info: PageInfo,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_next_page: bool,
    end_cursor: Option<String>,
}

#[derive(Deserialize)]
struct Items<T> {
    items: Vec<T>,
}

impl Pages {
    pub(super) fn new(client: Client, query: Query) -> Self {
        let asking = Some(client.collection(&query));
        Self { client, query, asking }
    }

    /// The request to send next; `None` after the last page.
    pub fn request(&self) -> Option<Result<Request<Bytes>, ClientError>> {
        self.asking.as_ref().map(Operation::request)
    }

    /// Takes the reply to the last request: a page, or `None` where another request comes before it.
    ///
    /// # Errors
    /// What the server refuses, and what is no page. The same page can be asked for again.
    pub fn receive(&mut self, reply: Response<Bytes>) -> Result<Option<Page>, ReplyError> {
        let status = reply.status();
        let Some(asking) = &mut self.asking else { return Ok(None) };
        let Some(body) = asking.receive(reply)? else { return Ok(None) };
        let page = Page::read(body, status)?;
        if !page.has_next {
            self.asking = None;
            return Ok(Some(page));
        }
        let controls = self.query.root.controls.page.get_or_insert_default();
        // From a page that ends where it began nobody would ever come to the end.
        if page.end_cursor.is_none() || page.end_cursor == controls.after {
            return Err(ReplyError::Foreign { status });
        }
        controls.after.clone_from(&page.end_cursor);
        self.asking = Some(self.client.collection(&self.query));
        Ok(Some(page))
    }
}

impl Page {
    fn read(body: Bytes, status: StatusCode) -> Result<Self, ReplyError> {
        let envelope = serde_json::from_slice::<Envelope>(&body);
        let PageInfo { has_next_page, end_cursor } =
            envelope.map_err(|_| ReplyError::Foreign { status })?.page_info;
        Ok(Self { body, end_cursor, has_next: has_next_page })
    }

    /// The records, each as a value of that type.
    ///
    /// # Errors
    /// Records of another form than the type's.
    pub fn items<T: DeserializeOwned>(&self) -> Result<Vec<T>, serde_json::Error> {
        serde_json::from_slice::<Items<T>>(&self.body).map(|answer| answer.items)
    }
}

#[cfg(test)]
mod tests;
