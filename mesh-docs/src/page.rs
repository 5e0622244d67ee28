//! The HTML of the page. It contains no data; the page requests data after it has loaded.

use crate::assets::{Asset, ICON, SCRIPT, SHARED, STYLE};
use crate::{Options, Sql};

/// The content security policy. It permits files and replies of this server only, and nothing inline.
pub(crate) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Returns the page for these options. It shows its title until its script has loaded.
pub(crate) fn html(options: &Options) -> String {
    let asset = |asset: &Asset| format!("{}/assets/{}", escape(&options.path), asset.path());
    let title = options.title.as_deref().unwrap_or("Mesh");
    format!(
        r#"<!doctype html>
<html lang="en" data-theme="{theme}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="mesh-docs" content="{path}">
<meta name="mesh-base" content="{base}">
<meta name="mesh-offers" content="{offers}">
<meta name="mesh-sql" content="{sql}">
<meta name="mesh-title" content="{title}">
<title>{title} · Playground</title>
<link rel="icon" href="{icon}" type="image/svg+xml">
<link rel="stylesheet" href="{style}">
<link rel="modulepreload" href="{shared}">
<script type="module" src="{script}"></script>
</head>
<body>
<div id="app">
<header class="top row"><p class="title">{title}</p></header>
<main class="hint pad">Loading the playground…</main>
</div>
<noscript>The playground needs JavaScript: allow scripts for this page.</noscript>
</body>
</html>
"#,
        theme = options.theme,
        path = escape(&options.path),
        base = escape(&options.offers.base),
        offers = options.offers.profile_list(),
        sql = Sql::name(options.sql),
        title = escape(title),
        icon = asset(&ICON),
        style = asset(&STYLE),
        shared = asset(&SHARED),
        script = asset(&SCRIPT),
    )
}

/// Escapes text for element content and quoted attributes.
fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}
