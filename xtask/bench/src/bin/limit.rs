//! A workload of the benchmark, hand-written over hyper and SQLite: everything on one thread, except for writes that are committed in
//! groups.
//!
//! With `--constant` it always returns the reply for the record 1, created at start: the limit of HTTP alone.

use std::path::PathBuf;

use mesh_bench::{Ask, Error, argument, arguments, http, sqlite};

fn main() -> Result<(), Error> {
    let [database, workload, variant] = arguments()?;
    let database = PathBuf::from(database);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    if variant == "group" {
        let writes = sqlite::Group::start(database, workload);
        let serving = http::serve(async move |ask: Ask<'_>| writes.run(ask).await);
        return tokio::task::LocalSet::new().block_on(&runtime, serving);
    }
    let mut answer = sqlite::prepare(&database, &workload, &variant)?;
    tokio::task::LocalSet::new().block_on(&runtime, async {
        if argument("--constant").is_some() {
            let body = sqlite::body(&mut answer, Ask { id: 1, body: b"" })?;
            return http::serve(async move |_: Ask<'_>| Ok(body.clone())).await;
        }
        let answer = std::cell::RefCell::new(answer);
        http::serve(async move |ask: Ask<'_>| sqlite::body(&mut answer.borrow_mut(), ask)).await
    })
}
