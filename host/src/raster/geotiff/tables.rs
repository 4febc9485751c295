//! Where an image's blocks lie in the file, and how long they are there.
//!
//! A table has a number a block, in the type that the file has it in: a raster of 10^11 cells has millions. libtiff keeps strips and tiles
//! under the same two names, so tiles may be located by StripOffsets. Where the lengths are missing or cannot be right, libtiff takes
//! what the geometry says (uncompressed) or the rest of the file (one strip, or one a plane); a codec stops by itself at the end of a block,
//! and rows of uncompressed ones have a size, so the rest of the file does for both.

use tiff_core as tag;
use tiff_reader::{Ifd, TagValue};

use super::blocks::Blocks;
use super::damaged;
use super::decode::codec::Codec;
use super::layout::Layout;
use crate::io::Problem;

/// The tables of one image.
#[derive(Debug)]
pub(super) struct Tables {
    offsets: TagValue,
    /// None: each block may reach to the end of the file.
    lengths: Option<TagValue>,
    end: u64,
}

impl Tables {
    /// The tables of an image in a file of `end` bytes. `row` is how many bytes a row of a block has.
    pub(super) fn of(ifd: &Ifd, layout: &Layout, blocks: Blocks, row: u64, end: u64) -> Result<Self, Problem> {
        let table = |codes: [u16; 2]| codes.into_iter().find_map(|code| ifd.tag(code)).map(|tag| &tag.value);
        let (mut offsets, mut lengths) =
            ([tag::TAG_STRIP_OFFSETS, tag::TAG_TILE_OFFSETS], [tag::TAG_STRIP_BYTE_COUNTS, tag::TAG_TILE_BYTE_COUNTS]);
        if ifd.is_tiled() {
            offsets.reverse();
            lengths.reverse();
        }
        let count = blocks.count() as u128 * if layout.planes { layout.bands as u128 } else { 1 };
        let offsets = table(offsets).ok_or_else(|| damaged("the file does not say where its blocks are"))?;
        let lengths = table(lengths);
        for (table, of) in [(Some(offsets), "offsets"), (lengths, "lengths")] {
            let Some(table) = table else { continue };
            let is_table =
                matches!(table, TagValue::Byte(_) | TagValue::Short(_) | TagValue::Long(_) | TagValue::Long8(_));
            if !is_table || u128::from(table.count()) < count {
                return Err(damaged(format!("the file has {count} blocks, and {of} of {}", table.count())));
            }
        }
        let plain = layout.codec == Codec::None;
        let tiled = ifd.is_tiled();
        let lengths = match lengths {
            None if blocks.count() > 1 => {
                return Err(damaged("the file does not say how long its blocks are"));
            }
            None => None,
            Some(lengths) => {
                let (first, rows) = (at(lengths, 0), layout.rows as u64);
                let offset = at(offsets, 0);
                let alone = count == 1 && !tiled && offset != 0;
                let wrong =
                    first == 0 || plain && (first > end.saturating_sub(offset) || first < row.saturating_mul(rows));
                // Writers that put the length of all strips in place of the first.
                let differ = plain && !layout.planes && !tiled && count > 2 && {
                    let second = at(lengths, 1);
                    first != second && first != 0 && second != 0
                };
                if alone && wrong || differ { None } else { Some(lengths.clone()) }
            }
        };
        Ok(Self { offsets: offsets.clone(), lengths, end })
    }

    /// The first byte of a block and how many there are, if the file says so; none where the block is not in the file.
    pub(super) fn place(&self, index: usize) -> Option<(u64, Option<u64>)> {
        let offset = at(&self.offsets, index);
        let length = self.lengths.as_ref().map(|lengths| at(lengths, index));
        (offset != 0 && length != Some(0)).then_some((offset, length))
    }

    /// A block's place with a length: where the file says none, the rest of it.
    pub(super) fn within(&self, (offset, length): (u64, Option<u64>)) -> (u64, u64) {
        (offset, length.unwrap_or_else(|| self.end.saturating_sub(offset)))
    }
}

/// A number of a table. It must have that many.
fn at(table: &TagValue, index: usize) -> u64 {
    match table {
        TagValue::Byte(v) => v[index].into(),
        TagValue::Short(v) => v[index].into(),
        TagValue::Long(v) => v[index].into(),
        TagValue::Long8(v) => v[index],
        // Refused on opening.
        _ => 0,
    }
}
