//! What is in the sample database? A small blog, the same one each time: people, posts, comments and tags.

use mesh_sqlite::rusqlite::{Connection, Result, Transaction, params};

use crate::demo::comment_texts::{GENERAL, HEADS, TAILS};
use crate::demo::rng::Dice;
use crate::demo::topics::{TAGS, TOPICS, Topic};
use crate::demo::users::PEOPLE;

mod comment_texts;
mod rng;
mod topics;
mod users;

#[cfg(test)]
mod tests;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// 2024-01-01 00:00:00 in seconds since 1970: the day on which the blog is founded.
const FOUNDED: i64 = 1_704_067_200;
/// The people who have an account from the start and write.
const WRITERS: usize = 20;
const COMMENTS: usize = 400;
/// How many tags posts have, in turn: three on average.
const TAG_COUNTS: [usize; 10] = [3, 2, 4, 3, 1, 5, 3, 2, 4, 3];

/// Creates the tables and fills them, all in one transaction.
pub(crate) fn create(connection: &mut Connection) -> Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(include_str!("demo/schema.sql"))?;
    let mut dice = Dice::new(2024);
    let joined = insert_people(&transaction, &mut dice)?;
    insert_tags(&transaction)?;
    let posts = insert_posts(&transaction, &mut dice)?;
    insert_comments(&transaction, &comments(&posts, &joined, &mut dice))?;
    transaction.commit()
}

/// Inserts the people; gives back when each of them joined.
fn insert_people(transaction: &Transaction<'_>, dice: &mut Dice) -> Result<Vec<i64>> {
    let mut insert = transaction.prepare(
        "INSERT INTO users (id, name, email, role, bio, manager_id, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, datetime(?7, 'unixepoch'))",
    )?;
    let mut joined = Vec::with_capacity(PEOPLE.len());
    for (id, (person, day)) in (1_i64..).zip(PEOPLE.iter().zip(0_i64..)) {
        let day = if joined.len() < WRITERS { day } else { 30 + (id - 20) * 33 };
        let at = FOUNDED + day * DAY + time_of_day(dice);
        insert.execute(params![
            id,
            person.name,
            person.email,
            person.role,
            person.bio,
            person.manager,
            at
        ])?;
        joined.push(at);
    }
    Ok(joined)
}

fn insert_tags(transaction: &Transaction<'_>) -> Result<()> {
    let mut insert = transaction.prepare("INSERT INTO tags (id, name, label) VALUES (?1, ?2, ?3)")?;
    for (id, (name, label)) in (1_i64..).zip(TAGS) {
        insert.execute(params![id, name, label])?;
    }
    Ok(())
}

/// A post as far as its comments need it.
struct Post {
    id: i64,
    author: i64,
    topic: &'static Topic,
    /// Drafts have no date.
    published: Option<i64>,
}

fn insert_posts(transaction: &Transaction<'_>, dice: &mut Dice) -> Result<Vec<Post>> {
    let mut insert = transaction.prepare(
        "INSERT INTO posts (id, author_id, title, body, status, rating, pinned, metadata, published_at, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, datetime(?9, 'unixepoch'), datetime(?10, 'unixepoch'))",
    )?;
    let mut link = transaction.prepare("INSERT INTO post_tags (post_id, tag_id) VALUES (?1, ?2)")?;
    let mut posts = Vec::new();
    for (id, ((topic, title), tag_count)) in (1_i64..).zip(titles(dice).zip(TAG_COUNTS.into_iter().cycle())) {
        let created = FOUNDED + (35 + id * 29 / 5) * DAY + time_of_day(dice);
        let status = match dice.below(100) {
            0..15 => "draft",
            15..25 => "archived",
            _ => "published",
        };
        let published = (status != "draft").then(|| created + HOUR + i64_below(dice, 4 * DAY));
        let author = dice.some(1, topic.authors).into_iter().next().unwrap_or(1);
        let body = body(topic, dice);
        let rating = (published.is_some() && dice.chance(75)).then(|| (25 + dice.below(26)) as f64 / 10.0);
        let pinned = status == "published" && dice.chance(5);
        let metadata = dice.chance(75).then(|| metadata(id, &body, dice));
        insert.execute(params![
            id, author, title, body, status, rating, pinned, metadata, published, created
        ])?;
        let (first, others) = topic.tags.split_first().unwrap_or((&1, &[]));
        for tag in [*first].into_iter().chain(dice.some(tag_count - 1, others)) {
            link.execute(params![id, tag])?;
        }
        posts.push(Post { id, author, topic, published });
    }
    Ok(posts)
}

