//! Conforming variants: behavior in which a server may differ from the reference server, so no case may fail.

use serde_json::{Value, json};

use super::faults::{Fault, NO_FAULT, deep, edit_body, put};

/// The variants, as faults that must fail nothing.
pub(super) const VARIANTS: &[Fault] = &[
    Fault {
        name: "the charset is in upper case",
        on_response: &|_, response, _| {
            if let Some(media) = response.header("content-type").map(str::to_owned) {
                put(response, "content-type", Some(&media.replace("charset=utf-8", "charset=UTF-8")));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "media types have further parameters and no blanks",
        on_response: &|_, response, _| {
            let media = response.header("content-type").filter(|media| media.starts_with("application/json"));
            if media.is_some() {
                put(response, "content-type", Some("application/json;charset=\"utf-8\";profile=mesh"));
            }
        },
        ..NO_FAULT
    },
    Fault { name: "times have a zone", on_response: &|_, response, _| edit_times(response, "Z"), ..NO_FAULT },
    Fault {
        name: "times have a fraction",
        on_response: &|_, response, _| edit_times(response, ".000"),
        ..NO_FAULT
    },
    Fault {
        name: "decimals have a scale",
        on_response: &|_, response, _| {
            edit_body(response, is_success, |body| {
                deep(body, "", &|name, value| {
                    if let Some(text) = value.as_str().filter(|_| name == "amount") {
                        let zeros = if text.contains('.') { "000" } else { ".000" };
                        *value = format!("{text}{zeros}").into();
                    }
                });
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "Cache-Control has further directives",
        on_response: &|_, response, _| {
            if let Some(control) = response.header("cache-control").map(str::to_owned) {
                put(response, "cache-control", Some(&format!("{control}, must-revalidate, max-age=0")));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "envelopes and page infos have further members",
        on_response: &|_, response, _| {
            edit_body(response, is_success, |body| {
                if body.get("pageInfo").is_some_and(Value::is_object) && body.get("items").is_some() {
                    body["pageInfo"]["of"] = "us".into();
                    body["extensions"] = json!({});
                }
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "errors have further members",
        on_response: &|_, response, _| {
            edit_body(
                response,
                |status| status >= 400,
                |body| {
                    body["hint"] = "read the manual".into();
                    body["status"] = 1.into();
                },
            );
        },
        ..NO_FAULT
    },
    Fault {
        name: "what is not data has further members",
        on_response: &|request, response, _| {
            let ends = ["/auth", "/logout", "/queries", "/schema", "/execute"];
            let is_upload = super::faults::is_upload(request);
            if ends.iter().any(|end| request.target.ends_with(end)) || is_upload {
                edit_body(response, is_success, |body| {
                    if let Some(body) = body.as_object_mut() {
                        body.insert("extension".to_owned(), json!({"a": [1]}));
                    }
                    for part in ["query", "meta"] {
                        if let Some(part) = body.get_mut(part).and_then(Value::as_object_mut) {
                            part.insert("extension".to_owned(), 1.into());
                        }
                    }
                });
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "the members of errors and of page infos are in another order",
        on_response: &|_, response, _| {
            edit_body(response, |status| status >= 400, reverse);
            edit_body(response, is_success, |body| {
                if let Some(info) = body.get_mut("pageInfo").filter(|info| info.is_object()) {
                    reverse(info);
                }
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "bodies are indented",
        on_response: &|_, response, state| {
            let text = serde_json::from_slice::<Value>(&response.body).ok().filter(|body| !body.is_number());
            // A server that indents its responses counts the white space, too.
            let is_bounded = state.has_settings("small");
            if let Some(text) = text.filter(|_| !response.is_event_stream() && !is_bounded) {
                response.body = format!("{text:#}\n").into_bytes();
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "answers have further headers, and names of headers in capitals",
        on_response: &|_, response, _| {
            response.headers.push(("X-Served-By".to_owned(), "a cache".to_owned()));
            response.headers.push(("SERVER".to_owned(), "other/1".to_owned()));
        },
        ..NO_FAULT
    },
    Fault {
        name: "Allow and Vary are in another order, with further members",
        on_response: &|_, response, _| {
            for name in ["allow", "vary", "access-control-expose-headers"] {
                if let Some(list) = response.header(name).map(str::to_owned) {
                    let mut members: Vec<&str> = list.split(',').map(str::trim).collect();
                    members.reverse();
                    members.push(if name == "allow" { "TRACE" } else { "X-Other" });
                    put(response, name, Some(&members.join(" , ")));
                }
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "messages are in other words around the names",
        on_response: &|_, response, _| {
            edit_body(
                response,
                |status| status >= 400,
                |body| {
                    if let Some(message) = body["message"].as_str() {
                        body["message"] = format!("Sorry: {message}.").into();
                    }
                },
            );
        },
        ..NO_FAULT
    },
    Fault {
        name: "streams have further comments",
        on_line: Some(&|line| {
            Some(if line.starts_with("data:") { format!(": data\n{line}") } else { line.to_owned() })
        }),
        ..NO_FAULT
    },
];

fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

fn edit_times(response: &mut mesh_tests::kit::http::Response, end: &str) {
    edit_body(response, is_success, |body| {
        deep(body, "", &|_, value| {
            let is_time = |text: &&str| text.len() == 19 && text.as_bytes()[10] == b'T' && text.is_ascii();
            if let Some(time) = value.as_str().filter(is_time) {
                *value = format!("{time}{end}").into();
            }
        });
    });
}

fn reverse(value: &mut Value) {
    if let Some(members) = value.as_object_mut() {
        *members = std::mem::take(members).into_iter().rev().collect();
    }
}
