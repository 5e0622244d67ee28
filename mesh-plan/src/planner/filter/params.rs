//! Parameters of queries: their uses in a plan, and the values of a run. `SPEC §19`
//!
//! The uses of parameters are recorded when a query is planned. A run of a cached plan converts the values of its request
//! with the same functions, so a value is checked like a literal. The result is a list of inputs, to which the conditions of
//! the plan refer, and a text that describes the variant of the conditions. Runs of one variant share the plan. Most conditions
//! have one variant; a list has one variant for each power of two of its length, and beyond 1,024 for each multiple of it.

mod binder;

use std::fmt;
use std::sync::Arc;

use mesh_ql::{FilterOp, Literal, Name, Operand, OrParam, ParamValues, Span, Spanned};

use self::binder::Binder;
use crate::error::PlanErrorKind;
use crate::plan::cursor::UnverifiedCursor;
use crate::plan::parameters::{
    Comparable, ConditionUse, PageMember, PageUse, ParamUse, Parameters, TextUse, params,
};
use crate::plan::{Comparand, PlannedQuery, Predicate};
use crate::planner::limits::Limits;
use crate::planner::typed;
use crate::{PlanError, Value};

/// The values that a request sends.
#[derive(Clone, Copy)]
pub(crate) enum ParamInput<'v> {
    /// Values for all parameters.
    Complete(&'v ParamValues),
    /// Values for some of the parameters, as for the registration of a query, which is not run.
    Partial(&'v ParamValues),
}

impl<'v> ParamInput<'v> {
    fn values(self) -> &'v ParamValues {
        match self {
            Self::Complete(values) | Self::Partial(values) => values,
        }
    }
}

/// The values of one run.
pub(crate) struct BoundParams {
    pub(crate) inputs: Vec<Value>,
    /// The sort values of the cursor, if a parameter contains one.
    pub(crate) cursor: Option<Arc<[Value]>>,
    pub(crate) variant: String,
}

/// The parameters of a query that is being planned.
pub(in crate::planner) struct Recorder<'v> {
    uses: Vec<ParamUse>,
    binder: Binder<'v>,
}

impl<'v> Recorder<'v> {
    pub(in crate::planner) fn new(param_input: ParamInput<'v>, limits: &Limits) -> Self {
        let binder = Binder { param_input, limits: limits.query, inputs: Vec::new(), variant: String::new() };
        Self { uses: Vec::new(), binder }
    }

    /// Plans a condition with parameters.
    pub(in crate::planner) fn condition(
        &mut self,
        path: &str,
        left: Comparable,
        op: Spanned<FilterOp>,
        operand: &Operand,
    ) -> Result<Predicate, PlanError> {
        let usage = ConditionUse { path: path.to_owned(), left, op, operand: operand.clone() };
        let condition = self.binder.condition(&usage)?;
        let text = format!("{} {} {}", usage.left.source, op.as_str(), DisplayOperand(operand));
        self.uses.push(ParamUse::Condition(Box::new(usage)));
        Ok(Predicate::Param { text, condition: Box::new(condition) })
    }

    /// Plans the text of a search.
    pub(in crate::planner) fn search(
        &mut self,
        path: &str,
        name: &Name,
        span: Option<Span>,
    ) -> Result<Comparand<String>, PlanError> {
        let usage = TextUse { path: path.to_owned(), name: name.clone(), span };
        let slot = self.binder.inputs.len();
        let sample = self.binder.search(&usage)?;
        self.uses.push(ParamUse::Search(usage));
        Ok(Comparand::Input { slot, sample })
    }

    /// Plans a member of `$page` that is a number of rows. Returns the slot of the input.
    pub(in crate::planner) fn row_count(
        &mut self,
        path: &str,
        param: (&Name, Option<Span>),
        member: PageMember,
    ) -> Result<usize, PlanError> {
        let slot = self.binder.inputs.len();
        self.page(path, param, member)?;
        Ok(slot)
    }

    /// Plans a member of `$page`. Returns the text of a cursor; `None` for the value `null`.
    pub(in crate::planner) fn page(
        &mut self,
        path: &str,
        (name, span): (&Name, Option<Span>),
        member: PageMember,
    ) -> Result<Option<&'v str>, PlanError> {
        let usage = PageUse { path: path.to_owned(), name: name.clone(), span, member };
        let cursor = self.binder.page(&usage)?;
        self.uses.push(ParamUse::Page(usage));
        Ok(cursor)
    }

    /// Completes the plan. `cursor` has the sort values of a cursor that a parameter contains.
    pub(in crate::planner) fn finish(
        mut self,
        cursor: Option<&[Value]>,
    ) -> Result<(Option<Box<Parameters>>, Vec<Value>), PlanError> {
        check_known(&self.uses, self.binder.param_input)?;
        if self.uses.is_empty() {
            return Ok((None, Vec::new()));
        }
        if self.uses.iter().any(ParamUse::is_cursor) {
            self.binder.describe_cursor(cursor);
        }
        let Binder { limits, inputs, variant, .. } = self.binder;
        Ok((Some(Box::new(Parameters { uses: self.uses, variant, limits })), inputs))
    }
}

