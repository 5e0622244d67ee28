//! The files of the page. They are built from `ui/`, committed, and embedded in the program.

use std::sync::LazyLock;

/// A file of the page. Its URL contains a digest of all files, so that caches can keep it forever and scripts can
/// import each other by name.
#[derive(Debug)]
pub(crate) struct Asset {
    file: &'static str,
    pub(crate) content_type: &'static str,
    pub(crate) bytes: &'static [u8],
    pub(crate) compressed: Option<Compressed>,
}

/// The compressed forms of a file, made at build time. They are an extension of the reply with the file; the server
/// sends one of them to clients that accept the encoding.
#[derive(Clone, Copy, Debug)]
pub struct Compressed {
    /// The gzip form.
    pub gzip: &'static [u8],
    /// The Brotli form.
    pub brotli: &'static [u8],
}

/// Returns a file of `assets` that is compressed at build time.
macro_rules! compressed {
    ($name:literal, $content_type:literal) => {
        Asset {
            file: $name,
            content_type: $content_type,
            bytes: include_bytes!(concat!("../assets/", $name)),
            compressed: Some(Compressed {
                gzip: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".gz")),
                brotli: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".br")),
            }),
        }
    };
}

pub(crate) static SCRIPT: Asset = compressed!("app.js", "text/javascript; charset=utf-8");
/// The code that the other scripts share.
pub(crate) static SHARED: Asset = compressed!("shared.js", "text/javascript; charset=utf-8");
/// The views that are loaded when they are first shown.
static PICTURES: Asset = compressed!("pictures.js", "text/javascript; charset=utf-8");
pub(crate) static STYLE: Asset = compressed!("app.css", "text/css; charset=utf-8");

pub(crate) static ICON: Asset = Asset {
    file: "icon.svg",
    content_type: "image/svg+xml",
    bytes: include_bytes!("../assets/icon.svg"),
    compressed: None,
};

static ALL: [&Asset; 5] = [&SCRIPT, &SHARED, &PICTURES, &STYLE, &ICON];

/// The digest of all files.
static BUILD: LazyLock<String> = LazyLock::new(|| digest(ALL.iter().flat_map(|asset| asset.bytes)));

impl Asset {
    /// Returns the last two segments of its URL.
    pub(crate) fn path(&self) -> String {
        format!("{}/{}", *BUILD, self.file)
    }

    /// Returns the file with that path, digest included.
    pub(crate) fn find(path: &str) -> Option<&'static Self> {
        let file = path.strip_prefix(BUILD.as_str())?.strip_prefix('/')?;
        ALL.into_iter().find(|asset| file == asset.file)
    }
}

/// Returns a digest that identifies a build (FNV-1a). It is not cryptographic.
pub(crate) fn digest<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> String {
    let digest = bytes.into_iter().fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| {
        (digest ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{digest:016x}")
}
