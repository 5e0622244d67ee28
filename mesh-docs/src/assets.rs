//! The files of the page. They are built from `ui/`, committed, and embedded in the program.

/// A file of the page. Its URL contains a digest of its content, so that caches may keep it forever.
#[derive(Debug)]
pub(crate) struct Asset {
    stem: &'static str,
    end: &'static str,
    pub(crate) content_type: &'static str,
    pub(crate) bytes: &'static [u8],
    pub(crate) compressed: Option<Compressed>,
}

/// A file as it was compressed at build time. It is an extension of the reply that has the file; the server sends it to
/// clients that accept the encoding.
#[derive(Clone, Copy, Debug)]
pub struct Compressed {
    /// With gzip.
    pub gzip: &'static [u8],
    /// With Brotli.
    pub brotli: &'static [u8],
}

/// Returns the compressed forms of a file in `assets`.
macro_rules! compressed {
    ($name:literal) => {
        Some(Compressed {
            gzip: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".gz")),
            brotli: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".br")),
        })
    };
}

pub(crate) static SCRIPT: Asset = Asset {
    stem: "app",
    end: "js",
    content_type: "text/javascript; charset=utf-8",
    bytes: include_bytes!("../assets/app.js"),
    compressed: compressed!("app.js"),
};

pub(crate) static STYLE: Asset = Asset {
    stem: "app",
    end: "css",
    content_type: "text/css; charset=utf-8",
    bytes: include_bytes!("../assets/app.css"),
    compressed: compressed!("app.css"),
};

pub(crate) static ICON: Asset = Asset {
    stem: "icon",
    end: "svg",
    content_type: "image/svg+xml",
    bytes: include_bytes!("../assets/icon.svg"),
    compressed: None,
};

static ALL: [&Asset; 3] = [&SCRIPT, &STYLE, &ICON];

impl Asset {
    /// Returns the last segment of its URL.
    pub(crate) fn name(&self) -> String {
        format!("{}.{}.{}", self.stem, digest(self.bytes), self.end)
    }

    /// Returns the file with that name, digest included.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        ALL.into_iter().find(|asset| name == asset.name())
    }
}

/// Returns a digest that identifies a build (FNV-1a). It is not cryptographic.
pub(crate) fn digest(bytes: &[u8]) -> String {
    let digest = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| {
        (digest ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{digest:016x}")
}
