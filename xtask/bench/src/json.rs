//! JSON output from the rows of either database.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::Error;

/// Posts per page.
pub const PAGE: usize = 20;

/// A row. The columns have the expected types; `None` is NULL.
pub trait Cells {
    fn integer(&self, column: usize) -> Result<Option<i64>, Error>;
    fn real(&self, column: usize) -> Result<Option<f64>, Error>;
    fn flag(&self, column: usize) -> Result<Option<bool>, Error>;
    fn text(&self, column: usize) -> Result<Option<&str>, Error>;
    /// Appends a time without quotes; returns `false` for NULL.
    fn moment(&self, out: &mut Vec<u8>, column: usize) -> Result<bool, Error>;
}

/// The type of a column.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Integer,
    Real,
    Flag,
    Text,
    Moment,
}

/// Appends members of an object, from consecutive columns. Each comes after its punctuation and name, as in `,"title":`.
#[inline(always)]
pub fn members<const N: usize>(
    out: &mut Vec<u8>,
    row: &impl Cells,
    first: usize,
    members: [(&str, Kind); N],
) -> Result<(), Error> {
    for (place, (name, kind)) in members.into_iter().enumerate() {
        out.extend_from_slice(name.as_bytes());
        cell(out, row, first + place, kind)?;
    }
    Ok(())
}

#[inline(always)]
fn cell(out: &mut Vec<u8>, row: &impl Cells, column: usize, kind: Kind) -> Result<(), Error> {
    match kind {
        Kind::Integer => match row.integer(column)? {
            Some(value) => integer(out, value),
            None => null(out),
        },
        Kind::Real => match row.real(column)? {
            Some(value) => out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes()),
            None => null(out),
        },
        Kind::Flag => match row.flag(column)? {
            Some(true) => out.extend_from_slice(b"true"),
            Some(false) => out.extend_from_slice(b"false"),
            None => null(out),
        },
        Kind::Text => match row.text(column)? {
            Some(value) => text(out, value),
            None => null(out),
        },
        Kind::Moment => {
            out.push(b'"');
            if row.moment(out, column)? {
                out.push(b'"');
            } else {
                out.pop();
                null(out);
            }
        }
    }
    Ok(())
}

fn null(out: &mut Vec<u8>) {
    out.extend_from_slice(b"null");
}

/// Appends a number.
#[inline]
pub fn integer(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

const fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Appends a string with quotes and escapes.
#[inline]
pub fn text(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    // Without early exits, the compiler compares many bytes at a time.
    let (chunks, rest) = bytes.as_chunks::<32>();
    let found = |chunk: &[u8]| chunk.iter().fold(false, |found, byte| found | is_special(*byte));
    if chunks.iter().any(|chunk| found(chunk)) || found(rest) {
        escaped(out, bytes);
    } else {
        out.extend_from_slice(bytes);
    }
    out.push(b'"');
}

#[cold]
fn escaped(out: &mut Vec<u8>, mut rest: &[u8]) {
    while let Some(place) = rest.iter().position(|byte| is_special(*byte)) {
        out.extend_from_slice(&rest[..place]);
        match rest[place] {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            other => out.extend_from_slice(format!("\\u{other:04x}").as_bytes()),
        }
        rest = &rest[place + 1..];
    }
    out.extend_from_slice(rest);
}

/// The response of a collection read.
pub struct Page {
    size: usize,
    count: usize,
    more: bool,
    start: Vec<u8>,
    end: Vec<u8>,
}

impl Page {
    pub fn open(out: &mut Vec<u8>, size: usize) -> Self {
        out.extend_from_slice(b"{\"items\":[");
        Self { size, count: 0, more: false, start: Vec::new(), end: Vec::new() }
    }

    /// Begins an item. Returns `false` if it is the first of the next page.
    #[inline]
    pub fn item(&mut self, out: &mut Vec<u8>) -> bool {
        self.more = self.count == self.size;
        if !self.more && self.count > 0 {
            out.push(b',');
        }
        self.count += usize::from(!self.more);
        !self.more
    }

    /// Sets the cursor of the item that was begun.
    #[inline]
    pub fn cursor(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>) -> Result<(), Error> {
        self.end.clear();
        write(&mut self.end)?;
        if self.count == 1 {
            self.start.clone_from(&self.end);
        }
        Ok(())
    }

    pub fn close(self, out: &mut Vec<u8>) {
        self.close_with(out, |_| ());
    }

    /// Closes the page and appends further members of `pageInfo`.
    pub fn close_with(self, out: &mut Vec<u8>, members: impl FnOnce(&mut Vec<u8>)) {
        out.extend_from_slice(b"],\"pageInfo\":{\"hasNextPage\":");
        out.extend_from_slice(if self.more { b"true" } else { b"false" });
        for (name, cursor) in [(",\"startCursor\":", &self.start), (",\"endCursor\":", &self.end)] {
            out.extend_from_slice(name.as_bytes());
            if self.count == 0 {
                null(out);
            } else {
                text(out, &URL_SAFE_NO_PAD.encode(cursor));
            }
        }
        members(out);
        out.extend_from_slice(b"}}");
    }
}

/// The objects of a relation, grouped by parent, for statements that read a whole level.
#[derive(Default)]
pub struct Level {
    bytes: Vec<u8>,
    /// The id of each parent and the end of its objects in `bytes`.
    ends: Vec<(i64, usize)>,
}

impl Level {
    /// Begins an object of a parent. The objects of one parent must be consecutive.
    #[inline]
    pub fn object(&mut self, parent: i64) -> &mut Vec<u8> {
        if self.ends.last().is_some_and(|(last, _)| *last == parent) {
            self.bytes.push(b',');
        } else {
            self.ends.push((parent, 0));
        }
        &mut self.bytes
    }

    #[inline]
    pub fn end(&mut self) {
        if let Some((_, end)) = self.ends.last_mut() {
            *end = self.bytes.len();
        }
    }

    /// Returns the objects of a parent, with commas between them.
    pub fn of(&self, parent: i64) -> &[u8] {
        let Some(place) = self.ends.iter().position(|(one, _)| *one == parent) else { return b"" };
        let start = if place == 0 { 0 } else { self.ends[place - 1].1 };
        &self.bytes[start..self.ends[place].1]
    }
}
