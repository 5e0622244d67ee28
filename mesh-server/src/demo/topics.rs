//! What does the sample blog write about? Ten topics, each with its authors, its tags and its own words.

mod baking;
mod books;
mod cycling;
mod databases;
mod garden;
mod hiking;
mod home_repair;
mod music;
mod photography;
mod software;

/// The tags in the order of their ids: name and label.
pub(crate) const TAGS: [(&str, &str); 20] = [
    ("bread", "Bread & Baking"),
    ("fermentation", "Fermentation"),
    ("garden", "Garden"),
    ("seeds", "Seeds & Seedlings"),
    ("rust", "Rust"),
    ("testing", "Testing"),
    ("databases", "Databases"),
    ("sql", "SQL"),
    ("hiking", "Hiking"),
    ("maps", "Maps & Navigation"),
    ("cycling", "Cycling"),
    ("repair", "Repair"),
    ("books", "Books"),
    ("translation", "Translation"),
    ("music", "Music"),
    ("photography", "Photography"),
    ("home", "House & Home"),
    ("how-to", "How-to"),
    ("story", "Stories"),
    ("opinion", "Opinion"),
];

/// One subject: its titles are used once each, its sentences are combined anew for each post.
pub(crate) struct Topic {
    /// Ids of the people who write about it.
    pub(crate) authors: &'static [i64],
    /// Ids of tags that fit; every post has the first.
    pub(crate) tags: &'static [i64],
    pub(crate) titles: [&'static str; 15],
    /// How a post begins.
    pub(crate) openings: &'static [&'static str],
    /// What may stand between, in any order.
    pub(crate) middles: &'static [&'static str],
    /// How a post ends.
    pub(crate) endings: &'static [&'static str],
    /// What readers say about it.
    pub(crate) remarks: &'static [&'static str],
}

/// All topics.
pub(crate) const TOPICS: [&Topic; 10] = [
    &baking::TOPIC,
    &software::TOPIC,
    &hiking::TOPIC,
    &garden::TOPIC,
    &databases::TOPIC,
    &music::TOPIC,
    &cycling::TOPIC,
    &books::TOPIC,
    &home_repair::TOPIC,
    &photography::TOPIC,
];