/// All titles with their topics, mixed so that neighbors differ.
fn titles(dice: &mut Dice) -> impl Iterator<Item = (&'static Topic, &'static str)> + use<> {
    let mut rounds: Vec<_> =
        TOPICS.iter().map(|topic| dice.some(topic.titles.len(), &topic.titles).into_iter()).collect();
    let mut mixed = Vec::new();
    while rounds.iter().any(|titles| titles.len() > 0) {
        let round = TOPICS.iter().zip(&mut rounds);
        let round: Vec<_> = round.filter_map(|(topic, titles)| Some((*topic, titles.next()?))).collect();
        mixed.extend(dice.some(round.len(), &round));
    }
    mixed.into_iter()
}

/// A text of one to three paragraphs.
fn body(topic: &Topic, dice: &mut Dice) -> String {
    let mut sentences = dice.some(1, topic.openings);
    let count = 3 + dice.index(4);
    sentences.extend(dice.some(count, topic.middles));
    sentences.extend(dice.some(1, topic.endings));
    let paragraphs: Vec<_> = sentences.chunks(3).map(|sentences| sentences.join(" ")).collect();
    paragraphs.join("\n\n")
}

fn metadata(id: i64, body: &str, dice: &mut Dice) -> String {
    let words = body.split_whitespace().count();
    let cover = if dice.chance(70) {
        let width = [1200, 1600, 2400].into_iter().cycle().nth(dice.index(3)).unwrap_or(1200);
        format!(r#"{{"file":"covers/{id:03}.jpg","width":{width}}}"#)
    } else {
        "null".to_owned()
    };
    let license = if dice.chance(50) { "CC-BY-4.0" } else { "all rights reserved" };
    format!(r#"{{"words":{words},"cover":{cover},"license":"{license}"}}"#)
}

struct Comment {
    post: i64,
    author: i64,
    body: String,
    at: i64,
}

/// The comments in the order in which they were written; some posts have many, some none.
fn comments(posts: &[Post], joined: &[i64], dice: &mut Dice) -> Vec<Comment> {
    let mut tickets = Vec::new();
    for post in posts {
        let Some(published) = post.published else { continue };
        // Every post goes through the replies from a place of its own, so that none occurs in it twice.
        let threads = [dice.index(post.topic.remarks.len()), dice.index(GENERAL.len())];
        let weight = [0, 1, 1, 2, 3, 5].into_iter().nth(dice.index(6)).unwrap_or(1);
        tickets.extend((0..weight).map(|_| (post, published, threads)));
    }
    let mut used = std::collections::BTreeMap::<i64, usize>::new();
    let mut written = Vec::with_capacity(COMMENTS);
    for _ in 0..COMMENTS {
        let Some((post, published, threads)) = dice.some(1, &tickets).pop() else { continue };
        let turn = used.entry(post.id).or_default();
        let reply = reply(post.topic, threads, *turn);
        *turn += 1;
        // Most comments come soon: the wait is the lesser of two throws.
        let wait = i64_below(dice, 30 * DAY).min(i64_below(dice, 30 * DAY));
        let at = published + 10 * MINUTE + wait;
        let readers: Vec<i64> = (1..)
            .zip(joined)
            .filter(|(id, joined)| *id != post.author && **joined < at)
            .map(|(id, _)| id)
            .collect();
        let author = dice.some(1, &readers).pop().unwrap_or(1);
        written.push(Comment { post: post.id, author, body: dress(reply, dice), at });
    }
    written.sort_by_key(|comment| (comment.at, comment.post));
    written
}

/// The next reply under a post: in turn one about its topic and a general one.
fn reply(topic: &Topic, [about, general]: [usize; 2], turn: usize) -> &'static str {
    let step = turn / 2;
    let chosen = if turn.is_multiple_of(2) {
        topic.remarks.iter().cycle().nth(about + step)
    } else {
        GENERAL.iter().cycle().nth(general + step)
    };
    chosen.copied().unwrap_or_default()
}

/// Some people say a word before or after.
fn dress(reply: &str, dice: &mut Dice) -> String {
    let head = dice.chance(30).then(|| dice.some(1, &HEADS).pop()).flatten();
    let tail = dice.chance(30).then(|| dice.some(1, &TAILS).pop()).flatten();
    head.into_iter().chain([reply]).chain(tail).collect::<Vec<_>>().join(" ")
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

/// Between six in the morning and ten in the evening.
fn time_of_day(dice: &mut Dice) -> i64 {
    6 * HOUR + i64_below(dice, 16 * HOUR)
}

fn i64_below(dice: &mut Dice, bound: i64) -> i64 {
    let bound = u64::try_from(bound).unwrap_or(0);
    i64::try_from(dice.below(bound)).unwrap_or(0)
}
