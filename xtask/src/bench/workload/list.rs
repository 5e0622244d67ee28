//! The workloads with their targets, and named groups of them.

use std::borrow::Cow;

use super::read::Read;
use super::size::Size;
use super::{READ, Target, Transport, Workload};
use crate::bench::machine::cores::CorePlacement;
use crate::bench::request::Kind;

const NESTED_TARGETS: &[Target] =
    &[Target::Speed(Kind::Limit, 0.95), Target::Tail(Kind::Limit, 1.3), Target::Speed(Kind::GraphQl, 3.5)];

const SIGNED_TARGETS: &[Target] = &[Target::Speed(Kind::Limit, 0.9), Target::Tail(Kind::Limit, 1.3)];

/// Rows of a large page cost about as much as rows of a page of 1,000.
const ROW_TARGETS: &[Target] = &[Target::Row(1.15)];

/// With a sample a hundred times as large, a read costs hardly more, and its cost grows no more than that of a hand-written read.
const SIZE_TARGETS: &[Target] = &[Target::Cost(1.2), Target::CostRelative(Kind::Limit, 1.1)];

/// Requests of workloads that run on samples of several sizes: enough to reach a large part of each sample.
const MANY_RECORDS: u32 = 32_768;

const NAMES: [(&str, &[&str]); 9] = [
    ("reads", &["w1", "w2", "w3", "w4"]),
    ("forms", &["tags", "tree", "wide", "update", "create", "bulk", "export"]),
    (
        "relational",
        &[
            "groups", "some", "every", "busiest", "total", "path", "backward", "param", "search", "buckets",
            "batch5",
        ],
    ),
    ("cache", &["c1", "c2", "c4"]),
    ("persisted", &["p1", "p2"]),
    ("signed", &["s1", "s2", "s3", "s4"]),
    ("rows", &["rows1", "rows1000", "rows20", "rows20000", "rows100000"]),
    ("sizes", &["size1", "size2"]),
    (
        "growth",
        &[
            "rows1",
            "rows1000",
            "rows20",
            "rows20000",
            "rows100000",
            "page1",
            "page1000",
            "size1",
            "size2",
            "cores1",
            "cores2",
            "memory",
        ],
    ),
];

/// Returns the workloads with these names, or of groups such as `reads`, `cache`, `growth` and `all`.
pub(crate) fn parse_list(list: &str) -> Result<Vec<Workload>, String> {
    let all = all();
    let mut found = Vec::new();
    for name in list.split(',') {
        let group = NAMES.iter().find(|(group, _)| *group == name).map_or(&[][..], |(_, names)| *names);
        let matching =
            |workload: &&Workload| name == "all" || workload.name == name || group.contains(&&*workload.name);
        let before = found.len();
        found.extend(all.iter().filter(matching).cloned());
        if found.len() == before {
            let known: Vec<_> = all.iter().map(|workload| &*workload.name).collect();
            let groups = NAMES.map(|(group, _)| group).join(", ");
            return Err(format!(
                "there is no workload '{name}'; there are {} and the groups {groups}, all",
                known.join(", ")
            ));
        }
    }
    Ok(found)
}

/// Repeats the workloads that run on samples of several sizes, once per size, smallest first.
pub(crate) fn with_sizes(workloads: Vec<Workload>, sizes: &[Size]) -> Vec<Workload> {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    sizes.dedup();
    let each = |workload: Workload| {
        if !workload.is_sized() {
            return vec![workload];
        }
        let name = |size: &Size| format!("{}@{size}", workload.name);
        let first = sizes.first().map(name).unwrap_or_default();
        let of = |size: &Size| Workload {
            name: Cow::Owned(name(size)),
            posts: size.posts(),
            // The smallest sample is the baseline.
            targets: if name(size) == first { &[] } else { workload.targets },
            baseline: Cow::Owned(first.clone()),
            ..workload.clone()
        };
        sizes.iter().map(of).collect()
    };
    workloads.into_iter().flat_map(each).collect()
}

fn cached() -> Workload {
    Workload {
        peers: &[Kind::Constant, Kind::Mesh],
        cache: "64 MiB",
        targets: &[Target::Speed(Kind::Constant, 0.8)],
        ..READ
    }
}

fn growth() -> Workload {
    Workload { peers: &[Kind::Mesh], targets: &[], ..READ }
}

