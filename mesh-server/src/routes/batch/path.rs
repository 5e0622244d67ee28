//! Paths of steps, whose ids may refer to results of earlier steps.

use http::Method;
use mesh_plan::RecordId;
use mesh_wire::request::{BatchText, ReferenceError, StepReference};
use mesh_wire::{BasePath, Profiles, Route, WireError};

/// Returns the route of a step, which is a read or a write of records, whether or not writes are on.
pub(super) fn route<'p>(method: &Method, path: &'p str) -> Result<Route<'p>, WireError> {
    let profiles = Profiles { mutations: true, ..Profiles::default() };
    Route::parse(&BasePath::root(), &profiles, method, path)
}

/// Replaces the references in the ids of a path such as `/entity/id/relation/id`: whole segments, or parts of an id of
/// several fields. Names of entities and relations are kept. `resolve` returns the text of a value.
pub(super) fn replace<E: From<ReferenceError>>(
    path: &str,
    mut resolve: impl FnMut(StepReference<'_>) -> Result<String, E>,
) -> Result<String, E> {
    let names = path.strip_prefix('/').unwrap_or(path);
    let mut replaced = Vec::new();
    for (position, segment) in names.split('/').enumerate() {
        if position % 2 == 0 {
            replaced.push(segment.to_owned());
            continue;
        }
        let mut parts = Vec::new();
        for part in segment.split(',') {
            parts.push(match BatchText::parse(part)? {
                BatchText::Literal(text) => text.to_owned(),
                BatchText::Reference(reference) => RecordId::Text(&resolve(reference)?).to_segment(1),
            });
        }
        replaced.push(parts.join(","));
    }
    Ok(format!("/{}", replaced.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(path: &str) -> Result<String, ReferenceError> {
        replace(path, |reference| Ok(format!("<{}/{},>", reference.name, reference.field)))
    }

    #[test]
    fn references_are_whole_segments_or_parts_of_ids() {
        assert_eq!(replaced("/post/7/tags/a%2Fb").unwrap(), "/post/7/tags/a%2Fb");
        assert_eq!(
            replaced("/post/$p.id/tags/$t.slug").unwrap(),
            "/post/%3Cp%2Fid%2C%3E/tags/%3Ct%2Fslug%2C%3E"
        );
        assert_eq!(replaced("/detail/3,$p.id").unwrap(), "/detail/3,%3Cp%2Fid%2C%3E");
        assert_eq!(replaced("/post/$$p.id").unwrap(), "/post/$p.id");
        assert!(replaced("/post/$7").is_err());
    }

    #[test]
    fn names_are_kept() {
        assert_eq!(replaced("$p.slug/$p.id/$p.name/1").unwrap(), "/$p.slug/%3Cp%2Fid%2C%3E/$p.name/1");
    }
}
