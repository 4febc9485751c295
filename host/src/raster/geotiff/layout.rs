//! How an image's samples are stored, as its tags say it and as GDAL takes them.
//!
//! Tags are taken with any integer type, as libtiff does: some writers store a predictor as a BYTE or a LONG. Everything that is not
//! read is refused here, by name and with the advice that works, so that no window fails later because of a codec or a type. Three things
//! differ from the letter of the TIFF standard, because files in use were made with libtiff, which has them so:
//!
//! - A predictor belongs to the codecs LZW, Deflate and Zstandard; with any other it is ignored.
//! - Signed samples of 1 to 31 bits that are no whole bytes are read as unsigned ones.
//! - Whole numbers of 24 bits have their bytes in the order that the file's is not; those of any other odd width are bits, the highest first.

use tiff_core as tag;
use tiff_reader::{Ifd, TagValue};

use super::decode::codec::{Codec, Packing};
use super::decode::predict::Predictor;
use super::decode::rows::{Format, Sample};
use super::{convert, damaged};
use crate::io::Problem;
use crate::io::value::check_shape;
use crate::numbers::ValueType;

/// GDAL's and Adobe's names of codecs that are not read.
const NOT_READ: [(u64, &str); 22] = [
    (2, "CCITT RLE"),
    (3, "CCITT Group 3 fax"),
    (4, "CCITT Group 4 fax"),
    (6, "old-style JPEG"),
    (7, "JPEG"),
    (9, "JBIG (T.85)"),
    (10, "JBIG (T.43)"),
    (32766, "NeXT RLE"),
    (32771, "CCITT RLE, aligned to words"),
    (32809, "ThunderScan"),
    (32908, "Pixar film"),
    (32909, "Pixar log"),
    (34661, "JBIG"),
    (34676, "SGI log"),
    (34677, "SGI log, 24 bits"),
    (34712, "JPEG 2000"),
    (34892, "lossy JPEG"),
    (34925, "LZMA"),
    (34934, "JPEG XR"),
    (50001, "WebP"),
    (50002, "JPEG XL"),
    (52546, "JPEG XL"),
];

/// How samples are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) bands: usize,
    /// Each band has blocks of its own.
    pub(super) planes: bool,
    pub(super) sample: Sample,
    pub(super) value_type: ValueType,
    pub(super) codec: Codec,
    pub(super) predictor: Predictor,
    /// The lowest bit of a byte comes first.
    pub(super) reversed: bool,
    pub(super) big_endian: bool,
}

impl Layout {
    /// What the tags say.
    pub(super) fn of(ifd: &Ifd, big_endian: bool, name: &str) -> Result<Self, Problem> {
        let codec = codec(ifd)?;
        let (rows, cols) = (number(ifd, tag::TAG_IMAGE_LENGTH, 0), number(ifd, tag::TAG_IMAGE_WIDTH, 0));
        if rows == 0 || cols == 0 {
            // In the words of the crate that finds it elsewhere.
            let what = format!("invalid image layout: image dimensions must be positive, got {cols}x{rows}");
            return Err(damaged(what));
        }
        let (rows, cols) = check_shape(rows, cols)?;
        let bands = number(ifd, tag::TAG_SAMPLES_PER_PIXEL, 1);
        let bands = usize::try_from(bands).ok().filter(|bands| (1..=usize::from(u16::MAX)).contains(bands));
        let bands = bands.ok_or_else(|| damaged("a cell has no samples, or more than there can be"))?;
        let planar = number(ifd, tag::TAG_PLANAR_CONFIGURATION, 1);
        if !matches!(planar, 1 | 2) {
            return Err(damaged(format!("its planar configuration is {planar}, which there is not")));
        }
        let bits = alike(ifd, tag::TAG_BITS_PER_SAMPLE, "bits")?;
        let format = alike(ifd, tag::TAG_SAMPLE_FORMAT, "formats")?;
        let (sample, value_type) = sample(format, bits)?;
        colours(ifd, bands, name)?;
        if format == 2 && !matches!(bits, 8 | 16 | 32 | 64) {
            tracing::warn!(
                "{name}: its samples are signed and have {bits} bits; they are read as unsigned, as by GDAL"
            );
        }
        let predicted = matches!(codec, Codec::Lzw | Codec::Deflate | Codec::Zstd);
        let predictor = match number(ifd, tag::TAG_PREDICTOR, 1) {
            _ if !predicted => Predictor::None,
            1 => Predictor::None,
            2 if matches!(bits, 8 | 16 | 32 | 64) => Predictor::Horizontal,
            3 if format == 3 => Predictor::FloatingPoint,
            predictor @ (2 | 3) => {
                return Err(Problem::new(
                    format!("predictor {predictor} does not go with its samples of {bits} bits"),
                    "write it again without a predictor",
                ));
            }
            predictor => return Err(convert(format!("predictor {predictor} does not go with its samples"))),
        };
        if matches!(codec, Codec::Lerc(_)) && !matches!(sample, Sample::Plain) {
            return Err(damaged(format!("samples of {bits} bits cannot be compressed with LERC")));
        }
        Ok(Self {
            rows,
            cols,
            bands,
            planes: planar == 2 && bands > 1,
            sample,
            value_type,
            codec,
            predictor,
            reversed: number(ifd, tag::TAG_FILL_ORDER, 1) == 2,
            big_endian,
        })
    }

    /// Rows of blocks that are `width` cells wide.
    pub(super) fn format(&self, width: usize) -> Format {
        Format {
            width,
            samples: if self.planes { 1 } else { self.bands },
            sample: self.sample,
            value_type: self.value_type,
            predictor: self.predictor,
            big_endian: self.big_endian,
        }
    }
}