impl PlannedQuery {
    /// Returns the names of the parameters.
    pub(crate) fn param_names(&self) -> Vec<String> {
        let uses = self.params.as_deref().map(|params| params.uses.as_slice()).unwrap_or_default();
        uses.iter().flat_map(ParamUse::names).map(|name| name.value.clone()).collect()
    }

    /// Returns the variant of the conditions with parameters; empty if there are none.
    pub(crate) fn variant(&self) -> &str {
        self.params.as_deref().map_or("", |params| params.variant.as_str())
    }

    /// Converts the values of a request for a run of the query.
    pub(crate) fn bind(&self, param_input: ParamInput<'_>) -> Result<BoundParams, PlanError> {
        let Some(params) = &self.params else {
            check_known(&[], param_input)?;
            return Ok(BoundParams { inputs: Vec::new(), cursor: None, variant: String::new() });
        };
        let Parameters { uses, limits, .. } = &**params;
        let mut binder = Binder { param_input, limits: *limits, inputs: Vec::new(), variant: String::new() };
        let mut cursor = None;
        for usage in uses {
            match usage {
                ParamUse::Condition(usage) => binder.condition(usage).map(drop)?,
                ParamUse::Search(usage) => binder.search(usage).map(drop)?,
                ParamUse::Page(usage) => {
                    if let Some(text) = binder.page(usage)? {
                        let opened = self.open(text);
                        cursor = Some(opened.ok_or_else(|| usage.error(PlanErrorKind::CursorMismatch))?);
                    }
                }
            }
        }
        if params.has_cursor() {
            binder.describe_cursor(cursor.as_deref());
        }
        check_known(uses, param_input)?;
        Ok(BoundParams { inputs: binder.inputs, cursor, variant: binder.variant })
    }

    fn open(&self, text: &str) -> Option<Arc<[Value]>> {
        let values = self.seal.open(UnverifiedCursor::parse(text)?, self.node.order.len())?;
        Some(typed(&self.node.columns, &self.node.order, values))
    }
}

impl PageUse {
    fn error(&self, kind: PlanErrorKind) -> PlanError {
        let (name, fault) = (self.name.value.clone(), Box::new(kind));
        PlanError::new(PlanErrorKind::Parameter { name, fault }, self.path.as_str()).with_span(self.span)
    }

    fn missing(&self) -> PlanError {
        let name = self.name.value.clone();
        PlanError::new(PlanErrorKind::NoParameter { name }, self.path.as_str()).with_span(self.span)
    }
}

/// Refuses values of parameters that the query does not have.
fn check_known(uses: &[ParamUse], param_input: ParamInput<'_>) -> Result<(), PlanError> {
    let is_used = |name: &str| uses.iter().flat_map(ParamUse::names).any(|known| known.value == name);
    match param_input.values().iter().find(|(name, _)| !is_used(name)) {
        None => Ok(()),
        Some((name, _)) => Err(PlanError::new(PlanErrorKind::unknown_parameter(name), "")),
    }
}

/// Returns whether an operand has parameters.
pub(super) fn has_params(operand: &Operand) -> bool {
    params(operand).next().is_some()
}

/// Writes an operand with the names of its parameters.
struct DisplayOperand<'a>(&'a Operand);

impl fmt::Display for DisplayOperand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |value: &OrParam<Literal>| match value {
            OrParam::Param { name } => format!("${name}"),
            OrParam::Value(Literal::Boolean(value)) => value.to_string(),
            OrParam::Value(Literal::Integer(value)) => value.to_string(),
            OrParam::Value(Literal::Unsigned(value)) => value.to_string(),
            OrParam::Value(Literal::Number(value)) => format!("{value:?}"),
            OrParam::Value(Literal::Text(value)) => format!("{value:?}"),
        };
        match self.0 {
            Operand::None => Ok(()),
            Operand::One(value) => f.write_str(&one(value)),
            Operand::Many(list) => {
                let list: Vec<_> = list.iter().map(|value| one(value)).collect();
                write!(f, "({})", list.join(", "))
            }
        }
    }
}
