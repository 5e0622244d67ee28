//! Reads beyond the wire contract: exports, parameters, and values as the engines store them.

mod export;
mod json_names;
mod params;
mod stored;
