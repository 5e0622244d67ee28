//! Database URLs with their parameters.

use std::path::PathBuf;

use mysql_async::{Opts, OptsBuilder, SslOpts};
use percent_encoding::percent_decode_str;

use super::hosts::Hosts;
use crate::error::{BoxError, without_password};

/// A parsed database URL.
#[derive(Clone)]
pub(crate) struct ConnectUrl {
    pub(crate) hosts: Hosts,
    /// The URL without its password.
    pub(crate) name: String,
}

impl ConnectUrl {
    /// Parses a URL. `ssl-mode` is `disabled`, `preferred` (the default), `required`, `verify-ca` or `verify-identity`.
    /// `ssl-ca` is a file of certificates; without it, the certificates of the system are trusted. `socket` is the path
    /// of a Unix socket.
    ///
    /// # Errors
    /// The URL or one of its parameters is invalid. The error contains no password.
    pub(crate) fn parse(url: &str) -> Result<Self, BoxError> {
        let name = without_password(url);
        let invalid = |why: String| format!("'{name}' is not a valid database URL: {why}");
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let base = base.replacen("mariadb:", "mysql:", 1);
        let mut hosts = Vec::new();
        for url in urls_of_hosts(&base) {
            let opts = Opts::from_url(&url).map_err(|error| invalid(error.to_string()))?;
            if opts.db_name().is_none_or(str::is_empty) {
                let why = "it names no database, as in mysql://user@host/database";
                return Err(invalid(why.to_owned()).into());
            }
            hosts.push(OptsBuilder::from_opts(opts).prefer_socket(false).client_found_rows(true));
        }
        let mut mode = "preferred".to_owned();
        let mut certificates: Option<PathBuf> = None;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode_str(value).decode_utf8_lossy().into_owned();
            match key {
                "socket" => {
                    let [host] = &mut hosts[..] else {
                        return Err(invalid("it has a socket and several hosts".to_owned()).into());
                    };
                    *host = host.clone().socket(Some(value));
                    mode = "disabled".to_owned();
                }
                "ssl-mode" => mode = value,
                "ssl-ca" => certificates = Some(value.into()),
                other => return Err(invalid(format!("the parameter '{other}' is unknown")).into()),
            }
        }
        let kind = mode.to_ascii_lowercase().replace('_', "-");
        let ssl = match kind.as_str() {
            "disabled" => None,
            "preferred" | "required" => {
                let any = SslOpts::default().with_danger_accept_invalid_certs(true);
                Some(any.with_danger_skip_domain_validation(true))
            }
            // The driver cannot verify an authority without the host name.
            "verify-ca" | "verify-identity" => {
                let roots = match certificates {
                    // Opening a pipe would block until another program writes to it.
                    Some(file) if file.exists() && !file.is_file() => {
                        let file = file.display();
                        return Err(
                            invalid(format!("'ssl-ca' is {file}, which is not a regular file")).into()
                        );
                    }
                    Some(file) => vec![file.into()],
                    None => {
                        let found = rustls_native_certs::load_native_certs().certs.into_iter();
                        found.map(|certificate| certificate.to_vec().into()).collect()
                    }
                };
                Some(SslOpts::default().with_disable_built_in_roots(true).with_root_certs(roots))
            }
            _ => return Err(invalid(format!("'{mode}' is no value of ssl-mode")).into()),
        };
        let hosts = hosts.into_iter().map(|host| host.ssl_opts(ssl.clone()).into());
        Ok(Self { hosts: Hosts::new(hosts, kind == "preferred"), name })
    }
}

/// Returns a URL for each host of a URL: `mysql://user@a,b:3307/db`.
fn urls_of_hosts(url: &str) -> Vec<String> {
    let Some((scheme, rest)) = url.split_once("://") else { return vec![url.to_owned()] };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    // The password may contain commas.
    let start = authority.rfind('@').map_or(0, |at| at + 1);
    let (account, hosts) = authority.split_at(start);
    hosts.split(',').map(|host| format!("{scheme}://{account}{host}{path}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_of_encryption_are_those_of_the_programs_of_the_database() {
        let ssl = |url: &str| {
            let parsed = ConnectUrl::parse(url).unwrap();
            let ssl = parsed.hosts.first().ssl_opts();
            (
                ssl.map(|ssl| (ssl.accept_invalid_certs(), ssl.skip_domain_validation())),
                parsed.hosts.is_plain_allowed,
            )
        };
        assert_eq!(ssl("mysql://db/x"), (Some((true, true)), true));
        assert_eq!(ssl("mysql://db/x?ssl-mode=REQUIRED"), (Some((true, true)), false));
        assert_eq!(ssl("mariadb://db/x?ssl-mode=verify_ca&ssl-ca=%2Fca.pem"), (Some((false, false)), false));
        assert_eq!(
            ssl("mysql://db/x?ssl-mode=verify-identity&ssl-ca=/ca.pem"),
            (Some((false, false)), false)
        );
        assert_eq!(ssl("mysql://db/x?ssl-mode=disabled"), (None, false));
        assert_eq!(ssl("mysql://db/x?socket=/run/db.sock"), (None, false));
    }

    #[test]
    fn a_url_names_several_hosts() {
        let urls = urls_of_hosts("mysql://ada:a,b@n1:3307,n2,[::1]:3308/x");
        let expected = ["n1:3307", "n2", "[::1]:3308"].map(|host| format!("mysql://ada:a,b@{host}/x"));
        assert_eq!(urls, expected);
        assert_eq!(ConnectUrl::parse("mysql://ada:a,b@n1,n2/x").unwrap().name, "mysql://ada@n1,n2/x");
        for url in ["mysql://ada@n1,/x", "mysql://ada@,n1/x", "mysql://ada@n1,n2/x?socket=/run/db.sock"] {
            assert!(ConnectUrl::parse(url).is_err(), "{url}");
        }
    }

    #[test]
    fn errors_of_urls_contain_no_password() {
        for url in [
            "mysql://ada:secret@db/x?ssl-mode=maybe",
            "mysql://ada:secret@db/x?y=1",
            "mysql://ada:secret@db/",
        ] {
            let error = ConnectUrl::parse(url).err().unwrap().to_string();
            assert!(error.contains("mysql://ada@db/") && !error.contains("secret"), "{error}");
        }
    }
}
