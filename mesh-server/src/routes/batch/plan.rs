//! Planning of the steps of a batch. Each step is planned when the results of the earlier steps are known.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mesh_plan::backend::{Script, ScriptStep, StepResult};
use mesh_plan::error::WriteFault;
use mesh_plan::persisted::PersistedQuery;
use mesh_plan::{
    Error, Fields, Mesh, Plan, PlanError, Principal, RecordId, Request, ResolveError, WriteRequest,
};
use mesh_ql::{Format, ParamValues};
use mesh_wire::request::{BatchStep, StepQuery, StepReference, replace_references};
use mesh_wire::{Route, WireError};

use super::path;

/// The steps of a batch, whose routes and bodies are valid.
pub(super) struct Batch {
    pub(super) mesh: Arc<Mesh>,
    pub(super) steps: Vec<Step>,
    pub(super) principal: Option<Arc<Principal>>,
    /// The maximum number of bytes of the values of all references.
    pub(super) values_max: usize,
    /// The number of bytes of those values so far.
    pub(super) values: AtomicUsize,
    /// The maximum objects and bytes of all results, if they differ from the limits of every response.
    pub(super) bounds: Option<(usize, usize)>,
}

/// A step whose route, members and body are valid.
pub(super) struct Step {
    pub(super) step: BatchStep,
    /// The entity of the path.
    pub(super) entity: String,
    pub(super) is_write: bool,
    /// Whether the step reads a collection.
    pub(super) is_list: bool,
    /// The registered query to which the step refers.
    pub(super) registered: Option<Arc<PersistedQuery>>,
}

impl Batch {
    /// Checks that each step refers only to results of steps that precede it.
    ///
    /// # Errors
    /// 400 if one does not.
    pub(super) fn check_references(&self) -> Result<(), WireError> {
        for (index, Step { step, .. }) in self.steps.iter().enumerate() {
            // Any value will do, because the result is not used.
            let before = self.steps.get(..index).unwrap_or_default();
            let check = |reference: StepReference<'_>| match before.iter().find(|it| it.is_named(reference)) {
                Some(Step { is_list: true, .. }) => Err(fault(reference, "the step reads a collection")),
                Some(_) => Ok("0".to_owned()),
                None => Err(fault(reference, "no earlier step has this name")),
            };
            let check_all = || {
                path::replace(&step.path, check)?;
                for text in [&step.body, &step.params].into_iter().flatten() {
                    replace_references(text, check)?;
                }
                Ok(())
            };
            check_all().map_err(|error: Error| WireError::from(error).at_step(index))?;
        }
        Ok(())
    }

    /// Plans a read of a record, or of a collection if there is no id.
    fn read(&self, step: &Step, id: Option<&str>, params: Option<&ParamValues>) -> Result<ScriptStep, Error> {
        let completed;
        let ((format, text), params) = match (&step.registered, step.text()) {
            (Some(query), _) => {
                completed = query.params().complete(params)?;
                ((query.format(), query.text()), completed.as_ref())
            }
            (None, text) => (text.unwrap_or((Format::Json, "")), params),
        };
        let mut request = Request::collection(format, text).with_entity(&step.entity).with_params(params);
        request.id = id.map(RecordId::Segment);
        let plan = self.mesh.plan(&request.with_principal(self.principal.as_deref()))?;
        Ok(ScriptStep::Read { plan, lock: None })
    }
}

impl Step {
    fn is_named(&self, reference: StepReference<'_>) -> bool {
        self.step.name.as_deref() == Some(reference.name)
    }

    /// Returns the query if it is sent as text.
    fn text(&self) -> Option<(Format, &str)> {
        match &self.step.query {
            Some(StepQuery::Text(format, text)) => Some((*format, text)),
            _ => None,
        }
    }
}

impl Script for Batch {
    fn next(&self, done: &[StepResult]) -> Result<Option<ScriptStep>, Error> {
        if let Some((rows, bytes)) = self.bounds {
            StepResult::check_size(done, rows, bytes)?;
        }
        let Some(step) = self.steps.get(done.len()) else { return Ok(None) };
        if done.is_empty() {
            // The transaction may be restarted, which resets the count.
            self.values.store(0, Ordering::Relaxed);
        }
        self.step(step, done).map(Some)
    }

