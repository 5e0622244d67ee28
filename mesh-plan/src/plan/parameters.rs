//! The parameters of a planned query, from which the values of each run are converted.

use mesh_ql::{FilterOp, Name, Operand, Span, Spanned};
use mesh_schema::{FieldType, TimeForm};

use super::ColumnSource;

/// The parameters of a planned query.
#[derive(Debug)]
pub(crate) struct Parameters {
    pub(crate) uses: Vec<ParamUse>,
    /// The form of the conditions in this plan.
    pub(crate) form: String,
    /// The largest number of values in a list.
    pub(crate) in_values: usize,
    /// The largest size of a page.
    pub(crate) page_max: u32,
}

/// A use of a parameter. Uses are in the order of the inputs.
#[derive(Debug)]
pub(crate) enum ParamUse {
    Condition(Box<ConditionUse>),
    PageSize(PageUse),
    Cursor(PageUse),
    /// The cursor of a page of a relation, which can only be `null`.
    NoCursor {
        usage: PageUse,
        relation: String,
    },
}

/// A condition with parameters.
#[derive(Debug)]
pub(crate) struct ConditionUse {
    pub(crate) path: String,
    pub(crate) name: Name,
    pub(crate) source: ColumnSource,
    pub(crate) ty: Option<FieldType>,
    pub(crate) stored: Option<FieldType>,
    pub(crate) time_form: Option<TimeForm>,
    pub(crate) nullable: bool,
    pub(crate) incomparable: bool,
    pub(crate) op: Spanned<FilterOp>,
    pub(crate) operand: Operand,
}

/// A part of `$page`.
#[derive(Debug)]
pub(crate) struct PageUse {
    pub(crate) path: String,
    pub(crate) name: Name,
    pub(crate) span: Option<Span>,
}

impl Parameters {
    /// Returns whether a parameter is the cursor of the root's page.
    pub(crate) fn has_cursor(&self) -> bool {
        self.uses.iter().any(|usage| matches!(usage, ParamUse::Cursor(_)))
    }
}
