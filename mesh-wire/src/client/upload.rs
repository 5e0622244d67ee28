//! Uploads: the head of the request and the multipart framing of the file. `SPEC §9`

use bytes::Bytes;
use data_encoding::HEXLOWER;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request};

use super::{ClientError, Endpoint, RecordId, request};
use crate::route::percent;
use crate::{base64, headers};

/// The target of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UploadTarget<'a> {
    /// A field of an existing record.
    Attach {
        /// The entity key.
        entity: &'a str,
        /// The record's id.
        id: &'a RecordId,
        /// The field.
        field: &'a str,
    },
    /// A new record. The statement names the field.
    Create {
        /// The entity key.
        entity: &'a str,
    },
}

/// Builds the head of an upload. Sign it, then send it with a body of [`UploadForm::before`], the file, and
/// [`UploadForm::after`].
///
/// # Errors
/// [`ClientError`] if a segment of the path is empty or does not fit into a URL.
pub fn upload(
    endpoint: &Endpoint,
    target: UploadTarget<'_>,
    statement: &str,
    form: &UploadForm,
) -> Result<Request<Bytes>, ClientError> {
    let uri = match target {
        UploadTarget::Attach { entity, id, field } => {
            endpoint.url(&[&percent::encode(entity), &id.to_segment(), &percent::encode(field)])?
        }
        UploadTarget::Create { entity } => endpoint.url(&[&percent::encode(entity)])?,
    };
    let mut request = request(Method::POST, uri, None);
    let fields = request.headers_mut();
    fields.insert(headers::QUERY, headers::ascii(base64::encode(statement)));
    fields.insert(CONTENT_TYPE, form.content_type());
    Ok(request)
}

/// The multipart framing of an uploaded file.
#[derive(Clone, Debug)]
pub struct UploadForm {
    boundary: String,
}

impl UploadForm {
    /// Creates a form whose boundary is made of `random` bytes, so that no file contains it by chance.
    pub fn new(random: [u8; 16]) -> Self {
        Self { boundary: format!("mesh-{}", HEXLOWER.encode(&random)) }
    }

    /// Returns the value of `Content-Type`.
    pub fn content_type(&self) -> HeaderValue {
        headers::ascii(format!("multipart/form-data; boundary={}", self.boundary))
    }

    /// Returns the part of the body before the file: further fields as a JSON object, if any, and the headers of the file.
    pub fn before(&self, meta: Option<&str>, file_name: &str, content_type: &str) -> Bytes {
        let boundary = &self.boundary;
        let mut text = String::new();
        if let Some(meta) = meta {
            text.push_str(&format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"meta\"\r\n\
                 Content-Type: application/json\r\n\r\n{meta}\r\n"
            ));
        }
        let (name, content_type) = (escaped(file_name), one_line(content_type));
        text.push_str(&format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
             Content-Type: {content_type}\r\n\r\n"
        ));
        Bytes::from(text)
    }

    /// Returns the part of the body after the file.
    pub fn after(&self) -> Bytes {
        Bytes::from(format!("\r\n--{}--\r\n", self.boundary))
    }
}

/// Escapes quotes and line breaks in a file name, as browsers do.
fn escaped(name: &str) -> String {
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
    fn heads_have_path_statement_and_boundary() {
        let endpoint = Endpoint::parse("http://localhost/mesh").unwrap();
        let form = UploadForm::new([0xab; 16]);
        let target = UploadTarget::Attach { entity: "user", id: &"a/b".into(), field: "avatar" };
        let request = upload(&endpoint, target, "{}", &form).unwrap();
        assert_eq!((request.method().as_str(), request.uri().path()), ("POST", "/mesh/user/a%2Fb/avatar"));
        assert_eq!(request.headers()[headers::QUERY], "e30=");
        let boundary = "mesh-abababababababababababababababab";
        assert_eq!(request.headers()["content-type"], format!("multipart/form-data; boundary={boundary}"));
        let request = upload(&endpoint, UploadTarget::Create { entity: "user" }, "{}", &form).unwrap();
        assert_eq!(request.uri().path(), "/mesh/user");
        assert!(upload(&endpoint, UploadTarget::Create { entity: "" }, "{}", &form).is_err());
    }

    #[test]
    fn the_form_frames_the_file() {
        let form = UploadForm::new([0; 16]);
        let boundary = format!("--mesh-{}", "0".repeat(32));
        let expected = format!(
            "{boundary}\r\nContent-Disposition: form-data; name=\"meta\"\r\nContent-Type: application/json\r\n\r\n\
             {{\"a\":1}}\r\n{boundary}\r\nContent-Disposition: form-data; name=\"file\"; \
             filename=\"a%22b%0D%0Ac\"\r\nContent-Type: text/plain\r\n\r\n"
        );
        assert_eq!(form.before(Some("{\"a\":1}"), "a\"b\r\n\0c", "text/plain\r\n"), expected);
        assert_eq!(form.after(), format!("\r\n{boundary}--\r\n"));
    }
}
