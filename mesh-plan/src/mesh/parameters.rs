//! The parameters of a query and the values that they take, for descriptions of registered queries.

use std::collections::BTreeSet;

use mesh_ql::{Operand, OrParam};
use mesh_schema::FieldType;

use super::{Mesh, NO_PARAMS, Request};
use crate::Error;
use crate::plan::PlannedQuery;
use crate::plan::parameters::{ConditionUse, PageMember, ParamUse, Parameter};
use crate::planner::ParamInput;

impl Mesh {
    /// Returns the parameters of a query in the order of their first uses, regardless of policies.
    ///
    /// # Errors
    /// Those of [`Mesh::check_unrestricted`].
    pub fn parameters(&self, request: &Request<'_>) -> Result<Vec<Parameter>, Error> {
        let param_input = ParamInput::Partial(request.params.unwrap_or(&NO_PARAMS));
        let planned = self.plan_query(self.views.unrestricted(), request, param_input)?;
        let mut seen = BTreeSet::new();
        let all = parameters(&planned.query).into_iter();
        Ok(all.filter(|parameter| seen.insert(parameter.name.clone())).collect())
    }
}

fn parameters(query: &PlannedQuery) -> Vec<Parameter> {
    let uses = query.params.as_deref().map(|params| params.uses.as_slice()).unwrap_or_default();
    let parameters = uses.iter().flat_map(|usage| match usage {
        ParamUse::Condition(usage) => condition_parameters(usage),
        ParamUse::Search(usage) => {
            let (name, ty) = (usage.name.value.clone(), Some(FieldType::String));
            vec![Parameter { name, ty, is_list: false }]
        }
        ParamUse::Page(usage) => {
            let ty = match usage.member {
                PageMember::Size | PageMember::Skip => FieldType::Integer,
                PageMember::Cursor | PageMember::NoCursor { .. } => FieldType::String,
            };
            vec![Parameter { name: usage.name.value.clone(), ty: Some(ty), is_list: false }]
        }
    });
    parameters.collect()
}

fn condition_parameters(usage: &ConditionUse) -> Vec<Parameter> {
    // A condition on JSON compares with a scalar of any type.
    let ty = usage.left.ty.filter(|ty| *ty != FieldType::Json);
    let takes_list = usage.op.takes_list();
    let named = |value: &OrParam<_>, is_list| match value {
        OrParam::Param { name } => Some(Parameter { name: name.value.clone(), ty, is_list }),
        OrParam::Value(_) => None,
    };
    match &usage.operand {
        Operand::None => Vec::new(),
        Operand::One(value) => named(&value.value, takes_list).into_iter().collect(),
        Operand::Many(values) => values.iter().filter_map(|value| named(&value.value, false)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use mesh_ql::Format;
    use mesh_schema::Schema;

    use super::*;

    #[test]
    fn the_use_of_a_parameter_decides_what_it_takes() {
        let schema = Schema::builder().entity("post", |post| {
            post.field("id", FieldType::Integer)
                .field("title", FieldType::String)
                .field("meta", FieldType::Json)
        });
        let mesh = Mesh::builder(schema.build().unwrap()).build().unwrap();
        let query = r#"{"post": {"$select": {"id": true}, "$where": {"and": [
            {"field": "id", "op": "in", "value": {"$param": "ids"}},
            {"field": "id", "op": "nin", "value": [1, {"$param": "but"}]},
            {"field": "title", "op": "eq", "value": {"$param": "title"}},
            {"field": "title", "op": "ne", "value": {"$param": "title"}},
            {"field": "meta", "at": "/a", "op": "eq", "value": {"$param": "a"}}
        ]}, "$page": {"first": {"$param": "size"}, "after": {"$param": "cursor"}}}}"#;
        let skip = r#"{"post": {"$select": {"id": true}, "$page": {"skip": {"$param": "start"}}}}"#;
        let parameters = mesh.parameters(&Request::collection(Format::Json, query)).unwrap();
        let shown: Vec<_> = parameters.iter().map(|it| (it.name.as_str(), it.ty, it.is_list)).collect();
        let expected = vec![
            ("ids", Some(FieldType::Integer), true),
            ("but", Some(FieldType::Integer), false),
            ("title", Some(FieldType::String), false),
            ("a", None, false),
            ("size", Some(FieldType::Integer), false),
            ("cursor", Some(FieldType::String), false),
        ];
        assert_eq!(shown, expected);
        let parameters = mesh.parameters(&Request::collection(Format::Json, skip)).unwrap();
        assert_eq!(parameters[0].ty, Some(FieldType::Integer));
    }
}
