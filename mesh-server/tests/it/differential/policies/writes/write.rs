//! Random writes, with their paths and bodies.

use serde_json::{Map, Value as Json, json};

use super::super::super::dice::Dice;
use super::super::super::kind::{Kind, TEXTS};
use super::{Path, PathKind};

/// The entities, by their indexes.
pub(super) const USER: usize = 0;
pub(super) const POST: usize = 1;
pub(super) const TAG: usize = 2;

const KEYS: [&str; 3] = ["user", "post", "tag"];

/// An id that no record has.
const ABSENT: i64 = 7_777;

/// A write.
#[derive(Clone, Debug)]
pub(super) enum Write {
    Create {
        at: usize,
        values: Map<String, Json>,
    },
    Update {
        at: usize,
        id: i64,
        values: Map<String, Json>,
    },
    Delete {
        at: usize,
        id: i64,
    },
    /// Sets the owner of a post.
    Connect {
        post: i64,
        user: i64,
    },
    Disconnect {
        post: i64,
    },
    /// Creates a post of a user.
    CreateChild {
        user: i64,
        values: Map<String, Json>,
    },
    /// Deletes a post of a user.
    Remove {
        user: i64,
        post: i64,
    },
    /// Adds a pair of a post and a tag; the path begins with either.
    Link {
        post: i64,
        tag: i64,
        is_from_tag: bool,
    },
    Unlink {
        post: i64,
        tag: i64,
        is_from_tag: bool,
    },
}

impl Write {
    pub(super) fn random(dice: &mut Dice) -> Self {
        let id = |dice: &mut Dice| 1 + dice.below(5) as i64;
        let at = dice.below(KEYS.len());
        match dice.below(12) {
            0 | 1 => Self::Create { at, values: values(dice, at, true) },
            2..=4 => Self::Update { at, id: id(dice), values: values(dice, at, false) },
            5 => Self::Delete { at, id: id(dice) },
            6 | 7 => Self::Connect { post: id(dice), user: id(dice) },
            8 => Self::Disconnect { post: id(dice) },
            9 => {
                let mut values = values(dice, POST, true);
                values.remove("ownerId");
                Self::CreateChild { user: id(dice), values }
            }
            10 if dice.chance(50) => Self::Remove { user: id(dice), post: id(dice) },
            10 => Self::Unlink { post: id(dice), tag: id(dice), is_from_tag: dice.chance(50) },
            _ => Self::Link { post: id(dice), tag: id(dice), is_from_tag: dice.chance(50) },
        }
    }

    /// Returns the path and the body.
    pub(super) fn request(&self) -> (Path, Option<Json>) {
        let path = |kind, entity: usize, relation, ids| Path { entity: KEYS[entity], relation, kind, ids };
        let object = |values: &Map<String, Json>| Some(Json::Object(values.clone()));
        match self {
            Self::Create { at, values } => (path(PathKind::Create, *at, "", [0, 0]), object(values)),
            Self::Update { at, id, values } => (path(PathKind::Update, *at, "", [*id, 0]), object(values)),
            Self::Delete { at, id } => (path(PathKind::Delete, *at, "", [*id, 0]), None),
            Self::Connect { post, user } => {
                (path(PathKind::Connect, POST, "oneOwner", [*post, 0]), Some(json!({"entityId": user})))
            }
            Self::Disconnect { post } => (path(PathKind::Disconnect, POST, "oneOwner", [*post, 0]), None),
            Self::CreateChild { user, values } => {
                (path(PathKind::Attach, USER, "posts", [*user, 0]), object(values))
            }
            Self::Remove { user, post } => (path(PathKind::Remove, USER, "posts", [*user, *post]), None),
            Self::Link { post, tag, is_from_tag: false } => {
                (path(PathKind::Attach, POST, "tags", [*post, 0]), Some(json!({"entityId": tag})))
            }
            Self::Link { post, tag, is_from_tag: true } => {
                (path(PathKind::Attach, TAG, "posts", [*tag, 0]), Some(json!({"entityId": post})))
            }
            Self::Unlink { post, tag, is_from_tag: false } => {
                (path(PathKind::Remove, POST, "tags", [*post, *tag]), None)
            }
            Self::Unlink { post, tag, is_from_tag: true } => {
                (path(PathKind::Remove, TAG, "posts", [*tag, *post]), None)
            }
        }
    }

    /// Returns the same write for records that do not exist.
    pub(super) fn of_absent_records(&self) -> Option<Self> {
        let mut write = self.clone();
        match &mut write {
            Self::Update { id, .. } | Self::Delete { id, .. } => *id = ABSENT,
            _ => return None,
        }
        Some(write)
    }

    /// Returns the relation in the path, with the entity that it belongs to.
    pub(super) fn relation(&self) -> Option<(usize, &'static str)> {
        match self {
            Self::Create { .. } | Self::Update { .. } | Self::Delete { .. } => None,
            Self::Connect { .. } | Self::Disconnect { .. } => Some((POST, "oneOwner")),
            Self::CreateChild { .. } | Self::Remove { .. } => Some((USER, "posts")),
            Self::Link { is_from_tag: false, .. } | Self::Unlink { is_from_tag: false, .. } => {
                Some((POST, "tags"))
            }
            Self::Link { is_from_tag: true, .. } | Self::Unlink { is_from_tag: true, .. } => {
                Some((TAG, "posts"))
            }
        }
    }

    /// Returns the record of the path that is changed or deleted.
    pub(super) fn subject(&self) -> Option<(usize, i64)> {
        match self {
            Self::Update { at, id, .. } | Self::Delete { at, id } => Some((*at, *id)),
            Self::Connect { post, .. } | Self::Disconnect { post } => Some((POST, *post)),
            _ => None,
        }
    }
}

/// Returns random values of fields. New records mostly have an id.
fn values(dice: &mut Dice, at: usize, is_new: bool) -> Map<String, Json> {
    let fields: &[(&str, Kind)] = match at {
        USER => &[("name", Kind::Text), ("level", Kind::Integer)],
        POST => &[
            ("title", Kind::Text),
            ("published", Kind::Boolean),
            ("ownerId", Kind::Integer),
            ("rank", Kind::Integer),
        ],
        _ => &[("label", Kind::Text)],
    };
    let mut values = Map::new();
    if is_new {
        values.insert("id".to_owned(), json!(4 + dice.below(8)));
    }
    let most = if is_new { fields.len() } else { 1 + dice.below(2) };
    for (name, kind) in dice.some(fields, most) {
        let value = match kind {
            _ if dice.chance(10) => Json::Null,
            Kind::Text => json!(dice.pick(&TEXTS)),
            Kind::Boolean => json!(dice.chance(50)),
            _ if name == "ownerId" => json!(1 + dice.below(4)),
            _ => json!(dice.below(5)),
        };
        values.insert(name.to_owned(), value);
    }
    values
}
