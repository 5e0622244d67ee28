//! The sample database: a small blog with users, posts, comments and tags. Its content is the same each time.

use mesh_sqlite::rusqlite::{Connection, Error, Result, Transaction, params};

use rng::SampleRng;
use texts::{Texts, Topic};

mod rng;
mod texts;

#[cfg(test)]
mod tests;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// 2024-01-01 00:00:00 UTC, the date of the first user, in seconds since 1970.
const FOUNDED: i64 = 1_704_067_200;
/// The first users, who write posts.
const WRITERS: usize = 20;
const COMMENTS: usize = 400;
/// Numbers of tags of consecutive posts, three on average.
const TAG_COUNTS: [usize; 10] = [3, 2, 4, 3, 1, 5, 3, 2, 4, 3];

/// Creates and fills the tables in one transaction.
pub(super) fn create(connection: &mut Connection) -> Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(include_str!("data/schema.sql"))?;
    let texts = Texts::read().map_err(|error| Error::ToSqlConversionFailure(error.into()))?;
    let mut rng = SampleRng::new(2024);
    let joined = insert_users(&transaction, &texts, &mut rng)?;
    insert_tags(&transaction, &texts)?;
    let posts = insert_posts(&transaction, &texts, &mut rng)?;
    insert_comments(&transaction, &comments(&posts, &joined, &texts, &mut rng))?;
    transaction.commit()
}

/// Inserts the users and returns when each of them joined.
fn insert_users(transaction: &Transaction<'_>, texts: &Texts, rng: &mut SampleRng) -> Result<Vec<i64>> {
    let mut insert = transaction.prepare(
        "INSERT INTO users (id, name, email, role, bio, manager_id, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, datetime(?7, 'unixepoch'))",
    )?;
    let mut joined = Vec::with_capacity(texts.users.len());
    for (id, (user, day)) in (1_i64..).zip(texts.users.iter().zip(0_i64..)) {
        let day = if joined.len() < WRITERS { day } else { 30 + (id - 20) * 33 };
        let at = FOUNDED + day * DAY + time_of_day(rng);
        insert.execute(params![id, user.name, user.email, user.role, user.bio, user.manager, at])?;
        joined.push(at);
    }
    Ok(joined)
}

fn insert_tags(transaction: &Transaction<'_>, texts: &Texts) -> Result<()> {
    let mut insert = transaction.prepare("INSERT INTO tags (id, name, label) VALUES (?1, ?2, ?3)")?;
    for (id, [name, label]) in (1_i64..).zip(&texts.tags) {
        insert.execute(params![id, name, label])?;
    }
    Ok(())
}

/// The part of a post that its comments depend on.
struct Post<'t> {
    id: i64,
    author: i64,
    topic: &'t Topic,
    /// `None` for drafts.
    published: Option<i64>,
}

fn insert_posts<'t>(
    transaction: &Transaction<'_>,
    texts: &'t Texts,
    rng: &mut SampleRng,
) -> Result<Vec<Post<'t>>> {
    let mut insert = transaction.prepare(
        "INSERT INTO posts (id, author_id, title, body, status, rating, pinned, metadata, published_at, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, datetime(?9, 'unixepoch'), datetime(?10, 'unixepoch'))",
    )?;
    let mut link = transaction.prepare("INSERT INTO post_tags (post_id, tag_id) VALUES (?1, ?2)")?;
    let mut posts = Vec::new();
    for (id, ((topic, title), tag_count)) in
        (1_i64..).zip(titles(texts, rng).into_iter().zip(TAG_COUNTS.into_iter().cycle()))
    {
        let created = FOUNDED + (35 + id * 29 / 5) * DAY + time_of_day(rng);
        let status = match rng.below(100_u64) {
            0..15 => "draft",
            15..25 => "archived",
            _ => "published",
        };
        let published = (status != "draft").then(|| created + HOUR + rng.below(4 * DAY));
        let author = rng.choose(1, &topic.authors).into_iter().next().unwrap_or(1);
        let body = body(topic, rng);
        let rating = (published.is_some() && rng.chance(75)).then(|| (25 + rng.below(26_u64)) as f64 / 10.0);
        let pinned = status == "published" && rng.chance(5);
        let metadata = rng.chance(75).then(|| metadata(id, &body, rng));
        insert.execute(params![
            id, author, title, body, status, rating, pinned, metadata, published, created
        ])?;
        let (first, others) = topic.tags.split_first().unwrap_or((&1, &[]));
        for tag in [*first].into_iter().chain(rng.choose(tag_count - 1, others)) {
            link.execute(params![id, tag])?;
        }
        posts.push(Post { id, author, topic, published });
    }
    Ok(posts)
}

