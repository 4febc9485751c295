//! PNG pictures: cells in grey of 8 or 16 bits, one value a pixel, taken as it is, to be read and written; pictures in colour to be written.
//! The compression is the crate `png`'s, and nothing else sees that crate.
//!
//! Fewer bits are not widened (is 3 of 2 bits class 3 or brightness 255?) and colours are
//! not averaged: each is an error that names the command to convert with. The decoder wants to seek, a pipe
//! cannot, so the compressed file is read into memory first. That also gives a bound on what a header may
//! promise: deflate packs at most 1032 to 1, so a picture that claims more pixels than that is cut short or
//! lying, and nothing is allocated for it.
//!
//! A compressor wants to own what it writes to, for as long as it likes (`'static`), while the caller of [`GreyWriter`] lends
//! a file that it means to have back. So the compressor writes to a buffer of its own, [`Drain`], which is
//! emptied into the file after every row.

use std::io::{self, Cursor, Error, Write};
use std::sync::{Arc, Mutex, PoisonError};

use ::png::{BitDepth, ColorType, Decoder, DecodingError, Encoder, EncodingError, Limits, StreamWriter};

use super::error::{FormatError, Place, Problem};
use super::input::Input;
use super::source::Source;
use super::stored::{Encoding, StoredArray};
use super::value::{check_shape, out_of_memory};
use crate::numbers::ValueType;

/// The most that deflate unpacks from one byte.
const DEFLATE: u64 = 1032;

/// The command for pictures of another kind.
const CONVERT: &str = "convert it, for example: magick in.png -alpha off -colorspace Gray -depth 8 \
                       -define png:color-type=0 -define png:bit-depth=8 out.png";

/// Reads a grey PNG of 8 or 16 bits.
pub(super) fn read(input: &mut Input<'_>) -> Result<StoredArray, FormatError> {
    let (name, file) = (input.name(), input.rest()?);
    let (pixels, rows, cols) = decode(&file).map_err(|problem| problem.at(&name, Place::FILE))?;
    let value_type = if pixels.len() == rows * cols { ValueType::U8 } else { ValueType::U16 };
    let encoding = Encoding { big_endian: true, ..Encoding::native(value_type) };
    Ok(StoredArray::new(Arc::new(Source::memory(&name, pixels)), 0, (rows, cols), encoding))
}

/// The bytes of all pixels, two for each where they have 16 bits.
fn decode(file: &[u8]) -> Result<(Vec<u8>, usize, usize), Problem> {
    if file.is_empty() {
        return Err(Problem::new("the file is empty", "give a grey PNG picture of 8 or 16 bits"));
    }
    // The signature is checked here because the decoder would only say "invalid".
    if !file.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Err(Problem::new("this is not a PNG file", "give the format by name if it is another one"));
    }
    // One row is all the decoder allocates; how long it may be is settled below, and text chunks get no more
    // than the file has.
    let bytes = file.len().saturating_mul(usize::try_from(DEFLATE).unwrap_or(usize::MAX)).saturating_add(1 << 20);
    let mut decoder = Decoder::new_with_limits(Cursor::new(file), Limits { bytes });
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let info = decoder.read_header_info().map_err(fault)?;
    let width_of_pixel = match (info.color_type, info.bit_depth) {
        (ColorType::Grayscale, BitDepth::Eight) => Some(1),
        (ColorType::Grayscale, BitDepth::Sixteen) => Some(2),
        _ => None,
    };
    let (width, height) = info.size();
    let Some(width_of_pixel) = width_of_pixel else {
        return Err(Problem::new(format!("the picture is {}, not 8-bit or 16-bit grey", kind(info)), CONVERT));
    };
    let (rows, cols) = check_shape(u64::from(height), u64::from(width))?;
    if (rows as u64 * cols as u64).saturating_mul(width_of_pixel as u64) > DEFLATE * file.len() as u64 {
        return Err(Problem::new(
            format!("the file is too short for the {rows} x {cols} pixels it promises"),
            "the file is cut short or damaged; copy it again",
        ));
    }
    let mut reader = decoder.read_info().map_err(fault)?;
    if reader.info().trns.is_some() {
        return Err(Problem::new("the picture has a transparent value", CONVERT));
    }
    let mut cells = Vec::new();
    let bytes = rows * cols * width_of_pixel;
    cells.try_reserve_exact(bytes).map_err(|_| out_of_memory(rows, cols))?;
    cells.resize(bytes, 0);
    reader.next_frame(&mut cells).map_err(fault)?;
    reader.finish().map_err(fault)?;
    Ok((cells, rows, cols))
}

