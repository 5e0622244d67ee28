//! Settings of bearers.

use super::*;

#[test]
fn settings_of_bearers_have_to_fit_together() {
    check(
        "[bearer]\njwks = 'http://login.example.com/keys'\nleeway = '2h'\nrefresh = '0s'\nid = ''\n",
        expect![[r#"
            mesh.toml:2: 'bearer.jwks' must be 'https://…', 'file:…', or 'http://…' with a loopback address, not 'http://login.example.com/keys'
            mesh.toml:3: 'bearer.leeway' must be a time with its unit, such as '500ms', '10s' or '15m', from 0ms to 1h, not '2h'
            mesh.toml:4: 'bearer.refresh' must be a time with its unit, such as '500ms', '10s' or '15m', from 1s to 720h, not '0s'
            mesh.toml:5: 'bearer.id' must not be empty
        "#]],
    );
    check(
        "[bearer]\njwks = 'file:keys.json'\nsecret = 'x'\nsecret_file = 'y'\n",
        expect![[r#"
            mesh.toml:2: 'bearer.jwks' and 'bearer.secret' are mutually exclusive; set only one of them
            mesh.toml:2: 'bearer.jwks' and 'bearer.secret_file' are mutually exclusive; set only one of them
            mesh.toml:3: 'bearer.secret' and 'bearer.secret_file' are mutually exclusive; set only one of them
        "#]],
    );
    check(
        "[bearer]\nissuer = 'https://login.example.com/'\naudience = ['api']\nanonymous = 'guest'\n",
        expect![[r#"
            mesh.toml:2: 'bearer.issuer' requires 'bearer.jwks' or 'bearer.secret'
            mesh.toml:3: 'bearer.audience' requires 'bearer.jwks' or 'bearer.secret'
            mesh.toml:4: 'bearer.anonymous' requires 'integrity.enabled', 'bearer.jwks', 'bearer.secret' or 'api_keys.table'
        "#]],
    );
    check(
        "[integrity]\nenabled = true\nusers.table = ''\n",
        expect![[r#"
            mesh.toml:3: 'integrity.users.table' must not be empty without 'bearer.jwks', 'bearer.secret' or 'api_keys.table': no session could begin
        "#]],
    );
    let config = config("bearer.secret = 'x'\n");
    assert_eq!(config.registration(), Registration::Signed);
    assert_eq!(config.hosts(), AllowedHosts::Any, "a foreign page has no bearer");
}
