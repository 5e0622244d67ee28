//! A workload of the benchmark, hand-written over hyper and SQLite: everything on one thread.
//!
//! With `--constant` it always returns the reply for the record 1, created at start: the limit of HTTP alone.

use std::path::PathBuf;

use mesh_bench::{Ask, Error, argument, arguments, http, sqlite};

fn main() -> Result<(), Error> {
    let [database, workload, variant] = arguments()?;
    let mut answer = sqlite::prepare(&PathBuf::from(database), &workload, &variant)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, async {
        if argument("--constant").is_some() {
            let body = sqlite::body(&mut answer, Ask { id: 1, body: b"" })?;
            return http::serve(async move |_: Ask<'_>| Ok(body.clone())).await;
        }
        let answer = std::cell::RefCell::new(answer);
        http::serve(async move |ask: Ask<'_>| sqlite::body(&mut answer.borrow_mut(), ask)).await
    })
}
