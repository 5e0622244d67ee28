//! TLS: protocol negotiation, reloaded certificates, handshake timeouts and configuration errors.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use http::Version;
use mesh_server::{Server, Timeouts, Tls};
use mesh_tests::PATIENCE;
use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion, version};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::served::{ANSWER, Served, app, ask, text, within};

const SECOND: Duration = Duration::from_secs(1);

static ONLY_1_3: &[&SupportedProtocolVersion] = &[&version::TLS13];
static ONLY_1_2: &[&SupportedProtocolVersion] = &[&version::TLS12];

/// A folder with a certificate and its key, removed on drop.
struct Files {
    folder: PathBuf,
}

impl Files {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("mesh-tls-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let files = Self { folder };
        files.renew();
        files
    }

    /// Writes a new pair and returns its certificate.
    fn renew(&self) -> CertificateDer<'static> {
        let CertifiedKey { cert, signing_key } = pair();
        std::fs::write(self.certificate(), cert.pem()).unwrap();
        std::fs::write(self.key(), signing_key.serialize_pem()).unwrap();
        cert.der().clone()
    }

    fn certificate(&self) -> PathBuf {
        self.folder.join("cert.pem")
    }

    fn key(&self) -> PathBuf {
        self.folder.join("key.pem")
    }

    fn open(&self) -> Tls {
        let mut tls = Tls::open(self.certificate(), self.key()).unwrap();
        tls.check_interval = Duration::from_millis(20);
        tls
    }

    fn trusted(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_file(self.certificate()).unwrap()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn pair() -> CertifiedKey<KeyPair> {
    generate_simple_self_signed(["localhost".to_owned()]).unwrap()
}

/// A client that trusts one certificate.
struct Client {
    trusted: CertificateDer<'static>,
    versions: &'static [&'static SupportedProtocolVersion],
    protocols: Vec<Vec<u8>>,
}

impl Client {
    fn new(trusted: CertificateDer<'static>) -> Self {
        Self { trusted, versions: ONLY_1_3, protocols: vec![b"h2".to_vec(), b"http/1.1".to_vec()] }
    }

    async fn connect(&self, served: &Served) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.trusted.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(self.versions);
        let mut config = builder.unwrap().with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols.clone_from(&self.protocols);
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, served.connect().await).await
    }
}

#[tokio::test]
async fn version_and_protocol_are_negotiated() {
    let files = Files::new();
    let served = Served::start(Server { tls: Some(files.open()), ..Server::new(app()) }).await;
    let cases: [(&[&str], Option<&str>, Version); 4] = [
        (&["h2", "http/1.1"], Some("h2"), Version::HTTP_2),
        (&["http/1.1", "h2"], Some("h2"), Version::HTTP_2),
        (&["http/1.1"], Some("http/1.1"), Version::HTTP_11),
        (&[], None, Version::HTTP_11),
    ];
    let versions: [&'static [&'static SupportedProtocolVersion]; 2] = [ONLY_1_3, ONLY_1_2];
    for versions in versions {
        for (offered, chosen, spoken) in cases {
            let protocols = offered.iter().map(|name| name.as_bytes().to_vec()).collect();
            let client = Client { versions, protocols, ..Client::new(files.trusted()) };
            let stream = client.connect(&served).await.unwrap();
            assert_eq!(stream.get_ref().1.alpn_protocol(), chosen.map(str::as_bytes));
            assert_eq!(stream.get_ref().1.protocol_version(), Some(versions[0].version));
            assert_eq!(ask(stream, spoken, "quick").await, (200, ANSWER.to_owned()));
        }
    }
    let strange = Client { protocols: vec![b"spdy/3".to_vec()], ..Client::new(files.trusted()) };
    assert!(strange.connect(&served).await.is_err(), "no common protocol");
}