fn kind(info: &::png::Info<'_>) -> String {
    let bits = info.bit_depth as u8;
    match info.color_type {
        ColorType::Grayscale => format!("{bits}-bit grey"),
        ColorType::Rgb => "in colour".to_owned(),
        ColorType::Indexed => "in colours from a palette".to_owned(),
        ColorType::GrayscaleAlpha => "grey with transparency".to_owned(),
        ColorType::Rgba => "in colour with transparency".to_owned(),
    }
}

fn fault(error: DecodingError) -> Problem {
    match error {
        DecodingError::IoError(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
            Problem::new("the file ends inside the picture", "the file is cut short; copy it again")
        }
        other => {
            let what = other.to_string();
            Problem::new(
                format!("the PNG is damaged: {}", what.trim_end_matches('.')),
                "make the file again, or try another program to read it",
            )
        }
    }
}

/// Writes a picture in grey of 8 bits, row by row.
pub(super) struct GreyWriter {
    // Boxed: a compressor is large.
    compressor: Box<StreamWriter<'static, Drain>>,
    compressed: Drain,
}

/// What a compressor has written and has not been taken yet. Copies share their content.
#[derive(Clone, Default)]
struct Drain(Arc<Mutex<Vec<u8>>>);

impl Drain {
    fn empty_into(&self, out: &mut impl Write) -> io::Result<()> {
        // Nothing panics while it holds the lock; and if something did, bytes are bytes.
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        out.write_all(&bytes)?;
        bytes.clear();
        Ok(())
    }
}

impl Write for Drain {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// PNG's errors hold the writer's own; those come out as they are, so that a broken pipe stays one.
fn encoding_error(error: EncodingError) -> Error {
    match error {
        EncodingError::IoError(e) => e,
        other => Error::other(other.to_string()),
    }
}

impl GreyWriter {
    pub(super) fn new(rows: u32, cols: u32) -> io::Result<Self> {
        let compressed = Drain::default();
        let mut encoder = Encoder::new(compressed.clone(), cols, rows);
        encoder.set_color(ColorType::Grayscale);
        encoder.set_depth(BitDepth::Eight);
        let compressor = encoder.write_header().and_then(|w| w.into_stream_writer_with_size(1 << 18));
        Ok(Self { compressor: Box::new(compressor.map_err(encoding_error)?), compressed })
    }

    /// Takes the next row, and hands to `out` what is compressed by then.
    pub(super) fn row(&mut self, pixels: &[u8], out: &mut impl Write) -> io::Result<()> {
        self.compressor.write_all(pixels)?;
        self.compressed.empty_into(out)
    }

