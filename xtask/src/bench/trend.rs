//! The trend of the memory of a server.

use super::machine::mebibytes;

/// Maximum growth in bytes per request. Any retained allocation is larger.
const MAX_SLOPE: f64 = 8.0;

/// Memory after increasing numbers of requests.
pub(crate) struct Memory {
    /// Number of requests, and resident bytes.
    pub(crate) samples: Vec<(u32, u64)>,
}

impl Memory {
    /// Returns bytes per request: the slope of the regression line.
    pub(crate) fn slope(&self) -> f64 {
        let count = self.samples.len().max(1) as f64;
        let points = self.samples.iter().map(|(requests, bytes)| (f64::from(*requests), *bytes as f64));
        let (x, y) = points.clone().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
        let (x, y) = (x / count, y / count);
        let over: f64 = points.clone().map(|point| (point.0 - x) * (point.1 - y)).sum();
        let under: f64 = points.map(|point| (point.0 - x).powi(2)).sum();
        if under > 0.0 { over / under } else { 0.0 }
    }

    /// Returns the result as text and whether memory is independent of the number of requests.
    pub(crate) fn target(&self) -> (String, bool) {
        let requests = self.samples.last().map_or(0, |(requests, _)| *requests);
        let size = |sample: Option<&(u32, u64)>| sample.map_or(0.0, |(_, bytes)| mebibytes(*bytes));
        let (first, last) = (size(self.samples.first()), size(self.samples.last()));
        let slope = self.slope();
        let text = format!(
            "memory: {first:.1} MiB after {} requests, {last:.1} MiB after {requests}, {slope:.2} bytes per request, \
             at most {MAX_SLOPE}",
            self.samples.first().map_or(0, |(requests, _)| *requests)
        );
        (text, slope <= MAX_SLOPE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slope_is_that_of_the_regression_line() {
        let slope =
            |bytes: [u64; 3]| Memory { samples: [100, 200, 300].into_iter().zip(bytes).collect() }.slope();
        assert_eq!([slope([5_000; 3]), slope([0, 800, 1_600]), slope([1_000, 0, 1_000])], [0.0, 8.0, 0.0]);
        assert!(
            Memory { samples: vec![(100, 1_000), (200, 2_000)] }
                .target()
                .0
                .contains("10.00 bytes per request")
        );
    }
}
