//! Delivery of changes, and bounded memory for slow listeners.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::StreamExt as _;

use super::*;

#[derive(Default)]
struct WakeCounter(AtomicUsize);

impl Wake for WakeCounter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn all_listeners_receive_later_changes() {
    let changes = Changes::new();
    changes.notify(Change::entity("user"));
    let mut first = changes.listen();
    changes.notify(Change::record("post", "1"));
    let mut second = changes.clone().listen();
    changes.notify(Change::anything());
    assert_eq!(first.try_next(), Some(Change::record("post", "1")));
    assert_eq!(first.try_next(), Some(Change::anything()));
    assert_eq!(first.try_next(), None);
    assert_eq!(second.try_next(), Some(Change::anything()));
    assert_eq!(second.try_next(), None);
}

#[test]
fn a_listener_that_falls_behind_receives_that_anything_may_have_changed() {
    let changes = Changes::new();
    let mut slow = changes.listen();
    for id in 0..CAPACITY + 5 {
        changes.notify(Change::record("post", id.to_string()));
    }
    assert_eq!(changes.queue.lock().buffer.len(), CAPACITY, "no more are buffered");
    assert_eq!(slow.try_next(), Some(Change::anything()));
    assert_eq!(slow.try_next(), None);
    changes.notify(Change::entity("post"));
    assert_eq!(slow.try_next(), Some(Change::entity("post")));
}