    pub(super) fn finish(self, out: &mut impl Write) -> io::Result<()> {
        self.compressor.finish().map_err(encoding_error)?;
        self.compressed.empty_into(out)
    }
}

/// Writes a picture in colour: a byte each of red, green and blue a pixel, row by row.
pub(super) fn write_colours(out: impl Write, width: usize, height: usize, pixels: &[u8]) -> io::Result<()> {
    let size = |n: usize| u32::try_from(n).map_err(Error::other);
    let mut encoder = Encoder::new(out, size(width)?, size(height)?);
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(encoding_error)?;
    writer.write_image_data(pixels).map_err(encoding_error)?;
    writer.finish().map_err(encoding_error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::Values;

    fn picture(color: ColorType, depth: BitDepth, width: u32, height: u32, data: &[u8]) -> Vec<u8> {
        let mut file = Vec::new();
        let mut encoder = ::png::Encoder::new(&mut file, width, height);
        encoder.set_color(color);
        encoder.set_depth(depth);
        if color == ColorType::Indexed {
            encoder.set_palette(vec![0, 0, 0, 255, 255, 255]);
        }
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(data).unwrap();
        writer.finish().unwrap();
        file
    }

    fn fails(file: &[u8]) -> String {
        read(&mut Input::stream(file, "f")).unwrap_err().to_string()
    }

    #[test]
    fn grey_pixels_are_cells() {
        let file = picture(ColorType::Grayscale, BitDepth::Eight, 3, 2, &[0, 1, 2, 128, 254, 255]);
        let got = read(&mut Input::stream(&file[..], "f")).unwrap();
        assert_eq!((got.rows, got.read(1..2, 0..3).unwrap()), (2, Values::U8(vec![128, 254, 255])));
    }

    #[test]
    fn grey_pixels_may_have_16_bits() {
        let values = [0u16, 7, 255, 256, 900, 65_535];
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_be_bytes()).collect();
        let file = picture(ColorType::Grayscale, BitDepth::Sixteen, 3, 2, &bytes);
        let got = read(&mut Input::stream(&file[..], "f")).unwrap();
        assert_eq!(got.read(0..2, 0..3).unwrap(), Values::U16(values.to_vec()));
    }

    #[test]
    fn other_kinds_say_how_to_convert() {
        for (color, depth, bytes, kind) in [
            (ColorType::Rgb, BitDepth::Eight, 3, "in colour"),
            (ColorType::Rgba, BitDepth::Eight, 4, "in colour with transparency"),
            (ColorType::GrayscaleAlpha, BitDepth::Eight, 2, "grey with transparency"),
            (ColorType::Indexed, BitDepth::Eight, 1, "in colours from a palette"),
            (ColorType::Rgb, BitDepth::Sixteen, 6, "in colour"),
            (ColorType::Grayscale, BitDepth::Four, 1, "4-bit grey"),
            (ColorType::Grayscale, BitDepth::One, 1, "1-bit grey"),
        ] {
            let file = picture(color, depth, 1, 1, &vec![0; bytes]);
            assert_eq!(fails(&file), format!("f: the picture is {kind}, not 8-bit or 16-bit grey; {CONVERT}"));
        }
    }

    #[test]
    fn what_is_damaged_is_refused() {
        assert_eq!(fails(b""), "f: the file is empty; give a grey PNG picture of 8 or 16 bits");
        assert_eq!(fails(b"GIF89a"), "f: this is not a PNG file; give the format by name if it is another one");
        let good = picture(ColorType::Grayscale, BitDepth::Eight, 64, 64, &[7; 4096]);
        let short = "f: the file ends inside the picture; the file is cut short; copy it again";
        assert_eq!(fails(&good[..good.len() - 14]), short);
        assert_eq!(fails(&good[..20]), short);
        let mut wrong = good.clone();
        wrong[20] ^= 1;
        assert!(fails(&wrong).starts_with("f: the PNG is damaged: CRC error"), "{}", fails(&wrong));
        let transparent = {
            let mut file = Vec::new();
            let mut encoder = ::png::Encoder::new(&mut file, 1, 1);
            encoder.set_trns(vec![0, 7]);
            encoder.write_header().unwrap().write_image_data(&[7]).unwrap();
            file
        };
        assert_eq!(fails(&transparent), format!("f: the picture has a transparent value; {CONVERT}"));
    }

    #[test]
    fn a_header_that_lies_allocates_nothing() {
        // The header of a 2^19 x 2^19 picture with the CRC it should have, and nothing behind it.
        let mut file = Vec::new();
        let encoder = ::png::Encoder::new(&mut file, 1 << 19, 1 << 19);
        drop(encoder.write_header());
        assert_eq!(
            fails(&file),
            "f: the file is too short for the 524288 x 524288 pixels it promises; \
             the file is cut short or damaged; copy it again"
        );
    }
}