fn named_as(name: &'static str, what: &'static str, workload: Workload) -> Workload {
    Workload { name: Cow::Borrowed(name), what, ..workload }
}

/// Returns a workload that reads pages in index order, beside a hand-written server.
fn rows(first: u32) -> Workload {
    let connections = if first > 1_000 { 1 } else { READ.connections };
    Workload { read: Read::Rows(first), peers: &[Kind::Limit, Kind::Mesh], connections, ..growth() }
}

/// Returns a workload that reads a page of 20.
fn page() -> Workload {
    Workload { read: Read::Page { first: 20 }, ..growth() }
}

fn all() -> Vec<Workload> {
    [reads(), forms(), relational(), ways(), growths()].concat()
}

fn reads() -> Vec<Workload> {
    let nested = Workload { read: Read::Nested, targets: NESTED_TARGETS, ..READ };
    let newest = Workload { read: Read::Newest, ..READ };
    let deep = Workload { read: Read::Deep, targets: NESTED_TARGETS, ..READ };
    vec![
        named_as("w1", "one post by id, scalars", READ),
        named_as("w2", "one post by id with author, comments and their authors", nested),
        named_as("w3", "the 20 newest published posts with author", newest),
        named_as("w4", "w3 with comments and their authors", deep),
    ]
}

/// Other forms of reads, and writes.
fn forms() -> Vec<Workload> {
    let form = |read| Workload {
        read,
        peers: &[Kind::Limit, Kind::Mesh],
        targets: &[Target::Speed(Kind::Limit, 0.85)],
        ..READ
    };
    vec![
        named_as("tags", "the 20 newest published posts with their tags", form(Read::Tags)),
        named_as("tree", "an employee, two levels of managers and of reports", form(Read::Tree)),
        named_as("wide", "a page of 200 rows with 30 columns", form(Read::Wide)),
        named_as("update", "an update of one field of a post", form(Read::Update)),
        named_as("create", "a comment that is created with its link to a post", form(Read::Create)),
        named_as(
            "bulk",
            "1,000 users that are created by one request",
            Workload { connections: 4, targets: &[Target::Speed(Kind::Limit, 0.3)], ..form(Read::Bulk) },
        ),
        // One address may run only a few exports at a time.
        named_as("export", "all posts as lines of JSON", Workload { connections: 2, ..form(Read::Export) }),
    ]
}

/// Groups, conditions and orders by related records, pages, parameters, searches, and several reads at once.
fn relational() -> Vec<Workload> {
    let form = |read| Workload {
        read,
        peers: &[Kind::Limit, Kind::Mesh],
        targets: &[Target::Speed(Kind::Limit, 0.9)],
        ..READ
    };
    let param = Workload {
        baseline: Cow::Borrowed("w1"),
        targets: &[Target::Speed(Kind::Limit, 0.9), Target::Cost(1.2)],
        ..form(Read::Param)
    };
    vec![
        named_as("groups", "the 200 products of a supplier by category, four aggregates", form(Read::Groups)),
        named_as("some", "the 20 newest published posts with some comment by a user", form(Read::Some)),
        named_as("every", "20 users whose every post has so many views", form(Read::Every)),
        named_as("busiest", "the posts of a user, most commented first", form(Read::Busiest)),
        named_as("total", "the newest comments of a user, and how many there are", form(Read::Total)),
        named_as("path", "the comments of a user by the titles of their posts", form(Read::Path)),
        named_as("backward", "the last page of the newest published posts", form(Read::Backward)),
        named_as("param", "the page of the post whose id is a parameter, against w1", param),
        named_as("search", "the first 20 posts whose title has a word", form(Read::Search)),
        named_as("buckets", "the posts published in a year by month", form(Read::Buckets)),
        named_as("batch5", "a batch of five w1", form(Read::Batch)),
    ]
}

