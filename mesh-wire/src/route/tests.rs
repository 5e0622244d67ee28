//! Tests of routing, and of the errors of refused paths and methods.

use super::*;
use crate::ErrorKind;

/// Summarizes the route of a request, or the status and `Allow` header of its refusal.
fn route(base: &str, method: &str, path: &str) -> String {
    route_with(&Profiles::default(), base, method, path)
}

/// Like [`route`], on a server with the given profiles.
fn route_with(profiles: &Profiles, base: &str, method: &str, path: &str) -> String {
    let base = BasePath::parse(base).unwrap();
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    // Ids are decoded later.
    let shown = |id: &str| percent::decode(id).unwrap().into_owned();
    match Route::parse(&base, profiles, &method, path) {
        Ok(Route::Collection { entity }) => format!("list {entity}"),
        Ok(Route::Point { entity, id }) => format!("one {entity} {}", shown(id)),
        Ok(Route::Post) => "post".to_owned(),
        Ok(Route::Options { allow }) => format!("options {allow}"),
        Ok(Route::Register) => "register".to_owned(),
        Ok(Route::Batch) => "batch".to_owned(),
        Ok(Route::Login) => "login".to_owned(),
        Ok(Route::Logout) => "logout".to_owned(),
        Ok(Route::Events { entity, id }) => format!("events of {entity} {}", shown(id)),
        Ok(Route::File { key }) => format!("file {key}"),
        Ok(Route::Create { entity }) => format!("create {entity}"),
        Ok(Route::Update { entity, id }) => format!("update {entity} {}", shown(id)),
        Ok(Route::Delete { entity, id }) => format!("delete {entity} {}", shown(id)),
        Ok(Route::Attach { entity, id, member }) => format!("attach {member} to {entity} {}", shown(id)),
        Ok(Route::Connect { entity, id, relation }) => {
            format!("connect {relation} of {entity} {}", shown(id))
        }
        Ok(Route::Disconnect { entity, id, relation }) => {
            format!("disconnect {relation} of {entity} {}", shown(id))
        }
        Ok(Route::Remove { entity, id, relation, child }) => {
            format!("remove {} from {relation} of {entity} {}", shown(child), shown(id))
        }
        Err(error) => match error.allow {
            Some(allow) => format!("{} {allow}", error.status.as_u16()),
            None => format!("{} {}", error.status.as_u16(), error.kind.as_str()),
        },
    }
}

#[test]
fn a_trailing_slash_is_ignored_once() {
    assert_eq!(route("/mesh", "POST", "/mesh/"), "post");
    assert_eq!(route("/mesh", "GET", "/mesh/user/"), "list user");
    assert_eq!(route("/mesh", "GET", "/mesh/user/1/"), "one user 1");
    for path in ["/mesh//", "/mesh/user//", "/mesh//user", "//mesh/user", "/mesh/user//1"] {
        assert_eq!(route("/mesh", "GET", path), "404 NotFound", "{path}");
    }
}

#[test]
fn any_base_path_works() {
    assert_eq!(route("/a/b", "GET", "/a/b/user/1"), "one user 1");
    assert_eq!(route("/a/b/", "POST", "/a/b"), "post");
    assert_eq!(route("", "GET", "/user/1"), "one user 1");
    assert_eq!(route("/", "POST", "/"), "post");
    assert_eq!(route("", "GET", "//"), "404 NotFound");
    for path in ["/", "", "*", "/a", "/a/bc/user", "/x/b/user", "/A/b/user"] {
        assert_eq!(route("/a/b", "GET", path), "404 NotFound", "{path}");
    }
}

fn all_profiles() -> Profiles {
    let files = Cow::Borrowed("files");
    Profiles { integrity: true, persisted: true, uploads: true, events: true, mutations: true, files }
}

