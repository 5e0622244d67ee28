//! Under which certificate is served?

use std::path::PathBuf;

use crate::config::load::Reader;
use crate::config::parse;

/// The server's certificate: the section `[tls]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tls {
    /// The certificate, and those between it and one that clients know.
    pub(crate) cert: Option<PathBuf>,
    /// Its private key.
    pub(crate) key: Option<PathBuf>,
}

impl Tls {
    pub(in crate::config) fn read(reader: &mut Reader<'_>) -> Self {
        let read = Self {
            cert: reader.read("tls.cert", parse::present, None),
            key: reader.read("tls.key", parse::present, None),
        };
        match (&read.cert, &read.key) {
            (Some(_), None) => {
                reader.conflict(["tls.cert", "tls.key"], "needs 'tls.key' beside it".to_owned());
            }
            (None, Some(_)) => {
                reader.conflict(["tls.key", "tls.cert"], "needs 'tls.cert' beside it".to_owned());
            }
            _ => {}
        }
        read
    }

    /// Both files, where there are any.
    pub(crate) fn files(&self) -> Option<(&PathBuf, &PathBuf)> {
        self.cert.as_ref().zip(self.key.as_ref())
    }
}
