//! Scripts that wait for the connection, and their results.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use mesh_plan::backend::{CommitGate, Script, ScriptError, StepResult};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// The result of a script.
pub(super) type ScriptResult = Result<Vec<StepResult>, ScriptError>;

/// A script that waits for the connection.
pub(super) struct Job {
    pub(super) script: Arc<dyn Script>,
    pub(super) deadline: Instant,
    pub(super) gate: Arc<CommitGate>,
    /// The runtime of the request.
    pub(super) runtime: Handle,
    claim: Claim,
    done: oneshot::Sender<ScriptResult>,
}

/// The right to decide about a job: the thread of the writer runs it, or its request gives it up.
#[derive(Clone, Default)]
pub(super) struct Claim(Arc<AtomicBool>);

impl Claim {
    /// Takes the claim. Returns `false` if the other side has it.
    pub(super) fn take(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }
}

impl Job {
    /// Creates a job of a request on the current runtime, and the receiver of its result.
    pub(super) fn new(
        script: Arc<dyn Script>,
        deadline: Instant,
        gate: Arc<CommitGate>,
    ) -> (Self, oneshot::Receiver<ScriptResult>) {
        let (done, result) = oneshot::channel();
        let (runtime, claim) = (Handle::current(), Claim::default());
        (Self { script, deadline, gate, runtime, claim, done }, result)
    }

    pub(super) fn claim(&self) -> Claim {
        self.claim.clone()
    }

    /// Takes the claim to run the job, unless its request was cancelled.
    pub(super) fn begin(&self) -> bool {
        !self.done.is_closed() && self.claim.take()
    }

    pub(super) fn is_late(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Sends results. Each result that is sent from this thread would wake the thread of its receiver, so one task on each
    /// runtime sends the results of that runtime's requests.
    pub(super) fn send_all(mut results: Vec<(Self, ScriptResult)>) {
        while let Some((first, _)) = results.first() {
            let runtime = first.runtime.clone();
            let is_own = |(job, _): &mut (Self, _)| job.runtime.id() == runtime.id();
            let own: Vec<_> = results.extract_if(.., is_own).collect();
            runtime.spawn(async move {
                for (job, result) in own {
                    // The receiver is gone if the request was cancelled.
                    let _ = job.done.send(result);
                }
            });
        }
    }
}
