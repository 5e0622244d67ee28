//! The model: the expected tables and status after a write.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

/// A write. Ids are small, so that writes affect each other.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    CreateUser { name: u32 },
    RenameUser { id: i64, name: u32 },
    DeleteUser { id: i64 },
    CreatePost { author: i64, title: u32 },
    RemovePost { author: i64, id: i64 },
    MovePost { id: i64, author: i64 },
    LoseAuthor { id: i64 },
    Link { post: i64, tag: i64 },
    Unlink { post: i64, tag: i64 },
    GiveProfile { user: i64, profile: i64 },
    TakeProfile { user: i64 },
}

pub(crate) fn write() -> impl Strategy<Value = Write> {
    let (id, name) = (|| 1i64..6, || 1u32..8);
    prop_oneof![
        name().prop_map(|name| Write::CreateUser { name }),
        (id(), name()).prop_map(|(id, name)| Write::RenameUser { id, name }),
        id().prop_map(|id| Write::DeleteUser { id }),
        (id(), name()).prop_map(|(author, title)| Write::CreatePost { author, title }),
        (id(), id()).prop_map(|(author, id)| Write::RemovePost { author, id }),
        (id(), id()).prop_map(|(id, author)| Write::MovePost { id, author }),
        id().prop_map(|id| Write::LoseAuthor { id }),
        (id(), id()).prop_map(|(post, tag)| Write::Link { post, tag }),
        (id(), id()).prop_map(|(post, tag)| Write::Unlink { post, tag }),
        (id(), id()).prop_map(|(user, profile)| Write::GiveProfile { user, profile }),
        id().prop_map(|user| Write::TakeProfile { user }),
    ]
}

/// The contents of the tables.
#[derive(Debug, PartialEq)]
pub(crate) struct Model {
    pub(crate) users: BTreeMap<i64, String>,
    pub(crate) profiles: BTreeMap<i64, Option<i64>>,
    pub(crate) posts: BTreeMap<i64, (String, i64)>,
    pub(crate) tags: BTreeSet<i64>,
    pub(crate) links: BTreeSet<(i64, i64)>,
}

impl Model {
    pub(crate) fn new() -> Self {
        Self {
            users: (1..=3).map(|id| (id, format!("u{id}"))).collect(),
            profiles: BTreeMap::from([(1, Some(1)), (2, None), (3, None)]),
            posts: BTreeMap::from([(1, ("t1".to_owned(), 1)), (2, ("t2".to_owned(), 2))]),
            tags: BTreeSet::from([1, 2, 3]),
            links: BTreeSet::new(),
        }
    }

    fn is_named(&self, name: u32, but: i64) -> bool {
        self.users.iter().any(|(id, there)| *id != but && *there == format!("u{name}"))
    }

    /// Performs a write and returns the expected status.
    pub(crate) fn apply(&mut self, write: &Write) -> u16 {
        match *write {
            Write::CreateUser { name } if self.is_named(name, 0) => 409,
            Write::CreateUser { name } => {
                let id = self.users.keys().max().unwrap_or(&0) + 1;
                self.users.insert(id, format!("u{name}"));
                201
            }
            Write::RenameUser { id, .. } if !self.users.contains_key(&id) => 404,
            Write::RenameUser { id, name } if self.is_named(name, id) => 409,
            Write::RenameUser { id, name } => {
                self.users.insert(id, format!("u{name}"));
                200
            }
            Write::DeleteUser { id } if !self.users.contains_key(&id) => 404,
            Write::DeleteUser { id }
                if self.posts.values().any(|(_, author)| *author == id)
                    || self.profiles.values().any(|user| *user == Some(id)) =>
            {
                409
            }
            Write::DeleteUser { id } => {
                self.users.remove(&id);
                204
            }
            Write::GiveProfile { .. } | Write::TakeProfile { .. } => self.apply_to_profiles(write),
            _ => self.apply_to_posts(write),
        }
    }

    fn apply_to_posts(&mut self, write: &Write) -> u16 {
        match *write {
            Write::CreatePost { author, .. } if !self.users.contains_key(&author) => 404,
            Write::CreatePost { author, title } => {
                let id = self.posts.keys().max().unwrap_or(&0) + 1;
                self.posts.insert(id, (format!("t{title}"), author));
                201
            }
            Write::RemovePost { author, id } => match self.posts.get(&id) {
                Some((_, there)) if *there == author => {
                    if self.links.iter().any(|(post, _)| *post == id) {
                        return 409;
                    }
                    self.posts.remove(&id);
                    204
                }
                _ => 404,
            },
            Write::MovePost { id, author } => {
                if !self.users.contains_key(&author) {
                    return 404;
                }
                self.posts.get_mut(&id).map_or(404, |post| {
                    post.1 = author;
                    200
                })
            }
            Write::LoseAuthor { id } => self.posts.get(&id).map_or(404, |_| 409),
            Write::Link { post, tag } => {
                if !self.posts.contains_key(&post) || !self.tags.contains(&tag) {
                    return 404;
                }
                self.links.insert((post, tag));
                204
            }
            Write::Unlink { post, tag } => {
                if self.links.remove(&(post, tag)) {
                    204
                } else {
                    404
                }
            }
            _ => 0,
        }
    }

    fn apply_to_profiles(&mut self, write: &Write) -> u16 {
        match *write {
            Write::GiveProfile { user, profile } => {
                if !self.users.contains_key(&user) || !self.profiles.contains_key(&profile) {
                    return 404;
                }
                self.profiles
                    .values_mut()
                    .filter(|there| **there == Some(user))
                    .for_each(|there| *there = None);
                self.profiles.insert(profile, Some(user));
                200
            }
            Write::TakeProfile { user } => {
                if !self.users.contains_key(&user) {
                    return 404;
                }
                self.profiles
                    .values_mut()
                    .filter(|there| **there == Some(user))
                    .for_each(|there| *there = None);
                204
            }
            _ => 0,
        }
    }
}