#[test]
fn a_waiting_listener_is_woken() {
    let changes = Changes::new();
    let mut listener = changes.listen();
    let woken = Arc::new(WakeCounter::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut cx = Context::from_waker(&waker);
    assert_eq!(listener.poll_next_unpin(&mut cx), Poll::Pending);
    changes.notify(Change::anything());
    changes.notify(Change::anything());
    assert_eq!(woken.0.load(Ordering::Relaxed), 1, "once, until it has looked again");
    assert_eq!(listener.poll_next_unpin(&mut cx), Poll::Ready(Some(Change::anything())));
}

#[test]
fn sources_can_wait_for_a_listener() {
    let changes = Changes::new();
    let woken = Arc::new(WakeCounter::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut cx = Context::from_waker(&waker);
    let mut wanted = std::pin::pin!(changes.wanted());
    assert_eq!(wanted.as_mut().poll(&mut cx), Poll::Pending);
    let listener = changes.listen();
    assert!(changes.is_wanted());
    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    assert_eq!(wanted.as_mut().poll(&mut cx), Poll::Ready(()));
    changes.notify(Change::anything());
    drop(listener);
    assert!(!changes.is_wanted());
    assert_eq!(changes.queue.lock().buffer.len(), 0, "changes are dropped without listeners");
}

mod touched {
    //! Tests of the reads that a change affects.

    use mesh_ql::Format;
    use std::sync::Arc;

    use mesh_schema::{FieldType, JoinDocument, Schema, TableName, ThroughDocument};

    use crate::{Change, Mesh, Request};

    fn mesh() -> Mesh {
        let schema = Schema::builder()
            .entity("user", |user| user.field("id", FieldType::Integer))
            .entity("post", |post| post.field("id", FieldType::Integer))
            .entity("draft", |draft| draft.field("id", FieldType::Integer).table("posts"))
            .entity("tag", |tag| tag.field("id", FieldType::Integer))
            .entity("file", |file| file.field("id", FieldType::Uuid))
            .entity("postTag", |pair| pair.field("postId", FieldType::Integer).no_id().table("post_tags"))
            .relation("post.author", JoinDocument::one("user", "users.id = posts.author_id"))
            .relation("post.related", JoinDocument::many("post", "posts.id = posts.related_id"))
            .relation("user.posts", JoinDocument::many("post", "posts.author_id = users.id"))
            .relation(
                "post.tags",
                JoinDocument::through("tag", ThroughDocument::new("post_tags", "post_id", "tag_id")),
            )
            .build()
            .unwrap();
        Mesh::builder(schema).build().unwrap()
    }

    #[track_caller]
    fn check(query: &str, touched: &[Change], untouched: &[Change]) {
        let mesh = mesh();
        let plan = mesh.plan(&Request::point(Format::Ql, query, "7")).unwrap();
        for (changes, expected) in [(touched, true), (untouched, false)] {
            for change in changes {
                assert_eq!(plan.is_touched_by(change, mesh.schema()), expected, "{query} {change:?}");
            }
        }
    }

    #[test]
    fn sources_name_the_record_if_no_other_one_counts() {
        let mesh = mesh();
        let sources = |request: Request<'_>| mesh.plan(&request).unwrap().sources(mesh.schema());
        let point = |query| sources(Request::point(Format::Ql, query, "7"));
        let keys = |changes: Vec<Change>| {
            let mut keys: Vec<_> = changes
                .iter()
                .map(|change| match (change.entity.as_deref(), change.id.as_deref()) {
                    (Some(entity), Some(id)) => format!("{entity}/{id}"),
                    (entity, _) => entity.unwrap_or_default().to_owned(),
                })
                .collect();
            keys.sort_unstable();
            keys.join(" ")
        };
        assert_eq!(keys(point("{ post id }")), "draft post/7");
        assert_eq!(keys(point("{ post author { id } }")), "draft post/7 user");
        assert_eq!(keys(point("{ post related { id } }")), "draft post");
        assert_eq!(keys(point("{ user posts { id } }")), "draft post user/7");
        let tags = sources(Request::collection(Format::Ql, "{ post tags { id } }"));
        assert_eq!(keys(tags), "draft post postTag tag");
    }

    #[test]
    fn changes_of_the_record_and_of_its_relations_touch_the_read() {
        let (all, posts, users) = (Change::anything(), Change::entity("post"), Change::entity("user"));
        let (seven, eight) = (Change::record("post", "7"), Change::record("post", "8"));
        let pairs = Change::entity("postTag");
        let unknown = Change::entity("nosuch");
        check(
            "{ post id }",
            &[all.clone(), posts.clone(), seven.clone(), unknown],
            &[users.clone(), eight.clone(), pairs.clone()],
        );
        check(
            "{ post author { id } }",
            &[all, users.clone(), seven],
            &[eight.clone(), Change::entity("tag")],
        );
        check("{ post related { id } }", &[posts, eight.clone()], &[users]);
        check(
            "{ post tags { id } }",
            &[pairs.clone(), Change::entity("tag")],
            &[Change::record("post", "9")],
        );
        check("{ user posts { tags { id } } }", &[pairs, eight], &[Change::record("user", "8")]);
        // Ids of another entity over the table may identify other rows.
        check("{ post id }", &[Change::record("draft", "8")], &[]);
    }

    fn outside(tables: &[&str]) -> Change {
        let table = |name: &&str| TableName { schema: None, name: (*name).to_owned() };
        Change::outside(Arc::new(tables.iter().map(table).collect()))
    }

    #[test]
    fn a_change_outside_of_tables_touches_what_reads_any_other() {
        check("{ post id }", &[outside(&["users"])], &[outside(&["posts"])]);
        check("{ post author { id } }", &[outside(&["posts"])], &[outside(&["posts", "users"])]);
        check(
            "{ post tags { id } }",
            &[outside(&["posts", "tags"])],
            &[outside(&["posts", "tags", "post_tags"])],
        );
        let mesh = mesh();
        let by_entity = |tables| {
            let changes = outside(tables).by_entity(mesh.schema());
            let keys: Vec<_> = changes.iter().filter_map(|change| change.entity.as_deref()).collect();
            keys.join(" ")
        };
        assert_eq!(by_entity(&["posts", "users"]), "file postTag tag");
        assert_eq!(
            by_entity(&["posts", "users", "tags", "files"]),
            "postTag tag",
            "tags are read through pairs"
        );
    }

    #[test]
    fn texts_that_a_collation_may_make_equal_do_not_differ() {
        let equal = [("ab", "AB"), ("a-b", "ab"), ("ab", "ab  "), ("cafe", "caf\u{e9}"), ("x", "\u{f6}")];
        assert!(equal.iter().all(|(one, other)| !super::super::are_different_texts(one, other)));
        assert!(super::super::are_different_texts("ab", "abc"));
    }

    #[test]
    fn ids_that_differ_in_case_can_be_those_of_one_record() {
        let mesh = mesh();
        let id = "6F1C0AF2-9F3B-4E0B-8A55-0D4D6A1E7B11";
        let plan = mesh.plan(&Request::point(Format::Ql, "{ file id }", id)).unwrap();
        let is_touched_by = |id: String| plan.is_touched_by(&Change::record("file", id), mesh.schema());
        assert!(is_touched_by(id.to_lowercase()));
        assert!(!is_touched_by(id.replace('6', "7")));
    }

    #[test]
    fn keys_distinguish_reads() {
        let mesh = mesh();
        let key = |query, id| mesh.plan(&Request::point(Format::Ql, query, id)).unwrap().key();
        assert_eq!(key("{ post id }", "7"), key("{ post id }", "7"));
        assert_ne!(key("{ post id }", "7"), key("{ post id }", "8"));
        assert_ne!(key("{ post id }", "7"), key("{ user id }", "7"));
        let list = mesh.plan(&Request::collection(Format::Ql, "{ post id }")).unwrap();
        assert_ne!(list.key(), key("{ post id }", "7"));
    }
}
