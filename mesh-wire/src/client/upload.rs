//! Uploads: the head of the request and the multipart framing of the file. `SPEC §9`

use bytes::Bytes;
use data_encoding::HEXLOWER;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request};

use super::{ClientError, Endpoint};
use crate::{base64, headers};

/// Where a file goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UploadTarget<'a> {
    /// To a field of a record that is there.
    Attach {
        /// The entity key.
        entity: &'a str,
        /// The record.
        id: &'a str,
        /// The field.
        field: &'a str,
    },
    /// To a record that is to be made; the statement names the field.
    Create {
        /// The entity key.
        entity: &'a str,
    },
}

/// The head of an upload, without its body: to be signed like any request without one, and then sent with the
/// bytes of [`UploadForm::before`], those of the file, and [`UploadForm::after`].
pub fn upload(
    at: &Endpoint,
    place: UploadTarget<'_>,
    statement: &str,
    form: &UploadForm,
) -> Result<Request<Bytes>, ClientError> {
    let mut request = Request::new(Bytes::new());
    *request.method_mut() = Method::POST;
    *request.uri_mut() = match place {
        UploadTarget::Attach { entity, id, field } => at.at(&[entity, id, field])?,
        UploadTarget::Create { entity } => at.at(&[entity])?,
    };
    let fields = request.headers_mut();
    fields.insert(headers::QUERY, headers::ascii(base64::encode(statement)));
    fields.insert(CONTENT_TYPE, form.content_type());
    Ok(request)
}

/// The form that a file is sent in.
#[derive(Clone, Debug)]
pub struct UploadForm {
    boundary: String,
}

impl UploadForm {
    /// A form whose boundary is made of fresh bytes, so that no file has it in it by chance.
    pub fn new(fresh: [u8; 16]) -> Self {
        Self { boundary: format!("mesh-{}", HEXLOWER.encode(&fresh)) }
    }

    /// The value of `Content-Type`.
    pub fn content_type(&self) -> HeaderValue {
        headers::ascii(format!("multipart/form-data; boundary={}", self.boundary))
    }

    /// What stands before the file's bytes: further fields as a JSON object, if any, and the file's headers.
    pub fn before(&self, meta: Option<&str>, file_name: &str, content_type: &str) -> Bytes {
        let boundary = &self.boundary;
        let mut text = String::new();
        if let Some(meta) = meta {
            text.push_str(&format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"meta\"\r\n\
                 Content-Type: application/json\r\n\r\n{meta}\r\n"
            ));
        }
        let (name, content_type) = (quoted(file_name), one_line(content_type));
        text.push_str(&format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
             Content-Type: {content_type}\r\n\r\n"
        ));
        Bytes::from(text)
    }

    /// What stands after the file's bytes.
    pub fn after(&self) -> Bytes {
        Bytes::from(format!("\r\n--{}--\r\n", self.boundary))
    }
}

/// A file's name as browsers send it: what would end the quotes or the line is escaped.
fn quoted(name: &str) -> String {
    let escaped = name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
    one_line(&escaped)
}

fn one_line(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        let at = Endpoint::parse("http://localhost/mesh").unwrap();
        let form = UploadForm::new([0xab; 16]);
        let place = UploadTarget::Attach { entity: "user", id: "a/b", field: "avatar" };
        let request = upload(&at, place, "{}", &form).unwrap();
        assert_eq!((request.method().as_str(), request.uri().path()), ("POST", "/mesh/user/a%2Fb/avatar"));
        assert_eq!(request.headers()[headers::QUERY], "e30=");
        let boundary = "mesh-abababababababababababababababab";
        assert_eq!(request.headers()["content-type"], format!("multipart/form-data; boundary={boundary}"));
        let request = upload(&at, UploadTarget::Create { entity: "user" }, "{}", &form).unwrap();
        assert_eq!(request.uri().path(), "/mesh/user");
        assert!(upload(&at, UploadTarget::Create { entity: "" }, "{}", &form).is_err());
    }

    #[test]
    fn what_stands_around_a_file() {
        let form = UploadForm::new([0; 16]);
        let boundary = format!("--mesh-{}", "0".repeat(32));
        let wanted = format!(
            "{boundary}\r\nContent-Disposition: form-data; name=\"meta\"\r\nContent-Type: application/json\r\n\r\n\
             {{\"a\":1}}\r\n{boundary}\r\nContent-Disposition: form-data; name=\"file\"; \
             filename=\"a%22b%0D%0Ac\"\r\nContent-Type: text/plain\r\n\r\n"
        );
        assert_eq!(form.before(Some("{\"a\":1}"), "a\"b\r\n\0c", "text/plain\r\n"), wanted);
        assert_eq!(form.after(), format!("\r\n{boundary}--\r\n"));
    }
}
