//! A rule against comparisons of secrets with `==` and similar operators in mesh-integrity. They stop at the first byte that
//! differs, so their duration leaks how much of a guess was right. `ring` compares MACs in constant time.
//!
//! Timing tests are unreliable; this rule on the source text is not.

/// The directory that handles secrets and MACs.
const HOME: &str = "mesh-integrity/src/";

/// Comparisons that may stop early.
const COMPARISONS: [&str; 8] =
    [" == ", " != ", ".eq(", ".ne(", ".cmp(", ".starts_with(", ".ends_with(", ".contains("];

/// Words in names of secret values.
const SECRETS: [&str; 7] = ["tag", "mac", "signature", "signing", "secret", "digest", "password"];

/// Returns the lines of a file that compare a secret.
pub(super) fn faults(path: &str, text: &str) -> Vec<String> {
    let is_test = path.ends_with("/tests.rs") || path.contains("/tests/");
    if !path.starts_with(HOME) || is_test {
        return Vec::new();
    }
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().enumerate().filter(|(_, line)| compares_a_secret(line));
    let fault = |(index, line): (usize, &str)| {
        let line = line.trim();
        format!("line {} compares a secret and may stop early; let `ring` do it: `{line}`", index + 1)
    };
    lines.map(fault).collect()
}

fn compares_a_secret(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default().to_lowercase();
    let words = || code.split(|c: char| !c.is_alphanumeric());
    COMPARISONS.iter().any(|comparison| code.contains(comparison))
        && words().any(|word| SECRETS.contains(&word.strip_suffix('s').unwrap_or(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_of_secrets_are_refused() {
        for wrong in [
            "if tag == sent {",
            "    signature.as_bytes() != expected",
            "let right = known_tag.eq(&sent);",
            "self.secret.starts_with(bytes)",
            "tags.iter().any(|tag| tag == sent)",
            "Some(mac) if mac.contains(&byte) => {}",
        ] {
            assert_eq!(faults("mesh-integrity/src/a.rs", wrong).len(), 1, "{wrong}");
        }
        for fine in [
            "hmac::verify(key, message, tag).is_ok()",
            "stage == 3",
            "// a tag == another",
            "let tag = hmac::sign(&self.0, message);",
            "#[cfg(test)]\nassert!(tag == other);",
        ] {
            assert_eq!(faults("mesh-integrity/src/a.rs", fine), [""; 0], "{fine}");
        }
        assert!(faults("mesh-integrity/src/gate/tests.rs", "tag == sent").is_empty());
        assert!(faults("mesh-plan/src/plan/cursor.rs", "tag == sent").is_empty());
    }
}