    fn read_ahead(&self, step: usize) -> Option<Plan> {
        let step = self.steps.get(step).filter(|step| !step.is_write)?;
        // Without results, references cannot be replaced.
        match self.step(step, &[]) {
            Ok(ScriptStep::Read { plan, .. }) => Some(plan),
            _ => None,
        }
    }
}

impl Batch {
    /// Plans a step after the completed ones.
    fn step(&self, step: &Step, done: &[StepResult]) -> Result<ScriptStep, Error> {
        let mut results = Results { batch: self, done, parsed: HashMap::new() };
        let BatchStep { method, path, body, params, .. } = &step.step;
        let path = path::replace(path, |reference| results.id(reference))?;
        let mut replaced = |text: &Option<String>| {
            let text = text
                .as_ref()
                .map(|text| replace_references(text, |it| results.value(it)).map(Cow::into_owned));
            text.transpose()
        };
        let (body, params) = (replaced(body)?, replaced(params)?);
        // Path, body and parameters were checked before, with placeholders for the values.
        let unexpected = |error: &dyn ToString| Error::from(ResolveError::new(error.to_string()));
        let route = path::route(method, &path).map_err(|error| unexpected(&error))?;
        let params =
            params.as_deref().map(ParamValues::parse).transpose().map_err(|error| unexpected(&error))?;
        let fields = body.as_ref().map(|body| Fields::parse(body.as_bytes()));
        let fields = fields.transpose().map_err(|error| unexpected(&error))?;
        let next = match (&route, route.write_target()) {
            (Route::Point { id, .. } | Route::Update { id, .. }, _) if !step.is_write => {
                self.read(step, Some(id), params.as_ref())?
            }
            (Route::Collection { .. }, _) => self.read(step, None, params.as_ref())?,
            (_, Some(target)) => {
                let mut request = WriteRequest::new(target).with_principal(self.principal.as_deref());
                (request.fields, request.reply) = (fields.as_ref(), step.text().map(Into::into));
                ScriptStep::Write(Arc::from([self.mesh.plan_write(&request)?]))
            }
            (_, None) => return Err(unexpected(&"a step has no route")),
        };
        Ok(next)
    }
}

/// The results of the steps before the current one.
struct Results<'b> {
    batch: &'b Batch,
    done: &'b [StepResult],
    /// The members of results that were referred to, by the index of the step.
    parsed: HashMap<usize, Fields<'b>>,
}

impl Results<'_> {
    /// Returns the JSON text of the value that a reference stands for.
    fn value(&mut self, reference: StepReference<'_>) -> Result<String, Error> {
        let mut steps = self.batch.steps.iter();
        let index = steps.position(|step| step.is_named(reference));
        let index = index.ok_or_else(|| fault(reference, "no earlier step has this name"))?;
        let fields = match self.parsed.entry(index) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let body = self.done.get(index).and_then(|result| result.bodies().next());
                let body = body.ok_or_else(|| fault(reference, "the step has no result"))?;
                let missing = |_| fault(reference, "the record that the step reads does not exist");
                unknown.insert(Fields::parse(&body.bytes).map_err(missing)?)
            }
        };
        let text = fields.text(reference.field);
        let text = text.ok_or_else(|| fault(reference, "the result of the step has no such field"))?;
        let before = self.batch.values.fetch_add(text.len(), Ordering::Relaxed);
        if before + text.len() > self.batch.values_max {
            return Err(fault(reference, "the values of all references exceed the limit of a body"));
        }
        Ok(text.to_owned())
    }

    /// Returns the text of the value that a reference stands for, as an id.
    fn id(&mut self, reference: StepReference<'_>) -> Result<String, Error> {
        let json = self.value(reference)?;
        let text = match serde_json::from_str::<String>(&json) {
            Ok(text) => text,
            Err(_) if json == "null" || json.starts_with(['{', '[']) => String::new(),
            Err(_) => json,
        };
        if text.is_empty() { Err(fault(reference, "the value is not a valid id")) } else { Ok(text) }
    }
}

/// Returns the error of a reference that cannot be replaced.
fn fault(StepReference { name, field }: StepReference<'_>, why: &'static str) -> Error {
    let reference = format!("${name}.{field}");
    PlanError::new(WriteFault::NoResult { reference, why }, "").into()
}
