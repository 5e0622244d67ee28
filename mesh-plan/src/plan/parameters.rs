//! The parameters of a planned query, from which the values of each run are converted.

use mesh_ql::{FilterOp, Literal, Name, Operand, OrParam, Span, Spanned};
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

    /// Returns the estimated number of bytes.
    pub(crate) fn bytes(&self) -> usize {
        let text = |literal: &Literal| if let Literal::Text(text) = literal { text.len() } else { 0 };
        let one = |value: &Spanned<OrParam<Literal>>| {
            size_of::<Spanned<OrParam<Literal>>>()
                + match &value.value {
                    OrParam::Value(literal) => text(literal),
                    OrParam::Param { name } => name.len(),
                }
        };
        let uses = self.uses.iter().map(|usage| match usage {
            ParamUse::Condition(usage) => {
                let operand = match &usage.operand {
                    Operand::None => 0,
                    Operand::One(value) => one(value),
                    Operand::Many(list) => list.iter().map(one).sum(),
                };
                // Each text and list is an allocation.
                size_of::<ConditionUse>() + 5 * 16 + usage.path.len() + 2 * usage.name.len() + operand
            }
            ParamUse::PageSize(usage) | ParamUse::Cursor(usage) => {
                3 * 16 + usage.path.len() + usage.name.len()
            }
            ParamUse::NoCursor { usage, relation } => {
                4 * 16 + usage.path.len() + usage.name.len() + relation.len()
            }
        });
        size_of::<Self>() + self.form.len() + uses.map(|bytes| bytes + size_of::<ParamUse>()).sum::<usize>()
    }
}
