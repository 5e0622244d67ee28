//! The parameters of a planned query, from which the values of each run are converted.

use mesh_ql::{FilterOp, Name, Operand, OrParam, Span, Spanned};
use mesh_schema::{FieldType, TimeForm};

use super::ColumnSource;

/// A parameter of a query, with the values that its first use takes. `SPEC §19`
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// The name.
    pub name: String,
    /// The type of the values; `None` if it is not known, or if the field is JSON.
    pub ty: Option<FieldType>,
    /// Whether the value is a list.
    pub is_list: bool,
}

/// The parameters of a planned query.
#[derive(Debug)]
pub(crate) struct Parameters {
    pub(crate) uses: Vec<ParamUse>,
    /// The variant of the conditions in this plan.
    pub(crate) variant: String,
    /// The bounds of the values.
    pub(crate) limits: mesh_ql::Limits,
}

/// A use of a parameter. Uses are in the order of the inputs.
#[derive(Debug)]
pub(crate) enum ParamUse {
    Condition(Box<ConditionUse>),
    Search(TextUse),
    Page(PageUse),
}

/// A value that can be compared.
#[derive(Clone, Debug)]
pub(crate) struct Comparable {
    pub(crate) name: Name,
    pub(crate) source: ColumnSource,
    pub(crate) ty: Option<FieldType>,
    /// The type of its column, if known.
    pub(crate) stored: Option<FieldType>,
    pub(crate) time_form: Option<TimeForm>,
    /// Whether it can be NULL.
    pub(crate) nullable: bool,
    /// Whether the database cannot compare it.
    pub(crate) incomparable: bool,
}

/// A condition with parameters.
#[derive(Debug)]
pub(crate) struct ConditionUse {
    pub(crate) path: String,
    pub(crate) left: Comparable,
    pub(crate) op: Spanned<FilterOp>,
    pub(crate) operand: Operand,
}

/// A parameter that is the text of a search.
#[derive(Debug)]
pub(crate) struct TextUse {
    pub(crate) path: String,
    pub(crate) name: Name,
    pub(crate) span: Option<Span>,
}

/// A member of `$page` that is a parameter.
#[derive(Debug)]
pub(crate) struct PageUse {
    pub(crate) path: String,
    pub(crate) name: Name,
    pub(crate) span: Option<Span>,
    pub(crate) member: PageMember,
}

/// A member of `$page`.
#[derive(Debug)]
pub(crate) enum PageMember {
    Size,
    Skip,
    /// The cursor of the root's page.
    Cursor,
    /// The cursor of the page of a relation, which can only be `null`.
    NoCursor {
        relation: String,
    },
}

impl Parameters {
    /// Returns whether a parameter is the cursor of the root's page.
    pub(crate) fn has_cursor(&self) -> bool {
        self.uses.iter().any(ParamUse::is_cursor)
    }
}

impl ParamUse {
    /// Returns whether the parameter is the cursor of the root's page.
    pub(crate) fn is_cursor(&self) -> bool {
        matches!(self, Self::Page(PageUse { member: PageMember::Cursor, .. }))
    }

    /// Returns the names of the parameters.
    pub(crate) fn names(&self) -> Vec<&Name> {
        match self {
            Self::Condition(usage) => params(&usage.operand).map(|(name, _)| name).collect(),
            Self::Search(usage) => vec![&usage.name],
            Self::Page(usage) => vec![&usage.name],
        }
    }
}

/// Lists the parameters of an operand.
pub(crate) fn params(operand: &Operand) -> impl Iterator<Item = (&Name, Option<Span>)> {
    let list = match operand {
        Operand::None => &[][..],
        Operand::One(value) => std::slice::from_ref(value),
        Operand::Many(list) => list,
    };
    list.iter().filter_map(|value| match &value.value {
        OrParam::Param { name } => Some((name, value.span)),
        OrParam::Value(_) => None,
    })
}
