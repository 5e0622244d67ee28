//! The body of `POST {base}/batch`. `SPEC §18.4`

use http::{HeaderMap, Method};
use mesh_ql::Format;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::check_json;
use super::reference::is_name;
use crate::WireError;

/// The maximum number of steps in a batch.
const STEPS_MAX: usize = 100;

/// A step of a batch: a request without headers.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchStep {
    /// The method.
    pub method: Method,
    /// The path below the base path, with a leading slash.
    pub path: String,
    /// The JSON text of the body.
    pub body: Option<String>,
    /// The query of a read, or the one that shapes the result of a write.
    pub query: Option<StepQuery>,
    /// The JSON text of the values of the query's parameters.
    pub params: Option<String>,
    /// The name by which later steps refer to the result.
    pub name: Option<String>,
}

/// The query of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepQuery {
    /// A text in this format.
    Text(Format, String),
    /// The id of a registered query.
    Id(String),
}

impl BatchStep {
    /// Returns whether the step has the method and the members of a read.
    pub fn is_read(&self) -> bool {
        self.method == Method::GET || self.method == Method::PUT && self.body.is_none()
    }
}

/// Decodes the body of a batch: `{steps: [{method, path, body?, query?, queryId?, params?, format?, as?}]}`.
///
/// # Errors
/// 415 if the content type is not JSON; 400 if the body is not such an object, or has no steps or too many.
pub fn decode_batch(headers: &HeaderMap, body: &[u8]) -> Result<Vec<BatchStep>, WireError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Batch<'b> {
        #[serde(borrow)]
        steps: Vec<&'b RawValue>,
    }
    check_json(headers)?;
    // Serde would also accept the members of an object as an array.
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err(WireError::transport("The body must be a JSON object {steps: […]}"));
    }
    let batch: Batch<'_> = serde_json::from_slice(body).map_err(|error| {
        WireError::transport(format!("The body is not an object {{steps: […]}}: {error}"))
    })?;
    let found = batch.steps.len();
    if found == 0 || found > STEPS_MAX {
        return Err(WireError::validation(format!("A batch has 1 to {STEPS_MAX} steps, not {found}")));
    }
    let mut names: Vec<String> = Vec::new();
    let mut steps = Vec::with_capacity(found);
    for (index, text) in batch.steps.into_iter().enumerate() {
        let step = decode(text, &names).map_err(|error| error.at_step(index))?;
        names.extend(step.name.clone());
        steps.push(step);
    }
    Ok(steps)
}

