//! How are numbers written for Prometheus? Families of samples, each with a word on what it is.

use std::fmt::Write as _;

use super::shard::Histogram;

/// Names and values that tell the samples of a family apart.
pub(crate) type Labels<'a> = &'a [(&'a str, &'a str)];

/// Numbers as they are written for whoever asks. A family may be written once only.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
}

impl Exposition {
    /// A family of numbers that only grow; by custom its name ends in `_total`.
    pub fn counter(&mut self, name: &str, help: &str, samples: &[(Labels<'_>, f64)]) {
        self.family(name, "counter", help, samples);
    }

    /// A family of numbers that come and go.
    pub fn gauge(&mut self, name: &str, help: &str, samples: &[(Labels<'_>, f64)]) {
        self.family(name, "gauge", help, samples);
    }

    fn family(&mut self, name: &str, kind: &str, help: &str, samples: &[(Labels<'_>, f64)]) {
        self.begin(name, kind, help);
        for (labels, value) in samples {
            self.sample(name, labels, *value);
        }
    }

    pub(super) fn begin(&mut self, name: &str, kind: &str, help: &str) {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        // Writing into a text cannot fail.
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

    pub(super) fn histogram(&mut self, name: &str, labels: Labels<'_>, histogram: &Histogram) {
        let bucket = format!("{name}_bucket");
        let mut count = 0;
        for (end, own) in &histogram.buckets {
            count += own;
            let end = if end.is_finite() { end.to_string() } else { "+Inf".to_owned() };
            let labels: Vec<_> = labels.iter().copied().chain([("le", end.as_str())]).collect();
            self.sample(&bucket, &labels, count as f64);
        }
        self.sample(&format!("{name}_sum"), labels, histogram.sum);
        self.sample(&format!("{name}_count"), labels, count as f64);
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}
