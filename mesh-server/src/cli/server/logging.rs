//! The log on standard error. A thread writes the lines, so that requests never wait for a slow reader; lines that do
//! not fit into its queue are dropped and counted.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, OnceLock};

use tracing::level_filters::LevelFilter;
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{DefaultFields, Writer};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::cli::failure::Failure;
use crate::cli::terminal::escaped;
use crate::config::{Config, LogFormat};

/// Lines in the queue of the writer thread.
const QUEUED_LINES: usize = 4_096;

/// Logs to standard error as configured. The guard writes the queued lines, for at most a second, when it is dropped.
pub(crate) fn start(config: &Config) -> Result<Option<WorkerGuard>, Failure> {
    let filter: Targets = config.log.parse()?;
    // Panics are logged like everything else, because writing past the queue could block.
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    if filter.default_level() == Some(LevelFilter::OFF) && filter.iter().next().is_none() {
        return Ok(None);
    }
    let (writer, guard) = non_blocking(io::stderr(), config.log_format);
    let layer = tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(io::stderr().is_terminal());
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

/// Formats fields, and the message, on one line: they contain the words of databases and of clients.
#[derive(Default)]
struct EscapedFields(DefaultFields);

impl<'w> FormatFields<'w> for EscapedFields {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut text = String::new();
        self.0.format_fields(Writer::new(&mut text), fields)?;
        writer.write_str(&escaped(&text))
    }
}

fn non_blocking(out: impl Write + Send + 'static, format: LogFormat) -> (NonBlocking, WorkerGuard) {
    let dropped = Arc::new(OnceLock::new());
    let out = DropReporter { out, format, dropped: Arc::clone(&dropped), reported: 0 };
    let builder = NonBlockingBuilder::default().buffered_lines_limit(QUEUED_LINES).thread_name("mesh-log");
    let (writer, guard) = builder.finish(out);
    // The counter exists only after the writer was handed over; this is its only assignment.
    let _ = dropped.set(writer.error_counter());
    (writer, guard)
}

/// Writes lines, and after each one how many were dropped since the last report.
struct DropReporter<W> {
    out: W,
    format: LogFormat,
    dropped: Arc<OnceLock<ErrorCounter>>,
    reported: usize,
}

impl<W: Write> Write for DropReporter<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.out.write_all(line)?;
        let dropped = self.dropped.get().map_or(0, ErrorCounter::dropped_lines);
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
        assert!(writer.error_counter().dropped_lines() >= 99);
        drop(closed);
        drop(guard);
        assert!(start.elapsed() < Duration::from_secs(20), "writing does not wait for the reader");
        let text = reader.text.lock().unwrap();
        let written = text.lines().filter(|line| *line == "x").count();
        // The writer thread holds one line in addition to the queue.
        assert!((QUEUED_LINES..=QUEUED_LINES + 1).contains(&written), "{written}");
        let dropped: usize = text
            .lines()
            .filter_map(|line| line.strip_prefix("WARN ")?.split_once(" log lines were dropped"))
            .map(|(count, _)| count.parse::<usize>().unwrap())
            .sum();
        assert_eq!(dropped + written, QUEUED_LINES + 100);
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