/// Returns all titles with their topics, mixed so that neighbors differ in topic.
fn titles<'t>(texts: &'t Texts, rng: &mut SampleRng) -> Vec<(&'t Topic, &'t str)> {
    let titles = |topic: &'t Topic| topic.titles.iter().map(String::as_str).collect::<Vec<_>>();
    let mut rounds: Vec<_> =
        texts.topics.iter().map(|topic| rng.choose(topic.titles.len(), &titles(topic)).into_iter()).collect();
    let mut mixed = Vec::new();
    while rounds.iter().any(|titles| titles.len() > 0) {
        let round = texts.topics.iter().zip(&mut rounds);
        let round: Vec<_> = round.filter_map(|(topic, titles)| Some((topic, titles.next()?))).collect();
        mixed.extend(rng.choose(round.len(), &round));
    }
    mixed
}

/// Returns a text of one to three paragraphs.
fn body(topic: &Topic, rng: &mut SampleRng) -> String {
    let mut sentences = rng.choose_text(1, &topic.openings);
    let count = 3 + rng.below(4);
    sentences.extend(rng.choose_text(count, &topic.middles));
    sentences.extend(rng.choose_text(1, &topic.endings));
    let paragraphs: Vec<_> = sentences.chunks(3).map(|sentences| sentences.join(" ")).collect();
    paragraphs.join("\n\n")
}

fn metadata(id: i64, body: &str, rng: &mut SampleRng) -> String {
    let words = body.split_whitespace().count();
    let cover = if rng.chance(70) {
        let width = [1200, 1600, 2400].into_iter().cycle().nth(rng.below(3)).unwrap_or(1200);
        format!(r#"{{"file":"covers/{id:03}.jpg","width":{width}}}"#)
    } else {
        "null".to_owned()
    };
    let license = if rng.chance(50) { "CC-BY-4.0" } else { "all rights reserved" };
    format!(r#"{{"words":{words},"cover":{cover},"license":"{license}"}}"#)
}

struct Comment {
    post: i64,
    author: i64,
    body: String,
    at: i64,
}

/// Returns the comments in the order of their dates; some posts have many, some none.
fn comments(posts: &[Post<'_>], joined: &[i64], texts: &Texts, rng: &mut SampleRng) -> Vec<Comment> {
    let mut tickets = Vec::new();
    for post in posts {
        let Some(published) = post.published else { continue };
        // Each post takes the texts in order from a random start, so that none occurs twice.
        let starts = [rng.below(post.topic.remarks.len()), rng.below(texts.comments.len())];
        let weight = [0, 1, 1, 2, 3, 5].into_iter().nth(rng.below(6)).unwrap_or(1);
        tickets.extend((0..weight).map(|_| (post, published, starts)));
    }
    let mut used = std::collections::BTreeMap::<i64, usize>::new();
    let mut written = Vec::with_capacity(COMMENTS);
    for _ in 0..COMMENTS {
        let Some((post, published, starts)) = rng.choose(1, &tickets).pop() else { continue };
        let turn = used.entry(post.id).or_default();
        let text = comment_text(post.topic, texts, starts, *turn);
        *turn += 1;
        // Most comments are written soon after the post: the delay is the smaller of two random ones.
        let wait = rng.below(30 * DAY).min(rng.below(30 * DAY));
        let at = published + 10 * MINUTE + wait;
        let readers: Vec<i64> = (1..)
            .zip(joined)
            .filter(|(id, joined)| *id != post.author && **joined < at)
            .map(|(id, _)| id)
            .collect();
        let author = rng.choose(1, &readers).pop().unwrap_or(1);
        written.push(Comment { post: post.id, author, body: with_extras(text, texts, rng), at });
    }
    written.sort_by_key(|comment| (comment.at, comment.post));
    written
}

/// Returns the next comment of a post, alternating between its topic and general texts.
fn comment_text<'t>(
    topic: &'t Topic,
    texts: &'t Texts,
    [about_topic, general]: [usize; 2],
    turn: usize,
) -> &'t str {
    let (texts, start) =
        if turn.is_multiple_of(2) { (&topic.remarks, about_topic) } else { (&texts.comments, general) };
    texts.iter().cycle().nth(start + turn / 2).map_or("", String::as_str)
}

/// Adds an opening or an ending to some comments.
fn with_extras(text: &str, texts: &Texts, rng: &mut SampleRng) -> String {
    let opening = rng.chance(30).then(|| rng.choose_text(1, &texts.comment_openings).pop()).flatten();
    let ending = rng.chance(30).then(|| rng.choose_text(1, &texts.comment_endings).pop()).flatten();
    opening.into_iter().chain([text]).chain(ending).collect::<Vec<_>>().join(" ")
}

fn insert_comments(transaction: &Transaction<'_>, comments: &[Comment]) -> Result<()> {
    let mut insert = transaction.prepare(
        "INSERT INTO comments (id, post_id, author_id, body, created_at)
         VALUES (?1, ?2, ?3, ?4, datetime(?5, 'unixepoch'))",
    )?;
    for (id, comment) in (1_i64..).zip(comments) {
        insert.execute(params![id, comment.post, comment.author, comment.body, comment.at])?;
    }
    Ok(())
}

/// Returns a time between 6:00 and 22:00, in seconds.
fn time_of_day(rng: &mut SampleRng) -> i64 {
    6 * HOUR + rng.below(16 * HOUR)
}
