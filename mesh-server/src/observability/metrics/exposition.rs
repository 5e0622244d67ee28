//! Prometheus' text format: families of samples, each with a help text and a type.

use std::fmt::Write as _;

/// The names and values of a sample's labels.
pub(crate) type Labels<'a> = &'a [(&'a str, &'a str)];

/// Metrics in Prometheus' text format. Each family must be written only once.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
}

impl Exposition {
    /// Writes a family of values that only grow. By convention its name ends in `_total`.
    pub fn counter(&mut self, name: &str, help: &str, samples: &[(Labels<'_>, f64)]) {
        self.family(name, "counter", help, samples);
    }

    /// Writes a family of values that grow and shrink.
    pub fn gauge(&mut self, name: &str, help: &str, samples: &[(Labels<'_>, f64)]) {
        self.family(name, "gauge", help, samples);
    }

    fn family(&mut self, name: &str, kind: &str, help: &str, samples: &[(Labels<'_>, f64)]) {
        self.begin(name, kind, help);
        for (labels, value) in samples {
            self.sample(name, labels, *value);
        }
    }

    /// Writes the head of a family.
    pub(super) fn begin(&mut self, name: &str, kind: &str, help: &str) {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    pub(super) fn sample(&mut self, name: &str, labels: Labels<'_>, value: f64) {
        self.text.push_str(name);
        if !labels.is_empty() {
            self.text.push('{');
            for (index, (label, value)) in labels.iter().enumerate() {
                let comma = if index == 0 { "" } else { "," };
                let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
                let _ = write!(self.text, "{comma}{label}=\"{value}\"");
            }
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}