/// The first number of a tag, whatever integer type it has; `default` where there is none.
pub(super) fn number(ifd: &Ifd, code: u16, default: u64) -> u64 {
    let Some(tag) = ifd.tag(code) else { return default };
    // libtiff takes one number where one is to be, and no other count.
    let single = matches!(code, tag::TAG_PREDICTOR | tag::TAG_FILL_ORDER) && tag.value.count() != 1;
    if single { default } else { integer(&tag.value, 0).unwrap_or(default) }
}

/// A number of a tag, if it is an integer that is not negative.
fn integer(value: &TagValue, index: usize) -> Option<u64> {
    match value {
        // A type that is not known comes as bytes, as does BYTE.
        TagValue::Byte(v) => v.get(index).map(|&v| v.into()),
        TagValue::Short(v) => v.get(index).map(|&v| v.into()),
        TagValue::Long(v) => v.get(index).map(|&v| v.into()),
        TagValue::Long8(v) => v.get(index).copied(),
        TagValue::SByte(v) => v.get(index).and_then(|&v| v.try_into().ok()),
        TagValue::SShort(v) => v.get(index).and_then(|&v| v.try_into().ok()),
        TagValue::SLong(v) => v.get(index).and_then(|&v| v.try_into().ok()),
        TagValue::SLong8(v) => v.get(index).and_then(|&v| v.try_into().ok()),
        _ => None,
    }
}

/// A number that all samples must have in common; 1 where there is none.
fn alike(ifd: &Ifd, code: u16, what: &str) -> Result<u64, Problem> {
    let Some(tag) = ifd.tag(code) else { return Ok(1) };
    let first = integer(&tag.value, 0).ok_or_else(|| damaged(format!("the {what} of its samples are no numbers")))?;
    let mut rest = (1..usize::try_from(tag.value.count()).unwrap_or(0)).map_while(|i| integer(&tag.value, i));
    match rest.find(|&other| other != first) {
        None => Ok(first),
        Some(other) => Err(convert(format!("its bands have samples of different {what}, {first} and {other}"))),
    }
}

fn codec(ifd: &Ifd) -> Result<Codec, Problem> {
    let code = number(ifd, tag::TAG_COMPRESSION, 1);
    Ok(match code {
        1 => Codec::None,
        5 => Codec::Lzw,
        8 | 32946 => Codec::Deflate,
        32773 => Codec::PackBits,
        34887 => Codec::Lerc(match ifd.tag(tag::TAG_LERC_PARAMETERS).and_then(|tag| integer(&tag.value, 1)) {
            None | Some(0) => Packing::None,
            Some(1) => Packing::Deflate,
            Some(2) => Packing::Zstd,
            Some(other) => return Err(convert(format!("its blocks are compressed with LERC and a codec {other}"))),
        }),
        50000 => Codec::Zstd,
        _ => {
            let known = NOT_READ.iter().find(|(other, _)| *other == code);
            let name = known.map_or("a codec that is not known", |&(_, name)| name);
            return Err(convert(format!("its blocks are compressed with {name} ({code})")));
        }
    })
}

fn sample(format: u64, bits: u64) -> Result<(Sample, ValueType), Problem> {
    use ValueType::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    Ok(match (format, bits) {
        // 4 is "undefined", which GDAL takes for unsigned.
        (1 | 2 | 4, 24) => (Sample::Bytes3, U32),
        (1 | 4, 8) => (Sample::Plain, U8),
        (1 | 4, 16) => (Sample::Plain, U16),
        (1 | 4, 32) => (Sample::Plain, U32),
        (1 | 4, 64) => (Sample::Plain, U64),
        (2, 8) => (Sample::Plain, I8),
        (2, 16) => (Sample::Plain, I16),
        (2, 32) => (Sample::Plain, I32),
        (2, 64) => (Sample::Plain, I64),
        (1 | 2 | 4, 1..=31) => (
            Sample::Bits(bits as u32),
            match bits {
                1..=8 => U8,
                9..=16 => U16,
                _ => U32,
            },
        ),
        (3, 16) => (Sample::Float16, F32),
        (3, 24) => (Sample::Float24, F32),
        (3, 32) => (Sample::Plain, F32),
        (3, 64) => (Sample::Plain, F64),
        (1..=4, _) => return Err(convert(format!("samples of {bits} bits of its kind are not read"))),
        (5 | 6, _) => {
            // GDAL's names of types that hold a part of them.
            let part = match (format, bits) {
                (5, ..=32) => "Int16",
                (5, _) => "Int32",
                (_, ..=64) => "Float32",
                _ => "Float64",
            };
            return Err(Problem::new(
                "its samples are complex numbers",
                format!("take their real part, as with gdal_translate -ot {part}"),
            ));
        }
        _ => return Err(convert(format!("samples of format {format} are not known"))),
    })
}

/// Refuses samples that share cells or mean something only together, and notes those that are no classes as they are.
fn colours(ifd: &Ifd, bands: usize, name: &str) -> Result<(), Problem> {
    match number(ifd, tag::TAG_PHOTOMETRIC_INTERPRETATION, 1) {
        6 => Err(convert("its samples are colours (YCbCr), not classes")),
        8 if bands == 3 => Err(convert("its samples are colours (CIELab), not classes")),
        5 => {
            let inks = if bands >= 4 { "cyan, magenta, yellow and black" } else { "inks" };
            tracing::warn!(
                "{name}: its bands are amounts of ink ({inks}), not classes; they are read as they are, where GDAL makes \
                 colours of four"
            );
            Ok(())
        }
        _ => Ok(()),
    }
}
