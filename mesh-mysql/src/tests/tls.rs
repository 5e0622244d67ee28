//! Encrypted connections.

use mesh_tests::{FaultyProxy, MariaDb, TempDir};
use rcgen::{CertifiedKey, generate_simple_self_signed};

use crate::{Database, Settings};

/// Returns the cipher of a new connection, or the error.
async fn cipher(url: &str) -> Result<String, String> {
    let database = Database::connect(url, &Settings::default()).await.map_err(|error| error.to_string())?;
    let mut connection = database.pool.take(false).await.unwrap();
    let rows = connection.query("SHOW STATUS LIKE 'Ssl_cipher'", &[]).await.unwrap();
    Ok(crate::cells::text(&rows[0], 1))
}

/// Returns a URL with parameters for a server behind a proxy.
fn url(host: &str, proxy: &FaultyProxy, parameters: &str) -> String {
    format!("mysql://root@{host}:{}/mesh?{parameters}", proxy.address().port())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_encrypted_and_servers_verified_as_the_url_says() {
    let folder = TempDir::new();
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (cert, key) =
        (folder.write("server.pem", &cert.pem()), folder.write("key.pem", &signing_key.serialize_pem()));
    let other = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let other = folder.write("other.pem", &other.cert.pem());
    let options = [format!("--ssl-cert={cert}"), format!("--ssl-key={key}")];
    let Some(server) = MariaDb::start_with(&options.each_ref().map(String::as_str)) else { return };
    let proxy = FaultyProxy::start(&server.socket());
    for parameters in
        ["".to_owned(), "ssl-mode=required".to_owned(), format!("ssl-mode=verify-identity&ssl-ca={cert}")]
    {
        let cipher = cipher(&url("localhost", &proxy, &parameters)).await;
        assert!(cipher.as_ref().is_ok_and(|cipher| !cipher.is_empty()), "{parameters}: {cipher:?}");
    }
    assert_eq!(cipher(&url("localhost", &proxy, "ssl-mode=disabled")).await.as_deref(), Ok(""));
    // The certificate is for another name, or from another authority.
    let verified = format!("ssl-mode=verify-identity&ssl-ca={cert}");
    assert!(cipher(&url("127.0.0.1", &proxy, &verified)).await.is_err());
    assert!(cipher(&url("localhost", &proxy, &format!("ssl-mode=verify-ca&ssl-ca={other}"))).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_encryption_is_accepted_only_if_it_is_not_required() {
    let Some(server) = MariaDb::start() else { return };
    let proxy = FaultyProxy::start(&server.socket());
    assert_eq!(cipher(&url("localhost", &proxy, "")).await.as_deref(), Ok(""));
    let refused = cipher(&url("localhost", &proxy, "ssl-mode=required")).await;
    assert!(refused.is_err_and(|error| error.contains("SSL")));
}
