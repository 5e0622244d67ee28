//! Evaluation of the templates and functions in cases.
//!
//! `${name}` in a text is a value that a step has bound or captured, `${name.member.0}` a part of it, and
//! `${choice.name}` a choice of the target's profile. A text that consists of one template becomes the value itself,
//! of any type. An object whose only key is `@` followed by the name of a function calls the function.

use serde_json::{Map, Number, Value};

use crate::encoding::{self, jwt};
use crate::failure::Failure;
use crate::profile::Profile;

/// How long tokens of the issuer are valid unless a case says otherwise, in seconds.
const LIFETIME: i64 = 600;

/// The names that a case can refer to.
#[derive(Debug)]
pub struct Scope<'p> {
    /// The values that were bound and captured so far.
    pub values: Map<String, Value>,
    /// The profile with the choices.
    pub profile: &'p Profile,
}

impl<'p> Scope<'p> {
    /// Creates a scope with the choices of a target only.
    #[must_use]
    pub fn new(profile: &'p Profile) -> Self {
        Self { values: Map::new(), profile }
    }

    /// Fills in templates and calls functions.
    pub fn eval(&self, value: &Value) -> Result<Value, Failure> {
        match value {
            Value::Object(members) => match call(members) {
                Some((name, argument)) => self.call(name, argument),
                None => self.members(members),
            },
            other => self.fill_one(other),
        }
    }

    /// Fills in templates; objects with `@` are matchers and stay as they are.
    pub fn fill(&self, value: &Value) -> Result<Value, Failure> {
        match value {
            Value::Object(members) => {
                let filled = members.iter().map(|(key, member)| Ok((self.key(key)?, self.fill(member)?)));
                Ok(Value::Object(filled.collect::<Result<_, Failure>>()?))
            }
            Value::Array(items) => {
                Ok(Value::Array(items.iter().map(|item| self.fill(item)).collect::<Result<_, Failure>>()?))
            }
            other => self.fill_one(other),
        }
    }

    /// Evaluates a value to text: a string as it is, anything else as compact JSON.
    pub fn text(&self, value: &Value) -> Result<String, Failure> {
        Ok(plain(&self.eval(value)?))
    }

    fn members(&self, members: &Map<String, Value>) -> Result<Value, Failure> {
        let members = members.iter().map(|(key, member)| Ok((self.key(key)?, self.eval(member)?)));
        Ok(Value::Object(members.collect::<Result<_, Failure>>()?))
    }

    fn key(&self, key: &str) -> Result<String, Failure> {
        Ok(if key.contains("${") { plain(&self.template(key)?) } else { key.to_owned() })
    }

    fn fill_one(&self, value: &Value) -> Result<Value, Failure> {
        match value {
            Value::String(text) if text.contains("${") => self.template(text),
            Value::Array(items) => {
                Ok(Value::Array(items.iter().map(|item| self.eval(item)).collect::<Result<_, Failure>>()?))
            }
            other => Ok(other.clone()),
        }
    }

