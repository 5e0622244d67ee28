//! Planning of searches and of the order by relevance. `SPEC §20.2`, `SPEC §20.3`

use mesh_ql::{Limits, OrParam, Span, Spanned};

use super::Planner;
use super::context::NodeContext;
use crate::PlanError;
use crate::error::PlanErrorKind;
use crate::plan::{Comparand, Predicate, Search};
use crate::value::search::SearchText;

impl Planner<'_> {
    /// Plans a search of the node's records.
    pub(super) fn search(
        &mut self,
        context: NodeContext<'_>,
        text: &Spanned<OrParam<String>>,
    ) -> Result<Predicate, PlanError> {
        let entity = context.entity;
        let Some(search) = &entity.search else {
            let kind = PlanErrorKind::NoSearch { entity: entity.key.clone() };
            return Err(context.error(text.span, kind));
        };
        let columns = search.fields.iter().map(|id| entity.field(*id).column.clone()).collect();
        let (language, index) = (search.language.clone(), search.index.clone());
        let search = |text| Predicate::Search(Box::new(Search { columns, text, language, index }));
        match &text.value {
            OrParam::Value(words) => {
                check(words, &self.limits.query).map_err(|kind| context.error(text.span, kind))?;
                Ok(search(Comparand::Value(words.clone())))
            }
            OrParam::Param { name } => {
                let words = self.params.search(context.path, name, text.span)?;
                Ok(Predicate::Param { text: format!("search ${name}"), condition: Box::new(search(words)) })
            }
        }
    }
}

/// Checks that a text has a word to look for, and not too many.
pub(in crate::planner) fn check(text: &str, limits: &Limits) -> Result<(), PlanErrorKind> {
    let search = SearchText::parse(text);
    let (words, bound) = (search.terms().len(), limits.search_words);
    if words > bound {
        return Err(PlanErrorKind::SearchWords { words, bound });
    }
    search.required().next().map(drop).ok_or(PlanErrorKind::NoWord)
}

/// Returns the search by which records can be ordered: the whole filter, or the only one in a conjunction.
pub(super) fn ranked(
    context: &NodeContext<'_>,
    filter: Option<&Predicate>,
    span: Option<Span>,
) -> Result<Search, PlanError> {
    let parts = match filter {
        Some(Predicate::All(parts)) => parts.as_slice(),
        other => other.map_or(&[][..], std::slice::from_ref),
    };
    let mut searches = parts.iter().filter_map(|part| match part {
        Predicate::Search(search) => Some(search),
        Predicate::Param { condition, .. } => match &**condition {
            Predicate::Search(search) => Some(search),
            _ => None,
        },
        _ => None,
    });
    match (searches.next(), searches.next()) {
        (Some(search), None) => Ok((**search).clone()),
        _ => Err(context.error(span, PlanErrorKind::NotRanked)),
    }
}