fn decode(text: &RawValue, names: &[String]) -> Result<BatchStep, WireError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Step<'b> {
        method: String,
        path: String,
        #[serde(borrow)]
        body: Option<&'b RawValue>,
        query: Option<String>,
        #[serde(rename = "queryId")]
        query_id: Option<String>,
        #[serde(borrow)]
        params: Option<&'b RawValue>,
        format: Option<String>,
        #[serde(rename = "as")]
        name: Option<String>,
    }
    const FORM: &str = "{method, path, body?, query?, queryId?, params?, format?, as?}";
    if !text.get().starts_with('{') {
        return Err(WireError::transport(format!("The step is not an object {FORM}")));
    }
    let step: Step<'_> = serde_json::from_str(text.get())
        .map_err(|error| WireError::transport(format!("The step is not an object {FORM}: {error}")))?;
    let method = Method::from_bytes(step.method.as_bytes()).ok();
    let method = method.ok_or_else(|| WireError::transport("'method' must be GET, POST, PUT or DELETE"))?;
    if step.path.contains(['?', '#']) {
        return Err(WireError::transport("'path' must be a path without '?' and '#'"));
    }
    let path = if step.path.starts_with('/') { step.path } else { format!("/{}", step.path) };
    let format = match step.format.as_deref() {
        None => Format::Json,
        Some(name) => {
            name.parse().map_err(|_| WireError::transport("'format' must be \"json\" or \"ql\""))?
        }
    };
    let query = match (step.query, step.query_id) {
        (Some(_), Some(_)) => {
            return Err(WireError::transport("A step has a 'query' or a 'queryId', not both"));
        }
        (Some(text), None) => Some(StepQuery::Text(format, text)),
        (None, id) => id.map(StepQuery::Id),
    };
    if let Some(name) = &step.name {
        if !is_name(name) {
            return Err(WireError::validation("'as' must be a name of letters, digits and '_'"));
        }
        if names.contains(name) {
            return Err(WireError::validation(format!("An earlier step has the name '{name}' already")));
        }
    }
    Ok(BatchStep {
        method,
        path,
        body: step.body.map(|body| body.get().to_owned()),
        query,
        params: step.params.map(|params| params.get().to_owned()),
        name: step.name,
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http::header::CONTENT_TYPE;

    use super::*;

    fn decode(body: &str) -> Result<Vec<BatchStep>, (String, Option<u32>)> {
        let headers = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))].into_iter().collect();
        decode_batch(&headers, body.as_bytes()).map_err(|error| (error.message.into_owned(), error.step))
    }

    #[test]
    fn steps_are_requests_without_headers() {
        let body = r#"{"steps": [
            {"method": "POST", "path": "/post", "body": {"n": 1.10}, "query": "{ post id }", "format": "ql", "as": "p"},
            {"method": "DELETE", "path": "post/$p.id"}
        ]}"#;
        let [first, second] = decode(body).unwrap().try_into().unwrap();
        assert_eq!((first.method, first.path.as_str()), (Method::POST, "/post"));
        assert_eq!(first.body.as_deref(), Some(r#"{"n": 1.10}"#));
        assert_eq!(
            (first.query, first.name.as_deref()),
            (Some(StepQuery::Text(Format::Ql, "{ post id }".into())), Some("p"))
        );
        assert_eq!((second.path.as_str(), second.body, second.query), ("/post/$p.id", None, None));
    }

    #[test]
    fn errors_name_the_step() {
        let step =
            |more: &str| format!(r#"{{"steps": [{{"method": "GET", "path": "/a", "as": "a"}}, {more}]}}"#);
        for (wrong, message) in [
            (r#"{"method": "GET"}"#, "missing field `path`"),
            (r#"{"method": "GET", "path": "/a", "headers": {}}"#, "unknown field `headers`"),
            (r#"{"method": "GET", "path": "/a", "path": "/b"}"#, "duplicate field `path`"),
            (r#"{"method": "G T", "path": "/a"}"#, "'method' must be"),
            (r#"{"method": "GET", "path": "/a?b"}"#, "without '?'"),
            (r#"{"method": "GET", "path": "/a", "query": "", "format": "xml"}"#, "'format' must be"),
            (r#"{"method": "GET", "path": "/a", "query": "", "queryId": "x"}"#, "not both"),
            (r#"{"method": "GET", "path": "/a", "as": "1"}"#, "'as' must be"),
            (r#"{"method": "GET", "path": "/a", "as": "a"}"#, "has the name 'a' already"),
            ("7", "is not an object"),
            (r#"["GET", "/a", null, null, null, null, null, null]"#, "is not an object"),
        ] {
            let (found, index) = decode(&step(wrong)).unwrap_err();
            assert!(found.contains(message), "{wrong}: {found}");
            assert_eq!(index, Some(1), "{wrong}");
        }
    }

    #[test]
    fn the_number_of_steps_is_bounded() {
        let batch =
            |n| format!(r#"{{"steps": [{}]}}"#, vec![r#"{"method": "GET", "path": "/a"}"#; n].join(","));
        assert_eq!(decode(&batch(100)).unwrap().len(), 100);
        for n in [0, 101] {
            assert_eq!(decode(&batch(n)), Err((format!("A batch has 1 to 100 steps, not {n}"), None)));
        }
        for wrong in ["", "[]", "[[]]", "{}", r#"{"steps": {}}"#, r#"{"steps": [], "as": 1}"#] {
            assert!(decode(wrong).is_err_and(|(message, step)| message.contains("{steps") && step.is_none()));
        }
    }
}