    fn template(&self, text: &str) -> Result<Value, Failure> {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, tail) =
                after.split_once('}').ok_or_else(|| broken(format!("'{text}' has no '}}'")))?;
            let value = self.lookup(name)?;
            if before.is_empty() && tail.is_empty() && out.is_empty() {
                return Ok(value);
            }
            out.push_str(before);
            out.push_str(&plain(&value));
            rest = tail;
        }
        out.push_str(rest);
        Ok(Value::String(out))
    }

    fn lookup(&self, name: &str) -> Result<Value, Failure> {
        if let Some(choice) = name.strip_prefix("choice.") {
            return self.profile.choice(choice);
        }
        let (root, path) = name.split_once('.').map_or((name, None), |(root, path)| (root, Some(path)));
        let value = self.values.get(root).ok_or_else(|| broken(format!("there is no value '{root}'")))?;
        match path {
            None => Ok(value.clone()),
            Some(path) => part(value, path)
                .cloned()
                .ok_or_else(|| Failure::Mismatch(format!("'{root}' has no '{path}': {value}"))),
        }
    }

    fn call(&self, name: &str, argument: &Value) -> Result<Value, Failure> {
        let argument = self.eval(argument)?;
        let text = |value: &Value| plain(value);
        let both = || pair(&argument).ok_or_else(|| broken(format!("@{name} takes a list of two")));
        Ok(match name {
            "base64" => encoding::base64(text(&argument)).into(),
            "sha256" => encoding::sha256(text(&argument)).into(),
            "bytes" => text(&argument).len().into(),
            "upper" => text(&argument).to_uppercase().into(),
            "json" => argument.to_string().into(),
            "join" => list(&argument).iter().map(text).collect::<String>().into(),
            "now" => (now() + argument.as_i64().unwrap_or_default()).into(),
            "random" => encoding::random(size(&argument)).into(),
            "hmac" => {
                both().map(|(key, message)| encoding::hmac_sha256(&text(key), &text(message)).into())?
            }
            "repeat" => both().map(|(part, times)| text(part).repeat(size(times)).into())?,
            "list" => both().map(|(item, times)| vec![item.clone(); size(times)].into())?,
            "range" => both().map(|(from, to)| range(from, to))?,
            "add" => both().map(|(a, b)| add(a, b))?,
            "times" => both().map(|(a, b)| times(a, b))?,
            "flip" => both().map(|(value, index)| flip(&text(value), index).into())?,
            "drop" => both().map(|(value, count)| drop(&text(value), count).into())?,
            "parts" => text(&argument).split('.').map(Value::from).collect(),
            "nest" => self.nest(&argument)?,
            "jwt" => Self::jwt(&argument)?.into(),
            _ => return Err(broken(format!("there is no function @{name}"))),
        })
    }

    /// Evaluates `[times, template, inner]`: replaces `"…"` in the template by the inner value, repeatedly.
    fn nest(&self, argument: &Value) -> Result<Value, Failure> {
        let [times, template, inner] = list(argument) else {
            return Err(broken("@nest takes three".to_owned()));
        };
        Ok((0..size(times)).fold(inner.clone(), |inner, _| put(template, &inner)))
    }

    /// Evaluates `{"key", "secret", "header", "claims", "payload"}`: a token of the issuer of the fixture, with changed
    /// members of its header and claims. A null removes a member.
    fn jwt(argument: &Value) -> Result<String, Failure> {
        let text = |name: &str| argument.get(name).map(plain);
        let key = match text("key") {
            Some(name) => jwt::Key::of_fixture(&name).map_err(broken)?,
            None => jwt::Key::Secret(text("secret").unwrap_or_else(|| jwt::SECRET.to_owned()).into_bytes()),
        };
        let mut header = jwt::header(&key, text("key").as_deref());
        if let Some(Value::Object(changes)) = argument.get("header") {
            jwt::change(&mut header, changes);
        }
        let mut claims = Map::new();
        for (claim, value) in [
            ("iss", jwt::ISSUER.into()),
            ("aud", jwt::AUDIENCE.into()),
            ("sub", "1".into()),
            ("exp", (now() + LIFETIME).into()),
            ("role", "admin".into()),
        ] {
            claims.insert(claim.to_owned(), value);
        }
        if let Some(Value::Object(changes)) = argument.get("claims") {
            jwt::change(&mut claims, changes);
        }
        let payload = text("payload").unwrap_or_else(|| Value::Object(claims).to_string());
        jwt::sign(&key, &Value::Object(header).to_string(), &payload).map_err(broken)
    }
}

/// Returns name and argument if an object is a function call.
fn call(members: &Map<String, Value>) -> Option<(&str, &Value)> {
    let mut members_iter = members.iter();
    let (key, argument) = members_iter.next()?;
    let name = key.strip_prefix('@')?;
    members_iter.next().is_none().then_some((name, argument))
}

fn broken(what: String) -> Failure {
    Failure::Setup(format!("the case is broken: {what}"))
}

/// Returns a string as it is and anything else as compact JSON.
#[must_use]
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the part of a value at a dotted path of members and indices.
#[must_use]
pub fn part<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        Value::Object(members) => members.get(step),
        _ => None,
    })
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn pair(value: &Value) -> Option<(&Value, &Value)> {
    match list(value) {
        [a, b] => Some((a, b)),
        _ => None,
    }
}

fn size(value: &Value) -> usize {
    value.as_u64().and_then(|size| usize::try_from(size).ok()).unwrap_or_default()
}

fn range(from: &Value, to: &Value) -> Value {
    let (from, to) = (from.as_i64().unwrap_or_default(), to.as_i64().unwrap_or_default());
    (from..=to).map(Value::from).collect()
}

