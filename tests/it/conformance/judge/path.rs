//! Paths: places of values in a document, such as `query/*/$page/first`.
//!
//! A path is a list of names that are separated by slashes. A name is a [pattern](Glob), several that are separated by `|`,
//! or with a leading `!` all others; items of lists are named by their index. `**` is a value and everything within it,
//! the innermost first. Tests in brackets restrict a name to values that pass them:
//!
//! | test | passed by values |
//! |---|---|
//! | `[a]`, `[!a]` | with, without a value at `a` |
//! | `[a=text]`, `[a!=text]` | whose value at `a` is, is not one of the texts, which are separated by `\|` |
//! | `[a<1]`, `[a>1]` | whose value at `a` is a number that is less, greater |
//! | `[a:number]` | whose value at `a` has one of the types, which are separated by `\|` |
//!
//! `a` is a name, or several separated by slashes. If it is left out, the test is one of the value itself.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Value;

/// A text in which each `*` stands for any text.
#[derive(Debug, Clone)]
pub(crate) struct Glob(Vec<String>);

/// The places of values in a document.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Path(Vec<Segment>);

#[derive(Debug, Clone)]
struct Segment {
    /// The names; `None` for any depth.
    names: Option<Names>,
    tests: Vec<Test>,
}

#[derive(Debug, Clone)]
struct Names {
    globs: Vec<Glob>,
    are_excluded: bool,
}

#[derive(Debug, Clone)]
struct Test {
    member: Vec<String>,
    check: Check,
}

#[derive(Debug, Clone)]
enum Check {
    There(bool),
    Text(Vec<Glob>, bool),
    Less(f64),
    Greater(f64),
    Type(Vec<String>),
}

impl Glob {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.split('*').map(str::to_owned).collect())
    }

    fn list(text: &str) -> Vec<Self> {
        text.split('|').map(Self::new).collect()
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        self.stars(text).is_some()
    }

    /// Returns what the stars stand for, each as short as possible, if the text matches.
    pub(crate) fn stars<'t>(&self, text: &'t str) -> Option<Vec<&'t str>> {
        let (first, others) = self.0.split_first()?;
        let mut rest = text.strip_prefix(first.as_str())?;
        let Some((last, middle)) = others.split_last() else { return rest.is_empty().then(Vec::new) };
        let mut stars = Vec::new();
        for part in middle {
            let (star, behind) = rest.split_once(part.as_str())?;
            stars.push(star);
            rest = behind;
        }
        stars.push(rest.strip_suffix(last.as_str())?);
        Some(stars)
    }
}

impl TryFrom<String> for Path {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (mut segments, mut current, mut depth) = (Vec::new(), String::new(), 0);
        for character in text.chars().chain(['/']) {
            depth += i32::from(character == '[') - i32::from(character == ']');
            if character == '/' && depth == 0 {
                let segment = Segment::parse(&std::mem::take(&mut current));
                segments.push(segment.ok_or_else(|| format!("'{text}' is not a path"))?);
            } else {
                current.push(character);
            }
        }
        if depth == 0 { Ok(Self(segments)) } else { Err(format!("a bracket is not closed in '{text}'")) }
    }
}

impl Segment {
    fn parse(text: &str) -> Option<Self> {
        let (name, tests) = text.split_at(text.find('[').unwrap_or(text.len()));
        let names = match name {
            "" => return None,
            "**" => None,
            name => {
                let globs = Glob::list(name.strip_prefix('!').unwrap_or(name));
                Some(Names { globs, are_excluded: name.starts_with('!') })
            }
        };
        let inner = tests.strip_prefix('[').map(|tests| tests.strip_suffix(']'));
        let tests = match inner {
            None => Vec::new(),
            Some(tests) => tests?.split("][").map(Test::parse).collect::<Option<_>>()?,
        };
        Some(Self { names, tests })
    }

    fn has_name(&self, name: &str) -> bool {
        self.names
            .as_ref()
            .is_some_and(|names| names.globs.iter().any(|glob| glob.matches(name)) != names.are_excluded)
    }

    fn admits(&self, value: &Value) -> bool {
        self.tests.iter().all(|test| test.passes(value))
    }
}

impl Test {
    fn parse(text: &str) -> Option<Self> {
        let (member, check) = if let Some((member, texts)) = text.split_once("!=") {
            (member, Check::Text(Glob::list(texts), false))
        } else if let Some((member, texts)) = text.split_once('=') {
            (member, Check::Text(Glob::list(texts), true))
        } else if let Some((member, bound)) = text.split_once('<') {
            (member, Check::Less(bound.parse().ok()?))
        } else if let Some((member, bound)) = text.split_once('>') {
            (member, Check::Greater(bound.parse().ok()?))
        } else if let Some((member, types)) = text.split_once(':') {
            (member, Check::Type(types.split('|').map(str::to_owned).collect()))
        } else {
            (text.strip_prefix('!').unwrap_or(text), Check::There(!text.starts_with('!')))
        };
        let member = member.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        Some(Self { member, check })
    }

