//! Still and animated pictures of at most 256 colors, which keeps screenshots of text small.

use std::collections::HashMap;
use std::io::Cursor;

/// The number of colors of an image. One more index is reserved for transparency.
const COLORS: usize = 255;
/// The squared distance up to which two colors count as alike.
const ALIKE: u32 = 100;
/// The index of a pixel that is the same as in the previous frame.
const UNCHANGED: u8 = 255;

type Color = [u8; 3];

/// A screenshot.
pub(super) struct Picture {
    width: u32,
    height: u32,
    pixels: Vec<Color>,
}

impl Picture {
    /// Decodes the PNG file of a screenshot.
    pub(super) fn from_png(file: &[u8]) -> Result<Self, String> {
        let failed = |error: png::DecodingError| format!("cannot decode a screenshot: {error}");
        let mut reader = png::Decoder::new(Cursor::new(file)).read_info().map_err(failed)?;
        let mut bytes = vec![0; reader.output_buffer_size().ok_or("a screenshot is too large")?];
        let info = reader.next_frame(&mut bytes).map_err(failed)?;
        let size = info.color_type.samples();
        let pixels = bytes.chunks_exact(size).filter_map(|pixel| pixel.first_chunk().copied()).collect();
        Ok(Self { width: info.width, height: info.height, pixels })
    }

    /// Encodes the picture as a PNG file.
    pub(super) fn to_png(&self) -> Result<Vec<u8>, String> {
        let mut palette = Palette::new([self]);
        let failed = |error: png::EncodingError| format!("cannot encode a picture: {error}");
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, self.width, self.height);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::High);
        encoder.set_palette(palette.colors.as_flattened().to_vec());
        let pixels: Vec<u8> = self.pixels.iter().map(|color| palette.index(*color)).collect();
        let mut writer = encoder.write_header().map_err(failed)?;
        writer.write_image_data(&pixels).map_err(failed)?;
        writer.finish().map_err(failed)?;
        Ok(file)
    }
}

/// Encodes pictures of one size as an animated GIF file. Each has its duration in hundredths of a second.
pub(super) fn to_gif(frames: &[(Picture, u16)]) -> Result<Vec<u8>, String> {
    let failed = |error: gif::EncodingError| format!("cannot encode the recording: {error}");
    let Some((first, _)) = frames.first() else { return Err("the recording has no frames".to_owned()) };
    let too_large = |_| "the recording is too large".to_owned();
    let (width, height) =
        (u16::try_from(first.width).map_err(too_large)?, u16::try_from(first.height).map_err(too_large)?);
    let mut palette = Palette::new(frames.iter().map(|(picture, _)| picture));
    let mut file = Vec::new();
    let mut encoder =
        gif::Encoder::new(&mut file, width, height, palette.colors.as_flattened()).map_err(failed)?;
    encoder.set_repeat(gif::Repeat::Infinite).map_err(failed)?;
    let mut before: Option<&Picture> = None;
    for (picture, delay) in frames {
        let mut indexes = Vec::with_capacity(picture.pixels.len());
        for (at, color) in picture.pixels.iter().enumerate() {
            let is_same = before.is_some_and(|before| before.pixels.get(at) == Some(color));
            indexes.push(if is_same { UNCHANGED } else { palette.index(*color) });
        }
        let (top, rows) = changed_rows(&indexes, usize::from(width));
        encoder
            .write_frame(&gif::Frame {
                delay: *delay,
                dispose: gif::DisposalMethod::Keep,
                transparent: Some(UNCHANGED),
                top: u16::try_from(top).unwrap_or_default(),
                width,
                height: u16::try_from(rows.len() / usize::from(width)).unwrap_or_default(),
                buffer: rows.into(),
                ..gif::Frame::default()
            })
            .map_err(failed)?;
        before = Some(picture);
    }
    drop(encoder);
    Ok(file)
}

/// Returns the number of rows above the first changed row, and the rows from there to the last changed one, at least one row.
fn changed_rows(indexes: &[u8], width: usize) -> (usize, &[u8]) {
    let is_changed = |row: &[u8]| row.iter().any(|index| *index != UNCHANGED);
    let mut rows = indexes.chunks(width);
    let top = rows.position(is_changed).unwrap_or_default();
    let last = indexes.chunks(width).rposition(is_changed).unwrap_or_default();
    (top, indexes.get(top * width..(last + 1) * width).unwrap_or(indexes))
}

/// Returns the squared distance between two colors.
fn distance(one: &Color, other: &Color) -> u32 {
    one.iter().zip(other).map(|(one, other)| u32::from(one.abs_diff(*other)).pow(2)).sum()
}

/// The most frequent colors of pictures.
struct Palette {
    colors: Vec<Color>,
    /// The indexes of colors, including colors that were replaced by the nearest one.
    indexes: HashMap<Color, u8>,
}

impl Palette {
    fn new<'p>(pictures: impl IntoIterator<Item = &'p Picture>) -> Self {
        let mut counts: HashMap<Color, usize> = HashMap::new();
        for color in pictures.into_iter().flat_map(|picture| &picture.pixels) {
            *counts.entry(*color).or_default() += 1;
        }
        let mut ranked: Vec<_> = counts.into_iter().collect();
        // Equal counts are ordered by color, so that equal pictures give equal files.
        ranked.sort_by_key(|(color, count)| (std::cmp::Reverse(*count), *color));
        let mut colors: Vec<Color> = Vec::new();
        for (color, _) in ranked {
            // Otherwise shades at the edges of letters would displace colors that are rare but different.
            if colors.len() < COLORS && colors.iter().all(|other| distance(&color, other) > ALIKE) {
                colors.push(color);
            }
        }
        let indexes = (0_u8..).zip(&colors).map(|(index, color)| (*color, index)).collect();
        Self { colors, indexes }
    }

    /// Returns the index of a color, or of the one that is most like it.
    fn index(&mut self, color: Color) -> u8 {
        *self.indexes.entry(color).or_insert_with(|| {
            let nearest = (0_u8..).zip(&self.colors).min_by_key(|(_, other)| distance(&color, other));
            nearest.map_or(0, |(index, _)| index)
        })
    }
}