fn add(a: &Value, b: &Value) -> Value {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => (a + b).into(),
        _ => Number::from_f64(a.as_f64().unwrap_or_default() + b.as_f64().unwrap_or_default()).into(),
    }
}

fn times(a: &Value, b: &Value) -> Value {
    a.as_i64().zip(b.as_i64()).and_then(|(a, b)| a.checked_mul(b)).into()
}

/// Replaces one character by another of the same class; a negative index counts from the end.
fn flip(text: &str, at: &Value) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    let at = at.as_i64().unwrap_or_default();
    let from_end = usize::try_from(-at).ok().and_then(|back| characters.len().checked_sub(back));
    let index = usize::try_from(at).ok().or(from_end).unwrap_or_default();
    if let Some(character) = characters.get_mut(index) {
        *character = match *character {
            'a' => 'b',
            '0' => '1',
            digit if digit.is_ascii_digit() => '0',
            _ => 'a',
        };
    }
    characters.into_iter().collect()
}

/// Removes characters from the end, or with a negative count from the beginning.
fn drop(text: &str, count: &Value) -> String {
    let count = count.as_i64().unwrap_or_default();
    let (first, last) = if count < 0 { (count.unsigned_abs(), 0) } else { (0, count.unsigned_abs()) };
    let keep = (text.chars().count() as u64).saturating_sub(last);
    let at = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    text.chars().take(at(keep)).skip(at(first)).collect()
}

fn put(template: &Value, inner: &Value) -> Value {
    match template {
        Value::String(hole) if hole == "…" => inner.clone(),
        Value::Array(items) => items.iter().map(|item| put(item, inner)).collect(),
        Value::Object(members) => {
            Value::Object(members.iter().map(|(key, value)| (key.clone(), put(value, inner))).collect())
        }
        other => other.clone(),
    }
}

/// Returns the seconds since the Unix epoch.
fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.ok().and_then(|since| i64::try_from(since.as_secs()).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(expression: &Value, expected: &Value) {
        let profile = Profile::reference().unwrap();
        let mut scope = Scope::new(&profile);
        scope.values.insert("row".to_owned(), json!({"id": 7, "tags": ["a"]}));
        assert_eq!(&scope.eval(expression).unwrap(), expected);
    }

    #[test]
    fn a_lone_template_keeps_the_type_of_its_value() {
        check(&json!("${row.id}"), &json!(7));
        check(&json!("/post/${row.id}/${row.tags.0}"), &json!("/post/7/a"));
        check(&json!({"${row.id}": ["${row.tags}"]}), &json!({"7": [["a"]]}));
        check(&json!("${choice.limits.page_max}"), &json!(200));
    }

    #[test]
    fn functions_are_evaluated_recursively() {
        check(&json!({"@base64": {"@json": {"a": "${row.id}"}}}), &json!("eyJhIjo3fQ=="));
        check(&json!({"@nest": [2, {"not": "…"}, {"x": 1}]}), &json!({"not": {"not": {"x": 1}}}));
        check(&json!({"@flip": ["abc", -1]}), &json!("aba"));
        check(&json!({"@add": ["${choice.limits.page_max}", 1]}), &json!(201));
        check(&json!({"@add": [201, {"@times": [{"@bytes": "äö"}, -1]}]}), &json!(197));
        check(&json!([{"@drop": ["abcd", 3]}, {"@drop": ["abcd", -3]}]), &json!(["a", "d"]));
        check(&json!({"@range": [1, 3]}), &json!([1, 2, 3]));
    }

    #[test]
    fn tokens_have_the_claims_of_the_fixture_unless_changed() {
        let profile = Profile::reference().unwrap();
        let token = json!({"@jwt": {"key": "es", "header": {"typ": null}, "claims": {"sub": "2", "aud": null, "n": 1}}});
        let token = Scope::new(&profile).text(&token).unwrap();
        let (header, claims) = jwt::read(&token).unwrap();
        assert_eq!(Value::Object(header), json!({"alg": "ES256", "kid": "es"}));
        assert_eq!(claims["iss"], jwt::ISSUER);
        assert_eq!(
            (&claims["sub"], &claims["role"], &claims["n"]),
            (&json!("2"), &json!("admin"), &json!(1))
        );
        assert!(claims.get("aud").is_none() && claims["exp"].as_i64() > Some(now()));
    }
}
