//! Compresses the files of the page, so that no request has to.

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::{env, fs};

/// The quality of Brotli. Higher ones take many times as long in a build without optimization.
const BROTLI_QUALITY: u32 = 9;
const BROTLI_WINDOW: u32 = 22;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=assets");
    let out = env::var("OUT_DIR")?;
    for name in ["app.js", "shared.js", "pictures.js", "app.css"] {
        let bytes = fs::read(Path::new("assets").join(name))?;
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gzip.write_all(&bytes)?;
        fs::write(Path::new(&out).join(format!("{name}.gz")), gzip.finish()?)?;
        let mut brotli = brotli::CompressorWriter::new(Vec::new(), 4096, BROTLI_QUALITY, BROTLI_WINDOW);
        brotli.write_all(&bytes)?;
        fs::write(Path::new(&out).join(format!("{name}.br")), brotli.into_inner())?;
    }
    Ok(())
}