#[test]
fn uploads_alone_add_only_posts_and_files() {
    let uploads = Profiles { uploads: true, files: Cow::Borrowed("media"), ..Profiles::default() };
    let on = |method, path| route_with(&uploads, "/mesh", method, path);
    assert_eq!(on("POST", "/mesh/user/1/avatar"), "attach avatar to user 1");
    assert_eq!(on("PUT", "/mesh/user/1/avatar"), "405 POST, OPTIONS");
    assert_eq!(on("PUT", "/mesh/user/1"), "one user 1");
    assert_eq!(on("GET", "/mesh/media/sha256/ab/cd"), "file sha256/ab/cd");
    assert_eq!(on("GET", "/mesh/files/sha256/ab/cd"), "404 NotFound");
}

#[test]
fn allowed_methods_have_routes() {
    let paths = [
        "",
        "queries",
        "auth",
        "logout",
        "batch",
        "files/sha256/ab/cd",
        "a",
        "a/b",
        "a/b/events",
        "a/b/c",
        "a/b/c/d",
    ];
    for profiles in [Profiles::default(), all_profiles()] {
        for path in paths.map(|path| format!("/mesh/{path}")) {
            let allow =
                Route::methods(&BasePath::default(), &profiles, &path).unwrap_or(AllowedMethods::empty());
            for (method, _) in allow.iter_names() {
                let method = Method::from_bytes(method.as_bytes()).unwrap();
                let route = Route::parse(&BasePath::default(), &profiles, &method, &path);
                assert!(route.is_ok(), "{method} {path}: {route:?}");
            }
        }
    }
}

#[test]
fn reserved_keys_are_not_entities() {
    for path in [
        "write",
        "files",
        "write/1",
        "batch/1",
        "files/1",
        "queries/1",
        "auth/1",
        "logout/1/x",
        "files/a/b/c",
    ] {
        assert_eq!(route("/mesh", "GET", &format!("/mesh/{path}")), "404 NotFound", "{path}");
    }
    assert_eq!(route("/mesh", "GET", "/mesh/queriesx"), "list queriesx");
}

#[test]
fn longer_paths_are_unknown() {
    assert_eq!(route("/mesh", "GET", "/mesh/a/b/c/d/e"), "404 NotFound");
    assert_eq!(route("/mesh", "GET", &"/a".repeat(10_000)), "404 NotFound");
    assert_eq!(route("", "GET", &"/".repeat(10_000)), "404 NotFound");
}

#[test]
fn base_paths_are_validated() {
    assert_eq!(BasePath::parse("/mesh/").unwrap(), BasePath::default());
    assert_eq!(BasePath::parse("/").unwrap().as_str(), "");
    assert_eq!(BasePath::parse("mesh"), Err(BasePathError::NoSlash));
    assert_eq!(BasePath::parse("/a//b"), Err(BasePathError::EmptySegment));
    assert_eq!(BasePath::parse("//"), Err(BasePathError::EmptySegment));
    assert_eq!(BasePath::parse("/a/.."), Err(BasePathError::DotSegment("..".to_owned())));
    for (text, character) in [("/a b", ' '), ("/a?b", '?'), ("/a%20", '%'), ("/é", 'é'), ("/a\n", '\n')] {
        assert_eq!(BasePath::parse(text), Err(BasePathError::Character(character)));
    }
}

proptest::proptest! {
    #[test]
    fn no_path_panics(path in "[/%.a-f0-9é]{0,24}", method in "GET|PUT|POST|DELETE|OPTIONS") {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        for base in ["", "/a", "/a/b"] {
            if let Err(error) = Route::parse(&BasePath::parse(base).unwrap(), &all_profiles(), &method, &path) {
                let known = [ErrorKind::Transport, ErrorKind::NotFound, ErrorKind::MethodNotAllowed];
                proptest::prop_assert!(known.contains(&error.kind));
                proptest::prop_assert_eq!(error.allow.is_some(), error.kind == ErrorKind::MethodNotAllowed);
            }
        }
    }
}