/// The reads from the cache, by persisted id, and signed.
fn ways() -> Vec<Workload> {
    let kept = |read| Workload { read, ..cached() };
    let persisted = |read| Workload { read, transport: Transport::Persisted, ..READ };
    let signed = |read| Workload { read, transport: Transport::Signed, targets: SIGNED_TARGETS, ..READ };
    vec![
        named_as("c1", "w1 repeated, from the response cache", kept(Read::Scalars)),
        named_as("c2", "w2 repeated, from the response cache", kept(Read::Nested)),
        named_as("c4", "w4 repeated, from the response cache", kept(Read::Deep)),
        named_as("p1", "w1 by the id of a persisted query", persisted(Read::Scalars)),
        named_as("p2", "w2 by the id of a persisted query", persisted(Read::Nested)),
        named_as("s1", "w1 signed", signed(Read::Scalars)),
        named_as("s2", "w2 signed", signed(Read::Nested)),
        named_as("s3", "w3 signed", signed(Read::Newest)),
        named_as("s4", "w4 signed", signed(Read::Deep)),
    ]
}

/// Growth with rows, pages, data, cores and requests.
fn growths() -> Vec<Workload> {
    let starve = Workload {
        connections: 4,
        threads: 2,
        placement: CorePlacement::ServerUnpinned,
        with_scans: true,
        targets: &[Target::Within(5_000.0)],
        ..growth()
    };
    let thousand = Workload { baseline: Cow::Borrowed("rows1"), ..rows(1_000) };
    let many = |first| Workload { baseline: Cow::Borrowed("rows1000"), targets: ROW_TARGETS, ..rows(first) };
    let page1000 = Workload {
        pages_before: 1_000,
        baseline: Cow::Borrowed("page1"),
        targets: &[Target::Cost(1.2)],
        ..page()
    };
    let sized = |read| Workload {
        read,
        peers: &[Kind::Limit, Kind::Mesh],
        records: MANY_RECORDS,
        posts: 0,
        targets: SIZE_TARGETS,
        ..READ
    };
    let cores = |threads| Workload { threads, placement: CorePlacement::ThreadsEach(threads), ..growth() };
    let cores2 = Workload {
        baseline: Cow::Borrowed("cores1"),
        targets: &[Target::Throughput(1.9)],
        connections: 2 * READ.connections,
        ..cores(2)
    };
    let memory = Workload { read: Read::Many, transport: Transport::Signed, cache: "16 MiB", ..growth() };
    vec![
        named_as("starve", "w1 while four clients scan the whole table", starve),
        named_as("rows1", "1 post, for the cost of a row", rows(1)),
        named_as("rows1000", "1,000 posts, for the cost of a row", thousand),
        named_as("rows20", "20 posts, for the cost of a row", many(20)),
        named_as("rows20000", "20,000 posts, for the cost of a row", many(20_000)),
        named_as("rows100000", "100,000 posts, for the cost of a row", many(100_000)),
        named_as("page1", "the first 20 posts by views", page()),
        named_as("page1000", "the page after 1,000 others", page1000),
        named_as("size1", "w1 on samples of several sizes, ids from all over", sized(Read::Scalars)),
        named_as("size2", "w2 on samples of several sizes, ids from all over", sized(Read::Nested)),
        named_as("cores1", "w1, one thread of the server and one of the load", cores(1)),
        named_as(
            "cores2",
            "w1, two threads of the server and two of the load, each connection on one of both",
            cores2,
        ),
        named_as("memory", "memory after increasing numbers of distinct requests", memory),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_name_existing_workloads() {
        let all = all();
        for (group, names) in NAMES {
            assert_eq!(parse_list(group).unwrap().len(), names.len(), "{group}");
        }
        let compared = all.iter().filter(|workload| !workload.baseline.is_empty());
        for workload in compared {
            assert!(parse_list(&workload.baseline).is_ok(), "{}", workload.name);
        }
    }

    #[test]
    fn sizes_are_measured_from_the_smallest_on() {
        let sizes = ["10MB", "1MB", "10MB"].map(|text| Size::parse(text).unwrap());
        let names = |workloads: Vec<Workload>| -> Vec<_> {
            workloads.into_iter().map(|it| (it.name, it.baseline, it.targets.len())).collect()
        };
        let seen = names(with_sizes(parse_list("w1,size1").unwrap(), &sizes));
        let small = Cow::Borrowed("size1@1MB");
        let expected = [
            (Cow::Borrowed("w1"), Cow::Borrowed(""), 2),
            (small.clone(), small.clone(), 0),
            (Cow::Borrowed("size1@10MB"), small, 2),
        ];
        assert_eq!(seen, expected);
    }
}
