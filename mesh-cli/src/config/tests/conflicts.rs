//! Settings that do not fit together.

use mesh_plan::persisted::Registration;
use mesh_wire::request::AllowedHosts;

use super::{config, lines, load};

/// Returns the faults of a file as text.
fn faults(settings: &str) -> String {
    load(&[], &[], settings).config.map_or_else(|faults| lines(&faults), |_| String::new())
}

#[test]
fn answers_to_identified_callers_are_never_public() {
    for caching in [
        "caching.control = 'public, max-age=60'",
        "caching.control = 's-maxage=60'",
        "[caching.entities]\nuser = 'no-store'\npost = 'public'",
    ] {
        let file = format!("integrity.enabled = true\nintegrity.secret = 'x'\n{caching}\n");
        let found = faults(&file);
        assert!(
            found.contains("answers to identified callers are private") && found.lines().count() == 1,
            "{found}"
        );
        config(&file.replace("enabled = true", "enabled = false"));
        let file = format!("bearer.jwks = 'file:x'\n{caching}\n");
        let found = faults(&file);
        assert!(found.contains("remove that, or 'bearer.jwks'") && found.lines().count() == 1, "{found}");
    }
    config("integrity.enabled = true\nintegrity.secret = 'x'\ncaching.control = 'max-age=60'\n");
}

#[test]
fn api_keys_identify_callers() {
    let keys = "api_keys.table = 'keys'\n";
    assert_eq!(config("").hosts(), AllowedHosts::Loopback);
    assert_eq!(config(keys).hosts(), AllowedHosts::Any, "a foreign page has no key");
    assert_eq!(
        (config("").registration(), config(keys).registration()),
        (Registration::Open, Registration::Signed)
    );
    let found = faults(&format!("{keys}caching.control = 'public'\n"));
    assert!(found.contains("answers to identified callers are private"), "{found}");
}

#[test]
fn views_as_another_role_need_administrators_and_an_audit_log() {
    let faults = |more: &str| faults(&format!("docs.view_as = ['editor']\n{more}"));
    let all = faults("");
    assert!(
        all.contains("'docs.view_as' requires 'integrity.enabled'") && all.contains("requires 'audit.store'"),
        "{all}"
    );
    assert!(faults("audit.store = 'file:audit.log'\n").contains("otherwise there would be no administrator"));
    assert!(faults("api_keys.table = 'keys'\n").contains("each use is recorded"));
    assert_eq!(faults("api_keys.table = 'keys'\naudit.store = 'file:audit.log'\n"), "");
}

#[test]
fn the_playground_hides_neither_the_data_nor_the_tools_for_agents() {
    assert!(faults("docs.path = '/mesh'\n").contains("'docs.path' must not be the base path '/mesh'"));
    assert!(faults("docs.path = '/api'\nbase = '/api/v1'\n").contains("or a path above it"));
    let tools = "docs.path = '/mesh/mcp'\nmcp.enabled = true\n";
    assert!(faults(tools).contains("must not be '/mesh/mcp', which is the path of the tools for agents"));
    assert!(faults("docs.path = '/metrics'\n").contains("'docs.path' is the path of an admin page"));
    assert_eq!(faults("docs.path = '/metrics'\nadmin.listen = '127.0.0.1:9100'\n"), "");
    for fitting in
        ["docs.path = '/mesh/mcp'\n", "docs.path = '/mesh/docs'\nmcp.enabled = true\n", "docs.path = '/me'\n"]
    {
        assert_eq!(faults(fitting), "");
    }
}

#[test]
fn a_secret_without_integrity_is_a_warning() {
    let loaded = load(&[], &[], "[integrity]\nsecret_file = 'mesh.secret'\n");
    assert!(lines(&loaded.warnings).starts_with("mesh.toml:2: 'integrity.secret_file' has no effect"));
    assert!(loaded.config.is_ok());
    assert_eq!(load(&[], &[], "[integrity]\nenabled = true\nsecret_file = 'mesh.secret'\n").warnings, []);
}

#[test]
fn settings_without_effect_are_faults() {
    let only = "persisted.only = true\n";
    assert!(
        faults(&format!("{only}persisted.enabled = false\n"))
            .contains("'persisted.only' requires 'persisted.enabled'")
    );
    assert_eq!(faults(only), "");
    let docs = "docs.enabled = true\ndocs.auth = 'admin'\n";
    assert!(faults(docs).contains("'docs.auth' requires 'integrity.enabled'"));
    assert_eq!(faults(&format!("{docs}api_keys.table = 'keys'\n")), "");
    let types = |types: &str| faults(&format!("uploads.content_types = {types}\n"));
    for wrong in ["['image']", "['image/']", "['/png']", "['text/plain', 'png']"] {
        assert!(types(wrong).contains("content types such as"), "{wrong}");
    }
    assert_eq!(types("['image/*', 'text/plain']"), "");
}
