//! Feeds `statement` from a fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mesh_fuzz::run("statement", data));
