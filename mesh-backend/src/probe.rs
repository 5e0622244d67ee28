//! Writes that the schema permits and the database would refuse.

use mesh_plan::sql::WriteProbe;

/// Returns notes about statements that the database refuses. `refusal` returns the reason why it refuses a statement.
///
/// # Errors
/// The database cannot be asked.
pub async fn refused<E>(
    probes: Vec<WriteProbe>,
    mut refusal: impl AsyncFnMut(&str) -> Result<Option<String>, E>,
) -> Result<Vec<String>, E> {
    let mut notes = Vec::new();
    for probe in probes {
        let Some(cause) = refusal(&probe.sql).await? else { continue };
        let mut refused = Vec::new();
        for (field, sql) in &probe.fields {
            if refusal(sql).await?.is_some() {
                refused.push(field.as_str());
            }
        }
        notes.push(probe.note(&refused, &cause));
    }
    Ok(notes)
}
