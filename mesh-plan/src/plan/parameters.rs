//! The parameters of a planned query, from which the values of each run are converted.

use mesh_ql::{FilterOp, Literal, Name, Operand, OrParam, Span, Spanned};
use mesh_schema::{FieldType, TimeForm};

use super::ColumnSource;

/// The parameters of a planned query.
#[derive(Debug)]
pub(crate) struct Parameters {
    pub(crate) uses: Vec<Use>,
    /// The form of the conditions in this plan.
    pub(crate) form: String,
    /// The largest number of values in a list.
    pub(crate) in_values: usize,
    /// The largest size of a page.
    pub(crate) page_max: u32,
}

/// A use of a parameter. Uses are in the order of the inputs.
#[derive(Debug)]
pub(crate) enum Use {
    Condition(Box<ConditionUse>),
    PageSize(PageUse),
    Cursor(PageUse),
    /// The cursor of a page of a relation, which can only be `null`.
    NoCursor {
        place: PageUse,
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
    pub(crate) fn have_cursor(&self) -> bool {
        self.uses.iter().any(|place| matches!(place, Use::Cursor(_)))
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
        let uses = self.uses.iter().map(|place| match place {
            Use::Condition(place) => {
                let operand = match &place.operand {
                    Operand::None => 0,
                    Operand::One(value) => one(value),
                    Operand::Many(list) => list.iter().map(one).sum(),
                };
                // Each text and list is an allocation.
                size_of::<ConditionUse>() + 5 * 16 + place.path.len() + 2 * place.name.len() + operand
            }
            Use::PageSize(place) | Use::Cursor(place) => 3 * 16 + place.path.len() + place.name.len(),
            Use::NoCursor { place, relation } => {
                4 * 16 + place.path.len() + place.name.len() + relation.len()
            }
        });
        size_of::<Self>() + self.form.len() + uses.map(|bytes| bytes + size_of::<Use>()).sum::<usize>()
    }
}
