//! Conversion of the values of parameters to inputs.

use mesh_ql::{Literal, Name, Operand, OrParam, ParamValue, ParamValues, Spanned};

use super::ParamInput;
use crate::error::PlanErrorKind;
use crate::plan::parameters::{ConditionUse, PageMember, PageUse, TextUse, params};
use crate::plan::{Comparand, Predicate};
use crate::planner::{filter, literal, search};
use crate::value::like::Pattern;
use crate::{PlanError, Value};

/// Converts the values of a request.
pub(super) struct Binder<'v> {
    pub(super) param_input: ParamInput<'v>,
    pub(super) limits: mesh_ql::Limits,
    pub(super) inputs: Vec<Value>,
    pub(super) variant: String,
}

impl<'v> Binder<'v> {
    /// Plans a condition with the values of its parameters, and adds the values to the inputs.
    pub(super) fn condition(&mut self, usage: &ConditionUse) -> Result<Predicate, PlanError> {
        let ConditionUse { path, left, op, operand } = usage;
        let values = match self.param_input {
            ParamInput::Partial(values) if params(operand).any(|(name, _)| values.get(name).is_none()) => {
                filter::check_operator(path, left, *op)?;
                return Ok(Predicate::Any(Vec::new()));
            }
            ParamInput::Complete(values) | ParamInput::Partial(values) => values,
        };
        let literals = self.literals(usage, values)?;
        let planned = filter::comparison(path, left, *op, &literals);
        let mut predicate = planned.map_err(|error| {
            // The literal has the span of its parameter.
            let param = params(operand).find(|(_, span)| span.is_some() && *span == error.span);
            match param.or_else(|| params(operand).next()) {
                Some((name, _))
                    if !matches!(
                        error.kind,
                        PlanErrorKind::Operator { .. } | PlanErrorKind::Incomparable { .. }
                    ) =>
                {
                    let fault = Box::new(error.kind);
                    let kind = PlanErrorKind::Parameter { name: name.value.clone(), fault };
                    PlanError { kind, ..error }
                }
                _ => error,
            }
        })?;
        self.lift(&mut predicate);
        self.variant.push(';');
        Ok(predicate)
    }

