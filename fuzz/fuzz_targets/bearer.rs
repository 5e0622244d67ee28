//! Feeds `bearer` from a fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mesh_fuzz::run("bearer", data));
