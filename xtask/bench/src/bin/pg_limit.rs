//! A workload of the benchmark, hand-written over hyper and tokio-postgres. The requests are spread over
//! `--connections` connections, 4 by default, which carry them at the same time.

use std::cell::Cell;

use mesh_bench::postgres::Link;
use mesh_bench::{Ask, Error, argument, arguments, http};

fn main() -> Result<(), Error> {
    let [database, workload, variant] = arguments()?;
    let connections: usize = argument("--connections").unwrap_or_else(|| "4".to_owned()).parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let mut links = Vec::with_capacity(connections);
        for _ in 0..connections {
            links.push(Link::open(&database, &workload, &variant).await?);
        }
        let next = Cell::new(0usize);
        http::serve(async move |ask: Ask<'_>| {
            next.set((next.get() + 1) % links.len());
            links[next.get()].body(ask).await
        })
        .await
    })
}