    fn passes(&self, value: &Value) -> bool {
        let value = self.member.iter().try_fold(value, |value, name| child(value, name));
        match &self.check {
            Check::There(expected) => value.is_some() == *expected,
            Check::Text(globs, expected) => {
                value.is_some_and(|value| globs.iter().any(|glob| has_text(value, glob))) == *expected
            }
            Check::Less(bound) => value.and_then(Value::as_f64).is_some_and(|number| number < *bound),
            Check::Greater(bound) => value.and_then(Value::as_f64).is_some_and(|number| number > *bound),
            Check::Type(types) => value.is_some_and(|value| types.iter().any(|name| name == type_of(value))),
        }
    }
}

impl Path {
    /// Returns the name that the path begins with.
    pub(crate) fn part(&self) -> &str {
        let names = self.0.first().and_then(|first| first.names.as_ref());
        names.and_then(|names| names.globs.first()).and_then(|glob| glob.0.first()).map_or("", String::as_str)
    }

    /// Returns the values at the path, the innermost first.
    pub(crate) fn find<'v>(&self, root: &'v Value) -> Vec<&'v Value> {
        let mut found = Vec::new();
        find(root, &self.0, &mut found);
        found
    }

    /// Returns the part of a document that the path is within.
    pub(crate) fn trunk<'v>(&self, root: &'v Value) -> Vec<&'v Value> {
        let length = if self.part() == "response" { 2 } else { 1 };
        let mut found = Vec::new();
        find(root, self.0.get(..length).unwrap_or(&self.0), &mut found);
        found
    }

    /// Edits the values at the path, the innermost first.
    pub(crate) fn edit(&self, root: &mut Value, edit: &mut dyn FnMut(&mut Value)) {
        visit(root, &self.0, edit);
    }

    /// Removes the values at the path.
    pub(crate) fn remove(&self, root: &mut Value) {
        let Some((last, init)) = self.0.split_last() else { return };
        let stays = |name: &str, value: &Value| !last.has_name(name) || !last.admits(value);
        visit(root, init, &mut |parent| match parent {
            Value::Object(members) => members.retain(|name, value| stays(name, value)),
            Value::Array(items) => {
                let mut indexes = 0..items.len();
                items.retain(|item| indexes.next().is_none_or(|index| stays(&index.to_string(), item)));
            }
            _ => {}
        });
    }

    /// Adds a value at the path, in place of the one that is there. In a list, the name `+` is a further item.
    pub(crate) fn add(&self, root: &mut Value, added: &Value) {
        let Some((last, init)) = self.0.split_last() else { return };
        let name = last.names.as_ref().and_then(|names| names.globs.first()).map(|glob| glob.0.join("*"));
        let name = name.unwrap_or_default();
        visit(root, init, &mut |parent| match parent {
            Value::Object(members) => drop(members.insert(name.clone(), added.clone())),
            Value::Array(items) if name == "+" => items.push(added.clone()),
            _ => {}
        });
    }

    /// Returns the largest number of values at the path of which each is within the one before.
    pub(crate) fn nesting(&self, root: &Value) -> usize {
        fn longest(value: &Value, found: &HashSet<*const Value>) -> usize {
            let within = children(value).into_iter().map(|(_, child)| longest(child, found)).max();
            within.unwrap_or(0) + usize::from(found.contains(&std::ptr::from_ref(value)))
        }
        let found: HashSet<*const Value> = self.find(root).into_iter().map(std::ptr::from_ref).collect();
        if found.is_empty() { 0 } else { longest(root, &found) }
    }
}

fn find<'v>(value: &'v Value, segments: &[Segment], found: &mut Vec<&'v Value>) {
    let Some((first, rest)) = segments.split_first() else { return found.push(value) };
    for (name, child) in children(value) {
        if first.names.is_none() {
            find(child, segments, found);
        } else if first.has_name(&name) && first.admits(child) {
            find(child, rest, found);
        }
    }
    if first.names.is_none() && first.admits(value) {
        find(value, rest, found);
    }
}

fn visit(value: &mut Value, segments: &[Segment], edit: &mut dyn FnMut(&mut Value)) {
    let Some((first, rest)) = segments.split_first() else { return edit(value) };
    let mut of_child = |name: &str, child: &mut Value| {
        if first.names.is_none() {
            visit(child, segments, edit);
        } else if first.has_name(name) && first.admits(child) {
            visit(child, rest, edit);
        }
    };
    match value {
        Value::Object(members) => members.iter_mut().for_each(|(name, child)| of_child(name, child)),
        Value::Array(items) => {
            items.iter_mut().enumerate().for_each(|(index, child)| of_child(&index.to_string(), child));
        }
        _ => {}
    }
    if first.names.is_none() && first.admits(value) {
        visit(value, rest, edit);
    }
}

fn children(value: &Value) -> Vec<(String, &Value)> {
    match value {
        Value::Object(members) => members.iter().map(|(name, child)| (name.clone(), child)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, child)| (at.to_string(), child)).collect(),
        _ => Vec::new(),
    }
}

fn child<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    match value {
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        value => value.get(name),
    }
}

/// Returns whether a value or one of its items has a text. Numbers and booleans have their JSON text, and everything but
/// null matches `*`.
pub(crate) fn has_text(value: &Value, glob: &Glob) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => glob.matches(text),
        Value::Array(items) => glob.matches("[]") || items.iter().any(|item| has_text(item, glob)),
        Value::Object(_) => glob.matches("{}"),
        scalar => glob.matches(&scalar.to_string()),
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}
