//! Does a server grow with the requests that it has served? Its memory after ever more of them, all different: ids,
//! queries and cursors, in a session, with every cache on.

use std::path::Path;

use serde_json::Value;

use super::Ground;
use super::load::Loader;
use super::peer::{Kind, Peer};
use super::request::Request;
use super::workload::Workload;

/// How often the memory is looked at, after as many requests again each time.
const LOOKS: u32 = 10;
/// Pages that are walked for their cursors.
const PAGES: u32 = 500;
/// Bytes for each request beyond those of the first look. The least that anything kept could take is more.
const MOST: f64 = 8.0;

/// What a server took after some requests.
pub(crate) struct Memory {
    /// Requests served, and bytes.
    pub(crate) looks: Vec<(u32, u64)>,
}

impl Memory {
    /// Bytes for each further request: the line that lies nearest to all looks.
    pub(crate) fn slope(&self) -> f64 {
        let count = self.looks.len().max(1) as f64;
        let points = self.looks.iter().map(|(requests, bytes)| (f64::from(*requests), *bytes as f64));
        let (x, y) = points.clone().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
        let (x, y) = (x / count, y / count);
        let over: f64 = points.clone().map(|point| (point.0 - x) * (point.1 - y)).sum();
        let under: f64 = points.map(|point| (point.0 - x).powi(2)).sum();
        if under > 0.0 { over / under } else { 0.0 }
    }

    /// Whether memory does not depend on how many requests were served, with the text that says so.
    pub(crate) fn target(&self) -> (String, bool) {
        let mebibytes =
            |look: Option<&(u32, u64)>| look.map_or(0.0, |(_, bytes)| *bytes as f64 / 1_048_576.0);
        let requests = self.looks.last().map_or(0, |(requests, _)| *requests);
        let (first, last) = (mebibytes(self.looks.first()), mebibytes(self.looks.last()));
        let slope = self.slope();
        let text = format!(
            "memory: {first:.1} MiB after {} requests, {last:.1} MiB after {requests}, {slope:.2} bytes for each, \
             at most {MOST}",
            requests / LOOKS
        );
        (text, slope <= MOST)
    }
}

/// Serves ten times so many requests, and looks at the memory after each tenth of them.
pub(crate) fn measure(
    ground: &Ground,
    data: &Path,
    workload: &Workload,
    requests: u32,
) -> Result<Memory, String> {
    let peer = Peer::start(ground, data, Kind::Mesh, workload)?;
    let mut workload = workload.clone();
    workload.prepare(&peer)?;
    let cursors = cursors(&workload, &peer)?;
    let mut memory = Memory { looks: Vec::new() };
    let file = ground.folder.join("memory.requests");
    for look in 0..LOOKS {
        let text: String = (look * requests..(look + 1) * requests)
            .map(|number| request(&workload, &cursors, number).text() + "\0")
            .collect();
        std::fs::write(&file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        let seen = Loader::new(ground, &file, peer.address(), workload.connections).once()?;
        if seen.errors > 0 {
            return Err(format!("{} of {requests} requests failed", seen.errors));
        }
        let bytes = peer.resident()?;
        let served = (look + 1) * requests;
        eprintln!("  {served:>8} requests: {:.1} MiB", bytes as f64 / 1_048_576.0);
        memory.looks.push((served, bytes));
    }
    let _ = std::fs::remove_file(&file);
    Ok(memory)
}

/// The ends of many pages.
fn cursors(workload: &Workload, peer: &Peer) -> Result<Vec<String>, String> {
    let mut cursors: Vec<String> = Vec::new();
    for _ in 0..PAGES {
        let query = page(0, cursors.last());
        let answer = peer.ask(&workload.signed("/mesh/post".to_owned(), &query))?;
        let end = answer.get("pageInfo").and_then(|info| info.get("endCursor")).and_then(Value::as_str);
        cursors.push(end.ok_or_else(|| format!("a page without an end: {answer}"))?.to_owned());
    }
    Ok(cursors)
}

/// One of a row of requests no two of which are the same: by turns another id twice, another query, another cursor.
fn request(workload: &Workload, cursors: &[String], number: u32) -> Request {
    let turn = number / 4;
    let point = || format!("/mesh/post/{}", workload.record(number));
    match number % 4 {
        0 => workload.signed(point(), r#"{"post":{"$select":{"id":true,"title":true,"body":true}}}"#),
        1 => workload.signed(
            point(),
            r#"{"post":{"$select":{"title":true,"author":{"$select":{"name":true}},"comments":{"$select":{"body":true}}}}}"#,
        ),
        2 => {
            let query = format!(
                r#"{{"post":{{"$select":{{"id":true,"title":true,"author":{{"$select":{{"name":true}}}}}},"$where":{{"field":"id","op":"gte","value":{turn}}},"$page":{{"first":3}}}}}}"#
            );
            workload.signed("/mesh/post".to_owned(), &query)
        }
        _ => {
            // Once all cursors were used, what comes after them is asked for in another way.
            let count = cursors.len().max(1);
            let (round, place) = (turn as usize / count, turn as usize % count);
            workload.signed("/mesh/post".to_owned(), &page(round, cursors.get(place)))
        }
    }
}

/// The page after a cursor, in one of many ways: up to 20 posts, with some of the fields.
fn page(way: usize, after: Option<&String>) -> String {
    let after = after.map(|after| format!(r#","after":"{after}""#)).unwrap_or_default();
    let chosen = OPTIONAL.iter().enumerate().filter(|(place, _)| (way / 20) >> place & 1 == 1);
    let fields: String = chosen.map(|(_, name)| format!(r#""{name}":true,"#)).collect();
    let first = 20 - way % 20;
    format!(
        r#"{{"post":{{"$select":{{{fields}"id":true}},"$orderBy":[{{"field":"views","direction":"asc"}}],"$page":{{"first":{first}{after}}}}}}}"#
    )
}

const OPTIONAL: [&str; 5] = ["title", "views", "published", "publishedAt", "body"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::list::named;

    #[test]
    fn no_two_requests_are_the_same() {
        let [workload] = &named("memory").unwrap()[..] else { panic!() };
        let cursors: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
        // Ids repeat where there are no more of them.
        let mut texts: Vec<_> = (0..4_000).map(|number| request(workload, &cursors, number).text()).collect();
        texts.sort();
        texts.dedup();
        assert!(texts.len() > 3_900, "{}", texts.len());
    }

    #[test]
    fn a_slope_is_that_of_the_line_between_the_looks() {
        let slope =
            |bytes: [u64; 3]| Memory { looks: [100, 200, 300].into_iter().zip(bytes).collect() }.slope();
        assert_eq!([slope([5_000; 3]), slope([0, 800, 1_600]), slope([1_000, 0, 1_000])], [0.0, 8.0, 0.0]);
        assert!(
            Memory { looks: vec![(100, 1_000), (200, 2_000)] }.target().0.contains("10.00 bytes for each")
        );
    }
}
