//! Planning of the steps of a batch. Each step is planned when the results of the earlier steps are known.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mesh_plan::backend::{Script, ScriptStep, StepResult};
use mesh_plan::error::WriteFault;
use mesh_plan::{Error, Fields, Mesh, PlanError, Principal, RecordId, Request, ResolveError, WriteRequest};
use mesh_ql::Format;
use mesh_wire::request::{BatchStep, StepReference, replace_references};
use mesh_wire::{BasePath, Route, WireError};

use super::{path, profiles};

/// The steps of a batch.
pub(super) struct Batch {
    mesh: Arc<Mesh>,
    steps: Vec<BatchStep>,
    principal: Option<Arc<Principal>>,
    /// The maximum number of bytes of the values of all references.
    values_max: usize,
    /// The number of bytes of those values so far.
    values: AtomicUsize,
    /// The maximum objects and bytes of all results, if they differ from the limits of every response.
    bounds: Option<(usize, usize)>,
}

impl Batch {
    /// Creates a batch of steps with valid routes and bodies.
    ///
    /// # Errors
    /// 400 if a step refers to a step that does not precede it.
    pub(super) fn new(
        mesh: Arc<Mesh>,
        steps: Vec<BatchStep>,
        principal: Option<Arc<Principal>>,
        values_max: usize,
        bounds: Option<(usize, usize)>,
    ) -> Result<Self, WireError> {
        for (index, step) in steps.iter().enumerate() {
            let before = steps.get(..index).unwrap_or_default();
            let check = |reference: StepReference<'_>| -> Result<String, Error> {
                let is_known = before.iter().any(|step| step.name.as_deref() == Some(reference.name));
                // Any value will do, because the result is not used.
                if is_known {
                    Ok("0".to_owned())
                } else {
                    Err(fault(reference, "no earlier step has this name"))
                }
            };
            let checked = path::replace(&step.path, check).map(drop);
            let body = step.body.as_deref().unwrap_or_default();
            let checked = checked.and_then(|()| replace_references(body, check).map(drop));
            checked.map_err(|error| WireError::from(error).at_step(index))?;
        }
        Ok(Self { mesh, steps, principal, values_max, values: AtomicUsize::new(0), bounds })
    }

    fn read(
        &self,
        entity: &str,
        id: &str,
        query: Option<(Format, &str)>,
    ) -> Result<Option<ScriptStep>, Error> {
        let (format, text) = query.unwrap_or((Format::Json, ""));
        let request = Request::point(format, text, RecordId::Segment(id)).with_entity(entity);
        let plan = self.mesh.plan(&request.with_principal(self.principal.as_deref()))?;
        Ok(Some(ScriptStep::Read { plan, lock: None }))
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
        let mut results = Results { batch: self, done, parsed: HashMap::new() };
        let path = path::replace(&step.path, |reference| results.id(reference))?;
        let body = step.body.as_deref();
        let body = body.map(|body| replace_references(body, |reference| results.value(reference)));
        let body = body.transpose()?;
        // Path and body were checked before, with placeholders for the values.
        let unexpected = |error: &dyn ToString| Error::from(ResolveError::new(error.to_string()));
        let route = Route::parse(&BasePath::root(), &profiles(), &step.method, &path);
        let route = route.map_err(|error| unexpected(&error))?;
        let fields = body.as_ref().map(|body| Fields::parse(body.as_bytes()));
        let fields = fields.transpose().map_err(|error| unexpected(&error))?;
        let query = step.query.as_ref().map(|(format, text)| (*format, text.as_str()));
        match (&route, route.write_target()) {
            (Route::Point { entity, id }, _) => self.read(entity, id, query),
            (Route::Update { entity, id }, _) if fields.is_none() => self.read(entity, id, query),
            (_, Some(target)) => {
                let mut request = WriteRequest::new(target).with_principal(self.principal.as_deref());
                (request.fields, request.reply) = (fields.as_ref(), query.map(Into::into));
                Ok(Some(ScriptStep::Write(Arc::from([self.mesh.plan_write(&request)?]))))
            }
            (_, None) => Err(unexpected(&"a step has no route")),
        }
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
        let index = steps.position(|step| step.name.as_deref() == Some(reference.name));
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
