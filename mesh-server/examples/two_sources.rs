//! A read from two sources: `cargo run -p mesh-server --example two_sources`.
//!
//! Customers are rows of a SQL table; their invoices come from another service over HTTP. Mesh evaluates the plan over
//! both: relations, filters, order and pages.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use mesh_server::mesh_plan::{Mesh, Plan, ResolveError, Rows, Value, memory::Tables};
use mesh_server::mesh_schema::{FieldType, JoinDocument, Schema};
use mesh_server::{App, Server};
use rusqlite::Connection;
use serde::Deserialize;
use tokio::net::TcpListener;

/// The table of customers.
struct Customers(Mutex<Connection>);

impl Customers {
    fn open() -> Result<Self, rusqlite::Error> {
        let database = Connection::open_in_memory()?;
        database.execute_batch(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
             INSERT INTO customers VALUES (1, 'Ines'), (2, 'Tom'), (3, 'Yuki');",
        )?;
        Ok(Self(Mutex::new(database)))
    }

    /// Returns id and name of one customer, or of all.
    fn rows(&self, id: Option<i64>) -> Result<Vec<(i64, String)>, rusqlite::Error> {
        let database = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut statement =
            database.prepare_cached("SELECT id, name FROM customers WHERE id = ?1 OR ?1 IS NULL")?;
        statement.query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }
}

/// The client of the service for invoices. This one returns fixed data.
struct Billing;

#[derive(Deserialize)]
struct Invoice {
    number: i64,
    customer: i64,
    total: f64,
}

impl Billing {
    /// Returns the reply of `GET /invoices?customers=1,2`.
    async fn get(&self, customers: &[i64]) -> Result<Vec<Invoice>, serde_json::Error> {
        let body = r#"[{"number": 71, "customer": 1, "total": 20.5}, {"number": 72, "customer": 3, "total": 7.0},
                       {"number": 73, "customer": 1, "total": 4.25}]"#;
        let mut invoices: Vec<Invoice> = serde_json::from_str(body)?;
        invoices.retain(|invoice| customers.contains(&invoice.customer));
        Ok(invoices)
    }
}

async fn resolve(customers: Arc<Customers>, plan: Plan) -> Result<Rows, ResolveError> {
    let id = match plan.target().id() {
        Some([Value::Integer(id)]) => Some(*id),
        _ => None,
    };
    // The database blocks, so it is read on a blocking thread.
    let reading = tokio::task::spawn_blocking(move || customers.rows(id));
    let customers = reading.await.map_err(ResolveError::new)?.map_err(ResolveError::new)?;
    let ids: Vec<i64> = customers.iter().map(|(id, _)| *id).collect();
    let rows = customers.into_iter().map(|(id, name)| vec![id.into(), name.into()]);
    let mut tables = Tables::new().with("customers", ["id", "name"], rows);

    // One request for all invoices, and none if the query does not select invoices.
    if plan.node().joins.iter().any(|join| join.name == "invoices") {
        let invoices = Billing.get(&ids).await.map_err(ResolveError::new)?;
        let rows = invoices.iter().map(|it| vec![it.number.into(), it.customer.into(), it.total.into()]);
        tables = tables.with("invoices", ["number", "customer", "total"], rows);
    }
    tables.rows(&plan)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let schema = Schema::builder()
        .entity("customer", |it| it.field("id", FieldType::Integer).field("name", FieldType::String))
        .entity("invoice", |it| {
            it.field("number", FieldType::Integer).field("total", FieldType::Number).id("number")
        })
        .relation("customer.invoices", JoinDocument::many("invoice", "invoices.customer = customers.id"))
        .build()?;
    let customers = Arc::new(Customers::open()?);
    let resolver = move |plan, _| resolve(Arc::clone(&customers), plan);
    let app = App::builder(Mesh::builder(schema).resolver("customer", resolver).build()?).build()?;

    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:4000".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    Server::new(app).serve(listener, std::future::pending()).await?;
    Ok(())
}
