//! Tables of refused requests; all faults of a table are reported together.

use mesh_tests::{Request, Response, Server};
use serde_json::Value;

/// A request and its expected refusal.
pub(crate) struct Case {
    name: String,
    request: Request,
    status: u16,
    error: &'static str,
    code: Option<&'static str>,
    path: Option<&'static str>,
    place: Option<(Option<u64>, Option<u64>)>,
    says: Vec<String>,
}

impl Case {
    pub(crate) fn new(name: impl Into<String>, request: Request, status: u16, error: &'static str) -> Self {
        Self {
            name: name.into(),
            request,
            status,
            error,
            code: None,
            path: None,
            place: None,
            says: Vec::new(),
        }
    }

    pub(crate) fn code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    pub(crate) fn path(mut self, path: &'static str) -> Self {
        self.path = Some(path);
        self
    }

    /// Expects this line and column.
    pub(crate) fn at(mut self, line: u64, column: u64) -> Self {
        self.place = Some((Some(line), Some(column)));
        self
    }

    /// Expects any line and column.
    pub(crate) fn somewhere(mut self) -> Self {
        self.place = Some((None, None));
        self
    }

    /// Expects texts in the message; `|` separates alternatives.
    pub(crate) fn says(mut self, words: &str) -> Self {
        self.says.push(words.to_owned());
        self
    }

    fn check(&self, response: &Response, faults: &mut Vec<String>) {
        let mut fault = |what: String| {
            faults.push(format!("{}: {what}\n    got {} {}", self.name, response.status, response.text()));
        };
        if response.status != self.status {
            fault(format!("status {} expected", self.status));
        }
        for what in shape_faults(response) {
            fault(what);
        }
        let Ok(body) = serde_json::from_slice::<Value>(&response.body) else { return };
        if body["error"] != self.error {
            fault(format!("error {} expected", self.error));
        }
        if let Some(code) = self.code
            && body["code"] != code
        {
            fault(format!("code {code} expected"));
        }
        if let Some(path) = self.path
            && body["path"] != path
        {
            fault(format!("path {path} expected"));
        }
        if let Some((line, column)) = self.place {
            for (name, expected) in [("line", line), ("column", column)] {
                match (body[name].as_u64(), expected) {
                    (Some(got), Some(expected)) if got == expected => {}
                    (Some(got), None) if got > 0 => {}
                    _ => fault(format!("{name} {expected:?} expected")),
                }
            }
        }
        let message = body["message"].as_str().unwrap_or_default();
        for words in &self.says {
            if !words.split('|').any(|word| message.contains(word)) {
                fault(format!("a message with {words:?} expected"));
            }
        }
    }
}

/// Returns what is wrong with the body and the headers of an error (SPEC §12.1).
pub(crate) fn shape_faults(response: &Response) -> Vec<String> {
    let mut faults = Vec::new();
    if response.header("content-type") != Some("application/json; charset=utf-8") {
        faults.push(format!("content type {:?}", response.header("content-type")));
    }
    if response.header("cache-control") != Some("no-store") {
        faults.push(format!("Cache-Control {:?} on an error", response.header("cache-control")));
    }
    let Ok(Value::Object(body)) = serde_json::from_slice(&response.body) else {
        faults.push("the body is no JSON object".to_owned());
        return faults;
    };
    for key in ["error", "message", "requestId"] {
        if body.get(key).and_then(Value::as_str).unwrap_or_default().is_empty() {
            faults.push(format!("no text in {key}"));
        }
    }
    let known = ["error", "message", "requestId", "code", "path", "line", "column", "fields", "effect"];
    if let Some(key) = body.keys().find(|key| !known.contains(&key.as_str())) {
        faults.push(format!("unknown key {key}"));
    }
    if let Some(fields) = body.get("fields") {
        let is_text = |field: &Value, key: &str| field[key].as_str().is_some_and(|text| !text.is_empty());
        let is_fault = |field: &Value| field["path"].is_string() && is_text(field, "message");
        if !fields.as_array().is_some_and(|fields| !fields.is_empty() && fields.iter().all(is_fault)) {
            faults.push(format!("fields {fields}"));
        }
    }
    if body.get("requestId").and_then(Value::as_str) != response.header("x-request-id") {
        faults.push(format!("X-Request-Id {:?} is another than requestId", response.header("x-request-id")));
    }
    faults
}

/// Sends every case and fails with all deviations.
pub(crate) fn check(server: &Server, cases: &[Case]) {
    assert!(!cases.is_empty());
    let mut faults = Vec::new();
    for case in cases {
        case.check(&server.send(&case.request), &mut faults);
    }
    report(&faults);
}

/// Fails if there are faults.
pub(crate) fn report(faults: &[String]) {
    assert!(faults.is_empty(), "{} faults:\n- {}", faults.len(), faults.join("\n- "));
}
