//! Feeds `join_on` from a fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mesh_fuzz::run("join_on", data));