    /// Returns the operand of a condition with literals in place of its parameters.
    fn literals(&self, usage: &ConditionUse, values: &ParamValues) -> Result<Operand, PlanError> {
        let ConditionUse { path, operand, op, .. } = usage;
        let takes_list = op.takes_list();
        let error = |kind, span| PlanError::new(kind, path.as_str()).with_span(span);
        let refused = |name: &Name, span, takes: &'static str, found: &str| {
            let fault = PlanErrorKind::ParameterValue { takes: takes.to_owned(), found: found.to_owned() };
            let (name, fault) = (name.value.clone(), Box::new(fault));
            error(PlanErrorKind::Parameter { name, fault }, span)
        };
        let value_of = |name: &Name, span| {
            let missing = || error(PlanErrorKind::NoParameter { name: name.value.clone() }, span);
            values.get(name).ok_or_else(missing)
        };
        let literal = |value: &Spanned<OrParam<Literal>>| {
            let span = value.span;
            let literal = match &value.value {
                OrParam::Value(literal) => literal.clone(),
                OrParam::Param { name } => match value_of(name, span)? {
                    ParamValue::One(literal) => literal.clone(),
                    ParamValue::Null => {
                        return Err(refused(name, span, "a value, since only 'isNull' finds null", "null"));
                    }
                    ParamValue::Many(_) => return Err(refused(name, span, "one value", "a list")),
                    ParamValue::Other(found) => return Err(refused(name, span, "one value", found)),
                },
            };
            Ok(Spanned { value: OrParam::Value(literal), span })
        };
        match operand {
            Operand::One(Spanned { value: OrParam::Param { name }, span }) if takes_list => {
                let list = match value_of(name, *span)? {
                    ParamValue::Many(list) => list,
                    ParamValue::One(_) => return Err(refused(name, *span, "a list", "one value")),
                    ParamValue::Null => return Err(refused(name, *span, "a list", "null")),
                    ParamValue::Other(found) => {
                        return Err(refused(name, *span, "a list of values", found));
                    }
                };
                if list.len() > self.limits.in_values {
                    let fault = PlanErrorKind::ParameterValue {
                        takes: format!("at most {} values (bound `in_values`)", self.limits.in_values),
                        found: list.len().to_string(),
                    };
                    let (name, fault) = (name.value.clone(), Box::new(fault));
                    return Err(error(PlanErrorKind::Parameter { name, fault }, *span));
                }
                let one = |value: &Literal| Spanned { value: OrParam::Value(value.clone()), span: *span };
                let mut literals: Vec<_> = list.iter().map(one).collect();
                // Repeating the last value does not change which values the list matches, and keeps the number of forms
                // small. A long list is hardly extended, since databases bound the number of parameters.
                if let Some(last) = literals.last().cloned() {
                    let step = literals.len().next_power_of_two().min(1_024);
                    literals.resize(literals.len().next_multiple_of(step), last);
                }
                Ok(Operand::Many(literals))
            }
            Operand::One(value) => literal(value).map(Operand::One),
            Operand::Many(list) => list.iter().map(literal).collect::<Result<_, _>>().map(Operand::Many),
            Operand::None => Ok(Operand::None),
        }
    }

    /// Adds the text of a search to the inputs.
    pub(super) fn search(&mut self, usage: &TextUse) -> Result<String, PlanError> {
        let TextUse { path, name, span } = usage;
        let error = |kind| PlanError::new(kind, path.as_str()).with_span(*span);
        let wrong =
            |fault| error(PlanErrorKind::Parameter { name: name.value.clone(), fault: Box::new(fault) });
        let found = match (self.param_input.values().get(name), self.param_input) {
            (Some(ParamValue::One(Literal::Text(text))), _) => {
                search::check(text, &self.limits).map_err(wrong)?;
                self.inputs.push(Value::Text(text.clone()));
                return Ok(text.clone());
            }
            (None, ParamInput::Partial(_)) => return Ok(String::new()),
            (None, ParamInput::Complete(_)) => {
                return Err(error(PlanErrorKind::NoParameter { name: name.value.clone() }));
            }
            (Some(ParamValue::One(literal)), _) => literal::describe(literal),
            (Some(ParamValue::Many(_)), _) => "a list".to_owned(),
            (Some(ParamValue::Null), _) => "null".to_owned(),
            (Some(ParamValue::Other(found)), _) => (*found).to_owned(),
        };
        Err(wrong(PlanErrorKind::ParameterValue { takes: "a string".to_owned(), found }))
    }

    /// Checks a member of `$page`. Adds a number of rows to the inputs, and returns the text of a cursor that is not `null`.
    pub(super) fn page(&mut self, usage: &PageUse) -> Result<Option<&'v str>, PlanError> {
        match &usage.member {
            PageMember::Size => self.row_count(usage, 1, ("page_max", self.limits.page_max)),
            PageMember::Skip => self.row_count(usage, 0, ("skip", self.limits.skip)),
            PageMember::Cursor => self.cursor(usage),
            PageMember::NoCursor { relation } => match self.param_input.values().get(&usage.name) {
                Some(ParamValue::Null) => Ok(None),
                Some(_) => Err(usage.error(PlanErrorKind::CursorOnNested { relation: relation.clone() })),
                None => self.cursor(usage),
            },
        }
    }

    fn row_count(
        &mut self,
        usage: &PageUse,
        min: u32,
        (bound, max): (&str, u32),
    ) -> Result<Option<&'v str>, PlanError> {
        let values = self.param_input.values();
        let number = match (values.get(&usage.name), self.param_input) {
            (Some(ParamValue::One(Literal::Integer(number))), _) => *number as f64,
            (Some(ParamValue::One(Literal::Unsigned(number))), _) => *number as f64,
            (Some(ParamValue::One(Literal::Number(number))), _) => *number,
            (None, ParamInput::Complete(_)) => return Err(usage.missing()),
            (None, ParamInput::Partial(_)) => f64::from(min),
            (Some(_), _) => f64::NAN,
        };
        if number.fract() != 0.0 || !(f64::from(min)..=f64::from(max)).contains(&number) {
            let found = match values.get(&usage.name) {
                Some(ParamValue::One(literal)) => literal::describe(literal),
                Some(ParamValue::Null) => "null".to_owned(),
                Some(ParamValue::Other(found)) => (*found).to_owned(),
                Some(ParamValue::Many(_)) | None => "a list".to_owned(),
            };
            let takes = format!("a whole number from {min} to the bound `{bound}` ({max})");
            return Err(usage.error(PlanErrorKind::ParameterValue { takes, found }));
        }
        self.inputs.push(Value::Integer(number as i64));
        Ok(None)
    }

    fn cursor(&self, usage: &PageUse) -> Result<Option<&'v str>, PlanError> {
        let found = match (self.param_input.values().get(&usage.name), self.param_input) {
            (Some(ParamValue::Null), _) | (None, ParamInput::Partial(_)) => return Ok(None),
            (Some(ParamValue::One(Literal::Text(text))), _) => return Ok(Some(text)),
            (None, ParamInput::Complete(_)) => return Err(usage.missing()),
            (Some(ParamValue::One(literal)), _) => literal::describe(literal),
            (Some(ParamValue::Many(_)), _) => "a list".to_owned(),
            (Some(ParamValue::Other(found)), _) => (*found).to_owned(),
        };
        let takes = "a cursor (a string) or null".to_owned();
        Err(usage.error(PlanErrorKind::ParameterValue { takes, found }))
    }

    /// Adds to the variant which values of the cursor are NULL.
    pub(super) fn describe_cursor(&mut self, cursor: Option<&[Value]>) {
        self.variant.push('@');
        let Some(values) = cursor else { return };
        self.variant.push('>');
        self.variant.extend(values.iter().map(|value| if *value == Value::Null { '0' } else { '1' }));
    }

    /// Replaces the values of a condition with inputs, and describes its variant. The recursion is shallow, since the predicate
    /// comes from a single comparison.
    fn lift(&mut self, predicate: &mut Predicate) {
        match predicate {
            Predicate::All(parts) | Predicate::Any(parts) => {
                self.variant.push('(');
                parts.iter_mut().for_each(|part| self.lift(part));
                self.variant.push(')');
            }
            Predicate::Not(part) | Predicate::NotTrue(part) | Predicate::Param { condition: part, .. } => {
                self.variant.push('!');
                self.lift(part);
            }
            Predicate::Compare { value, .. } => self.lift_value(value),
            Predicate::In { values, .. } | Predicate::Has { values, .. } => {
                self.variant.push('[');
                values.iter_mut().for_each(|value| self.lift_value(value));
                self.variant.push(']');
            }
            Predicate::Like { pattern, .. } => {
                let Comparand::Value(text) = pattern else { return };
                self.variant.push(if has_beginning(text) { '%' } else { '?' });
                let slot = self.inputs.len();
                let sample = std::mem::take(text);
                self.inputs.push(Value::Text(sample.clone()));
                *pattern = Comparand::Input { slot, sample };
            }
            Predicate::Exists { .. }
            | Predicate::Session { .. }
            | Predicate::SessionIn { .. }
            | Predicate::IsNull { .. }
            | Predicate::Search(_) => {}
        }
    }

    fn lift_value(&mut self, comparand: &mut Comparand<Value>) {
        let Comparand::Value(value) = comparand else { return };
        self.variant.push(match value {
            Value::Null => 'n',
            Value::Boolean(_) => 'b',
            Value::Integer(_) => 'i',
            Value::Real(_) => 'r',
            Value::Text(_) | Value::InvalidText(_) => 't',
            Value::Bytes(_) => 'x',
        });
        let slot = self.inputs.len();
        let sample = std::mem::take(value);
        self.inputs.push(sample.clone());
        *comparand = Comparand::Input { slot, sample };
    }
}

/// Returns whether an index can be searched for the beginning of the pattern.
fn has_beginning(pattern: &str) -> bool {
    Pattern::new(pattern, false).is_ok_and(|pattern| pattern.prefix_bounds().is_some())
}
