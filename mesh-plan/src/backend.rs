//! What the implementations of back ends and of servers need, in addition to plans, writes and rows.

pub use crate::cache::{Cache, LocalCache};
pub use crate::mesh::{Expected, Transacted};
pub use crate::outcome::CommitGate;
pub use crate::plan::{PlanId, PlanKey};
pub use crate::repeats::Repeats;
pub use crate::resolver::{Export, ExportSink, MaybeReady, Trace, TracedStatement, Usage, WaitCounter};
pub use crate::rows::Total;
pub use crate::script::{Script, ScriptError, ScriptStep, StepResult, run_reads};
pub use crate::shape::{Cells, ExportFormat, ExportWriter, Flow, OutputKey, RowSource};
pub use crate::value::bucket::Periods;
pub use crate::value::canonical::canonical;
pub use crate::value::is_special_decimal;
pub use crate::value::json::{JsonPointer, JsonType};
pub use crate::value::like::{Pattern, PatternTooLong};
pub use crate::value::number::number_text;
pub use crate::value::search::{SearchTerm, SearchText};
pub use crate::value::time::{Time, extended, is_date};
pub use futures_util::future::Either;
