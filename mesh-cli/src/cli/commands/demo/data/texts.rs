//! The texts of the sample blog, from `texts.toml`.

use std::io;

use serde::Deserialize;

/// All texts.
#[derive(Deserialize)]
pub(super) struct Texts {
    /// Name and label of each tag, in the order of the ids.
    pub(super) tags: Vec<[String; 2]>,
    /// Comments that fit every post.
    pub(super) comments: Vec<String>,
    /// Texts before a comment.
    pub(super) comment_openings: Vec<String>,
    /// Texts after a comment.
    pub(super) comment_endings: Vec<String>,
    /// Users in the order of their ids; the writers first.
    pub(super) users: Vec<User>,
    /// The topics of posts.
    pub(super) topics: Vec<Topic>,
}

/// A row of `users`, without its date.
#[derive(Deserialize)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) email: String,
    pub(super) role: String,
    pub(super) bio: Option<String>,
    pub(super) manager: Option<i64>,
}

/// A topic. Each title is used once; the other texts are combined for each post.
#[derive(Deserialize)]
pub(super) struct Topic {
    /// Ids of users who write about the topic.
    pub(super) authors: Vec<i64>,
    /// Ids of tags; every post has the first.
    pub(super) tags: Vec<i64>,
    pub(super) titles: Vec<String>,
    /// First sentences of posts.
    pub(super) openings: Vec<String>,
    /// Sentences in the middle of posts, in any order.
    pub(super) middles: Vec<String>,
    /// Last sentences of posts.
    pub(super) endings: Vec<String>,
    /// Comments on the topic.
    pub(super) remarks: Vec<String>,
}

impl Texts {
    /// Parses the embedded file.
    pub(super) fn read() -> io::Result<Self> {
        toml::from_str(include_str!("texts.toml")).map_err(io::Error::other)
    }
}
