//! Every route refuses unsigned requests.

use mesh_server::mesh_plan::persisted::{Persisted, Registration};
use mesh_server::mesh_uploads::FileStore;
use mesh_server::mesh_wire::{BasePath, Profiles, Route};
use mesh_server::{AppBuilder, Events};

use super::site::*;

pub(crate) struct Folder(std::path::PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn everything() -> (Site, Folder) {
    with_everything(signed_app(gate()))
}

/// Returns a server with all optional routes.
pub(crate) fn with_everything(mut app: AppBuilder) -> (Site, Folder) {
    let path = std::env::temp_dir().join(format!("mesh-integrity-{}", std::process::id()));
    let folder = Folder(path.clone());
    let store = FileStore::open(&path).unwrap();
    app.options.persisted = Some(Persisted::new(Registration::Signed).into());
    app.options.mutations = true;
    app.options.events = Some(Events::default());
    app.options.uploads = Some(mesh_server::Uploads::new(store));
    (Site::from(app), folder)
}

pub(crate) fn profiles() -> Profiles {
    Profiles {
        integrity: true,
        persisted: true,
        uploads: true,
        events: true,
        mutations: true,
        files: "files".into(),
    }
}

/// One path of each kind, except those of login and logout.
pub(crate) fn paths() -> [String; 9] {
    let file = format!("/files/sha256/ab/{}", "c".repeat(62));
    let below = [
        "",
        "/queries",
        "/batch",
        &file,
        "/post",
        "/post/1",
        "/post/1/events",
        "/post/1/tags",
        "/post/1/tags/1",
    ];
    below.map(|path| format!("/mesh{path}"))
}

/// Attack without a session: a request without a signature on each route.
#[tokio::test]
async fn every_route_refuses_unsigned_requests() {
    let (site, _folder) = everything();
    let login = site.login().await;
    let mut count = 0;
    for plain in paths() {
        let allow = Route::methods(&BasePath::default(), &profiles(), &plain).unwrap();
        for (method, _) in allow.iter_names() {
            for kind in ["application/json", "multipart/form-data; boundary=x", ""] {
                for path in [plain.clone(), format!("{plain}/"), plain.replace('o', "%6f")] {
                    count += 1;
                    let mut ask = Ask::new(method, &path);
                    if method != "GET" && method != "HEAD" && !kind.is_empty() {
                        ask.body = b"{}".to_vec();
                        ask = ask.header("Content-Type", kind);
                    }
                    let case = format!("{method} {path} {kind}");
                    let query = ask.header("X-Mesh-Query", "e30=");
                    let with_token = Ask {
                        headers: query.headers.clone(),
                        path: query.path.clone(),
                        body: query.body.clone(),
                        ..query
                    };
                    let reply = site.send(query).await;
                    assert_eq!(reply.status, 401, "{case}: {}", reply.text);
                    let reply = site.send(with_token.header("X-Mesh-Token", &login.token)).await;
                    assert_eq!(reply.status, 401, "{case}: {}", reply.text);
                    if method != "HEAD" {
                        assert_eq!(reply.why().1, "SIGNATURE_MISSING", "{case}");
                    }
                }
            }
        }
    }
    assert!(count > 100, "only {count} requests");
}

#[tokio::test]
async fn without_integrity_there_are_no_logins() {
    let site = Site::from(mesh_server::App::builder(mesh()));
    for path in ["/mesh/auth", "/mesh/logout"] {
        let reply = site.send(Ask::post(path, &credentials("pw"))).await;
        assert_eq!(reply.why(), (405, "MethodNotAllowed".to_owned()));
        assert_eq!(reply.headers["allow"], "OPTIONS");
    }
}