#[tokio::test]
async fn a_new_pair_is_loaded_and_an_invalid_one_is_not() {
    let files = Files::new();
    let served = Served::start(Server { tls: Some(files.open()), ..Server::new(app()) }).await;
    let before = Client::new(files.trusted());
    // An open connection is not affected by a new certificate.
    let mut open =
        Client { protocols: vec![], ..Client::new(files.trusted()) }.connect(&served).await.unwrap();

    let after = Client::new(files.renew());
    within(PATIENCE, async {
        while after.connect(&served).await.is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert!(before.connect(&served).await.is_err(), "the previous certificate is not used");
    open.write_all(text("quick").as_bytes()).await.unwrap();
    assert!(reply(&mut open).await.ends_with(ANSWER));

    let stranger = pair().signing_key.serialize_pem();
    let broken: [(&Path, String); 4] = [
        (&files.key(), stranger),
        (&files.certificate(), String::new()),
        (&files.certificate(), "-----BEGIN CERTIFICATE-----\n????\n-----END CERTIFICATE-----\n".to_owned()),
        (&files.key(), "-----BEGIN".to_owned()),
    ];
    for (path, text) in broken {
        std::fs::write(path, text).unwrap();
        tokio::time::sleep(Duration::from_millis(60)).await;
        let stream = after.connect(&served).await.expect("the last valid pair remains in use");
        assert_eq!(ask(stream, Version::HTTP_2, "quick").await.0, 200);
    }
    std::fs::remove_file(files.key()).unwrap();
    tokio::time::sleep(Duration::from_millis(60)).await;
    assert!(after.connect(&served).await.is_ok(), "a missing file does not end the service");

    let repaired = Client::new(files.renew());
    within(PATIENCE, async {
        while repaired.connect(&served).await.is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn plain_http_is_refused_with_a_hint() {
    let files = Files::new();
    let served = Served::start(Server { tls: Some(files.open()), ..Server::new(app()) }).await;
    let mut stream = served.connect().await;
    stream.write_all(text("quick").as_bytes()).await.unwrap();
    let reply = reply(&mut stream).await;
    assert!(reply.starts_with("HTTP/1.1 400 "), "{reply}");
    assert!(reply.contains(r#""error":"TransportError""#) && reply.contains("https://"), "{reply}");
    let (status, body) = ask(served.connect().await, Version::HTTP_2, "quick").await;
    assert!(status == 400 && body.contains("https://"), "{status} {body}");
}

#[tokio::test]
async fn an_incomplete_handshake_times_out() {
    let files = Files::new();
    let handshake = 2 * SECOND;
    let server = Server { tls: Some(files.open()), max_connections: 3, ..Server::new(app()) };
    let mut served =
        Served::start(Server { timeouts: Timeouts { handshake, ..Timeouts::default() }, ..server }).await;
    // As many connections as may be open, so that others are served only after these time out.
    for begun in [&b""[..], b"\x16", b"\x16\x03\x01\x00\xff\x01\x00"] {
        let mut stream = served.connect().await;
        stream.write_all(begun).await.unwrap();
        tokio::spawn(async move { stream.read_to_end(&mut Vec::new()).await });
    }
    let stream = within(PATIENCE, Client::new(files.trusted()).connect(&served)).await.unwrap();
    assert_eq!(ask(stream, Version::HTTP_2, "quick").await.0, 200);

    for nonsense in [&b"\x00\x01\x02"[..], &[0xff; 4000], b"\x16\x03\x01\x00\x05hello", b"ssh-2.0\r\n"] {
        let mut stream = served.connect().await;
        stream.write_all(nonsense).await.unwrap();
        let mut alert = Vec::new();
        let _ = within(PATIENCE, stream.read_to_end(&mut alert)).await;
        assert!(alert.len() < 100, "{alert:?}");
    }
    assert!(Client::new(files.trusted()).connect(&served).await.is_ok());

    // An incomplete handshake does not delay a shutdown.
    let _silent = served.connect().await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    served.stop();
    within(5 * SECOND, served.ended()).await;
}

#[test]
fn errors_name_the_file_and_the_reason() {
    let files = Files::new();
    let why = || Tls::open(files.certificate(), files.key()).unwrap_err().to_string();
    let good = std::fs::read(files.key()).unwrap();
    std::fs::write(files.key(), pair().signing_key.serialize_pem()).unwrap();
    assert!(why().contains("does not belong to the certificate in"), "{}", why());
    std::fs::write(files.key(), "").unwrap();
    assert!(why().ends_with("contains no private key"), "{}", why());
    std::fs::remove_file(files.key()).unwrap();
    assert!(why().starts_with("cannot read"), "{}", why());
    std::fs::write(files.key(), good).unwrap();
    std::fs::write(files.certificate(), "nothing").unwrap();
    assert!(why().ends_with("contains no certificate"), "{}", why());
    std::fs::write(files.certificate(), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        .unwrap();
    assert!(why().starts_with("cannot use the certificate in"), "{}", why());
}

/// Reads one reply.
async fn reply<S: tokio::io::AsyncRead + Unpin>(stream: &mut S) -> String {
    let mut reply = Vec::new();
    let mut block = [0; 1024];
    loop {
        let length = within(PATIENCE, stream.read(&mut block)).await.unwrap();
        reply.extend_from_slice(&block[..length]);
        let text = String::from_utf8_lossy(&reply);
        if length == 0 || text.ends_with('}') {
            return text.into_owned();
        }
    }
}
