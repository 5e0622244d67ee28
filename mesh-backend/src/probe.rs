//! Writes that the schema permits and the database would refuse.

use mesh_sql::WriteProbe;

use crate::pool::Connection;

/// Returns a note for each probe that the database refuses.
///
/// # Errors
/// The database cannot be reached.
pub async fn refused_writes<C: Connection>(
    connection: &mut C,
    probes: &[WriteProbe],
) -> Result<Vec<String>, C::Error> {
    let mut notes = Vec::new();
    for probe in probes {
        let Some(cause) = connection.refusal(&probe.sql).await? else { continue };
        let mut refused = Vec::new();
        for (field, sql) in &probe.fields {
            if connection.refusal(sql).await?.is_some() {
                refused.push(field.as_str());
            }
        }
        notes.push(probe.note(&refused, &cause));
    }
    Ok(notes)
}
