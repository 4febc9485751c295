//! A block of LERC, which has no rows to be decoded one by one.
//!
//! A block is one blob with as many numbers a cell as there are samples, or a blob a sample. Cells that LERC's mask leaves out are NaN, or
//! 0 where there is no NaN, as in GDAL. The blob says how many cells it makes before any is made: it must be the block's shape.

use std::io::Read;

use lerc_core::PixelData;
use tiff_reader::source::SharedSource;

use super::codec::Codec;
use super::rows::{Format, first};
use super::stored::Stored;
use super::{Fault, zeros};
use crate::numbers::ValueType;

fn fault(reason: impl std::fmt::Display) -> Fault {
    Fault::data(format_args!("LERC: {reason}"))
}

/// The cells of a band in the first `rows` rows, `cols` of each.
pub(super) fn decode(
    source: &SharedSource,
    place: (u64, u64),
    (codec, reversed): (Codec, bool),
    format: &Format,
    band: usize,
    (height, rows, cols): (usize, usize, usize),
) -> Result<Vec<u8>, Fault> {
    let stored = Stored::new(source.clone(), place, reversed);
    let failure = stored.failure();
    // Headers, masks and what does not become shorter: more than that no block has.
    let most = 2 * format.row_bytes() * height as u64 + (format.width * height) as u64 + 65_536;
    let mut blob = Vec::new();
    let decoded = codec.open(stored).map_err(|fault| first(&failure, fault))?;
    decoded.take(most).read_to_end(&mut blob).map_err(|e| first(&failure, fault(e)))?;

    let mut starts = Vec::new();
    let mut start = 0;
    while start < blob.len() && starts.len() <= format.samples {
        let Ok(info) = lerc_reader::inspect_first(&blob[start..]) else {
            if starts.is_empty() {
                return Err(fault("there is no LERC blob"));
            }
            break;
        };
        let (blob_rows, blob_cols) = (info.height as usize, info.width as usize);
        if blob_cols != format.width || blob_rows < rows || blob_rows > height {
            return Err(fault(format_args!("its {blob_rows} x {blob_cols} cells are not the block's")));
        }
        if info.depth as usize != 1 && info.depth as usize != format.samples {
            return Err(fault(format_args!("it has {} samples a cell, not {}", info.depth, format.samples)));
        }
        starts.push(start);
        start += info.blob_size.max(1);
    }
    let set = lerc_reader::decode_band_set(&blob[..start.min(blob.len())]).map_err(fault)?;
    drop(blob);
    let (info, bands, masks) = set.into_parts();
    let depth = info.depth().max(1) as usize;
    let (blob_band, in_cell) = if bands.len() == 1 { (0, band) } else { (band, 0) };
    if in_cell >= depth || blob_band >= bands.len() {
        return Err(fault(format_args!("{} blobs of {depth} samples are not {}", bands.len(), format.samples)));
    }
    let mask = masks.get(blob_band).and_then(Option::as_deref);
    let mut out = zeros(rows * cols * format.size())?;
    macro_rules! copy {
        ($values:expr, $name:ident, $t:ty, $nothing:expr) => {{
            let values: &[$t] = $values;
            if ValueType::$name != format.value_type || values.len() < rows * format.width * depth {
                return Err(fault("its numbers are of another type than the file's, or too few"));
            }
            let (places, _) = out.as_chunks_mut::<{ size_of::<$t>() }>();
            for (i, place) in places.iter_mut().enumerate() {
                let cell = i / cols * format.width + i % cols;
                let is_there = mask.is_none_or(|mask| mask.get(cell).is_some_and(|&there| there != 0));
                let value = if is_there { values[cell * depth + in_cell] } else { $nothing };
                *place = value.to_ne_bytes();
            }
        }};
    }
    match &bands[blob_band] {
        PixelData::I8(v) => copy!(v, I8, i8, 0),
        PixelData::U8(v) => copy!(v, U8, u8, 0),
        PixelData::I16(v) => copy!(v, I16, i16, 0),
        PixelData::U16(v) => copy!(v, U16, u16, 0),
        PixelData::I32(v) => copy!(v, I32, i32, 0),
        PixelData::U32(v) => copy!(v, U32, u32, 0),
        PixelData::F32(v) => copy!(v, F32, f32, f32::NAN),
        PixelData::F64(v) => copy!(v, F64, f64, f64::NAN),
    }
    Ok(out)
}
