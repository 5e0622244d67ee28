//! The log on standard error. A thread writes the lines, so that requests never wait for a slow reader; lines that do
//! not fit into its queue are dropped and counted. The queue is bounded in bytes, because lines contain paths of clients.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracing::level_filters::LevelFilter;
use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{DefaultFields, Writer};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::cli::failure::Failure;
use crate::cli::terminal::escaped;
use crate::config::{Config, LogFormat};

/// The target of the SDK of the Model Context Protocol.
const SDK: &str = "rmcp";
/// Maximum number of lines in the queue of the writer thread.
const QUEUED_LINES: usize = 4_096;
/// The minimum weight of a line in bytes. Few lines are longer.
const LINE_BYTES: usize = 1_024;
/// Maximum number of bytes in the queue.
const QUEUED_BYTES: usize = QUEUED_LINES * LINE_BYTES;

/// Logs to standard error as configured. The guard writes the queued lines, for at most a second, when it is dropped.
pub(crate) fn start(config: &Config) -> Result<Option<WorkerGuard>, Failure> {
    let filter: Targets = config.log.parse()?;
    // Panics are logged like everything else, because writing past the queue could block.
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    if filter.default_level() == Some(LevelFilter::OFF) && filter.iter().next().is_none() {
        return Ok(None);
    }
    // The SDK of the tools for agents warns of every mistake of a client.
    let names_sdk = filter.iter().any(|(target, _)| target.starts_with(SDK));
    let filter = if names_sdk { filter } else { filter.with_target(SDK, LevelFilter::ERROR) };
    let (writer, guard) = non_blocking(io::stderr(), config.log_format);
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(move || writer.clone())
        .with_ansi(io::stderr().is_terminal());
    let registry = tracing_subscriber::registry().with(filter);
    let started = match config.log_format {
        LogFormat::Pretty => {
            registry.with(layer.with_target(false).compact().fmt_fields(EscapedFields::default())).try_init()
        }
        LogFormat::Json => registry.with(layer.json().flatten_event(true)).try_init(),
    };
    started?;
    Ok(Some(guard))
}

/// Formats fields, and the message, on one line, because they contain text of databases and clients.
#[derive(Default)]
struct EscapedFields(DefaultFields);

impl<'w> FormatFields<'w> for EscapedFields {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut text = String::new();
        self.0.format_fields(Writer::new(&mut text), fields)?;
        writer.write_str(&escaped(&text))
    }
}

fn non_blocking(out: impl Write + Send + 'static, format: LogFormat) -> (QueueWriter, WorkerGuard) {
    let queue = Arc::new(Queue::default());
    let out = DropReporter { out, format, queue: Arc::clone(&queue), reported: 0 };
    let builder = NonBlockingBuilder::default().buffered_lines_limit(QUEUED_LINES).thread_name("mesh-log");
    let (lines, guard) = builder.finish(out);
    (QueueWriter { lines, queue }, guard)
}

/// The fill level of the queue.
#[derive(Default)]
struct Queue {
    /// The total weight of the lines that are not written yet.
    bytes: AtomicUsize,
    /// The number of lines that were dropped.
    dropped: AtomicUsize,
}

/// Returns the weight of a line. It is at least `LINE_BYTES`, so the queue never has more than `QUEUED_LINES` lines.
fn weight(line: &[u8]) -> usize {
    line.len().max(LINE_BYTES)
}

/// Queues lines, or drops them if the queue is full.
#[derive(Clone)]
struct QueueWriter {
    lines: NonBlocking,
    queue: Arc<Queue>,
}

impl Write for QueueWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let admit = |queued: usize| queued.checked_add(weight(line)).filter(|bytes| *bytes <= QUEUED_BYTES);
        if self.queue.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, admit).is_err() {
            self.queue.dropped.fetch_add(1, Ordering::Relaxed);
            return Ok(line.len());
        }
        self.lines.write(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes lines, and after each one how many were dropped since the last report.
struct DropReporter<W> {
    out: W,
    format: LogFormat,
    queue: Arc<Queue>,
    reported: usize,
}

impl<W: Write> Write for DropReporter<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let written = self.out.write_all(line);
        self.queue.bytes.fetch_sub(weight(line), Ordering::Relaxed);
        written?;
        let dropped = self.queue.dropped.load(Ordering::Relaxed);
        let new = dropped.saturating_sub(self.reported);
        if new > 0 {
            self.reported = dropped;
            let message = format!("{new} log lines were dropped, because the log was not read fast enough");
            match self.format {
                LogFormat::Pretty => writeln!(self.out, "WARN {message}")?,
                LogFormat::Json => writeln!(self.out, r#"{{"level":"WARN","message":"{message}"}}"#)?,
            }
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::{Duration, Instant};

    use super::*;

    /// Collects what is written; blocks while the gate is locked.
    #[derive(Clone, Default)]
    struct SlowReader {
        text: Arc<Mutex<String>>,
        gate: Arc<Mutex<()>>,
    }

    impl Write for SlowReader {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _open = self.gate.lock().unwrap();
            self.text.lock().unwrap().push_str(std::str::from_utf8(bytes).unwrap());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn slow_reader_blocks_nothing_and_dropped_lines_are_counted() {
        let reader = SlowReader::default();
        let closed = reader.gate.lock().unwrap();
        let (mut writer, guard) = non_blocking(reader.clone(), LogFormat::Pretty);
        let start = Instant::now();
        for _ in 0..QUEUED_LINES + 100 {
            writer.write_all(b"x\n").unwrap();
        }
        assert!(writer.queue.dropped.load(Ordering::Relaxed) >= 99);
        drop(closed);
        drop(guard);
        assert!(start.elapsed() < Duration::from_secs(20), "writing does not wait for the reader");
        let text = reader.text.lock().unwrap();
        let written = text.lines().filter(|line| *line == "x").count();
        assert_eq!(written, QUEUED_LINES);
        let dropped: usize = text
            .lines()
            .filter_map(|line| line.strip_prefix("WARN ")?.split_once(" log lines were dropped"))
            .map(|(count, _)| count.parse::<usize>().unwrap())
            .sum();
        assert_eq!(dropped + written, QUEUED_LINES + 100);
    }

    #[test]
    fn long_lines_take_no_more_memory_than_short_ones() {
        let reader = SlowReader::default();
        let closed = reader.gate.lock().unwrap();
        let (mut writer, guard) = non_blocking(reader.clone(), LogFormat::Pretty);
        let long = [vec![b'x'; 29_999], vec![b'\n']].concat();
        for _ in 0..1_000 {
            writer.write_all(&long).unwrap();
        }
        let kept = QUEUED_BYTES / long.len();
        assert_eq!(writer.queue.dropped.load(Ordering::Relaxed), 1_000 - kept);
        // A line that is larger than the queue is dropped, too.
        writer.write_all(&vec![b'y'; QUEUED_BYTES + 1]).unwrap();
        drop(closed);
        drop(guard);
        let text = reader.text.lock().unwrap();
        assert_eq!(text.lines().filter(|line| line.starts_with('x')).count(), kept);
        assert!(text.contains(&format!("WARN {} log lines were dropped", 1_001 - kept)), "no report");
        assert_eq!(writer.queue.bytes.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn last_lines_are_written() {
        let reader = SlowReader::default();
        let (mut writer, guard) = non_blocking(reader.clone(), LogFormat::Json);
        writer.write_all(b"one\n").unwrap();
        writer.write_all(b"two\n").unwrap();
        drop(guard);
        assert_eq!(*reader.text.lock().unwrap(), "one\ntwo\n");
    }
}
