//! Files that GDAL reads although no writer in use makes them so, made byte by byte. What they hold is what GDAL reads:
//! `tests/python/raster_files.py` compares more of their kind with rasterio.

use std::io::Write as _;

use flate2::Compression as Level;
use flate2::write::ZlibEncoder;
use weezl::BitOrder;
use weezl::encode::Encoder;

use super::*;

/// A tag: its code, its field type and its numbers; without any, it is left out.
pub(super) type Field<'a> = (u16, u16, &'a [u64]);

const ROWS: usize = 53;
const COLS: usize = 41;

/// A little-endian file of one image with 8 bits a sample, unless `tags` say otherwise.
pub(super) fn tiff((rows, cols): (usize, usize), blocks: &[Vec<u8>], tags: &[Field<'_>]) -> Vec<u8> {
    let mut bytes = b"II\x2a\0\0\0\0\0".to_vec();
    let mut places = Vec::new();
    for block in blocks {
        places.push(bytes.len() as u64);
        bytes.extend(block);
    }
    let lengths: Vec<u64> = blocks.iter().map(|block| block.len() as u64).collect();
    let tiled = tags.iter().any(|&(code, ..)| code == 322);
    let mut all: Vec<(u16, u16, Vec<u64>)> = vec![
        (256, 4, vec![cols as u64]),
        (257, 4, vec![rows as u64]),
        (258, 3, vec![8]),
        (259, 3, vec![1]),
        (262, 3, vec![1]),
        (if tiled { 324 } else { 273 }, 4, places),
        (277, 3, vec![1]),
        (if tiled { 325 } else { 279 }, 4, lengths),
    ];
    for &(code, kind, numbers) in tags {
        all.retain(|&(c, ..)| c != code);
        if !numbers.is_empty() {
            all.push((code, kind, numbers.to_vec()));
        }
    }
    all.sort();
    let directory = bytes.len();
    bytes[4..8].copy_from_slice(&(directory as u32).to_le_bytes());
    let mut after = Vec::new();
    let start = directory + 2 + 12 * all.len() + 4;
    bytes.extend((all.len() as u16).to_le_bytes());
    for (code, kind, numbers) in all {
        let width = match kind {
            1 | 6 | 7 => 1,
            3 | 8 => 2,
            4 | 9 => 4,
            _ => 8,
        };
        let mut value: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()[..width].to_vec()).collect();
        if value.len() > 4 {
            let at = (start + after.len()) as u32;
            after.extend(std::mem::replace(&mut value, at.to_le_bytes().to_vec()));
        }
        value.resize(4, 0);
        bytes.extend(code.to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        bytes.extend((numbers.len() as u32).to_le_bytes());
        bytes.extend(value);
    }
    bytes.extend([0; 4]);
    bytes.extend(after);
    bytes
}

pub(super) fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Level::new(6));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn lzw(bytes: &[u8]) -> Vec<u8> {
    Encoder::with_tiff_size_switch(BitOrder::Msb, 8).encode(bytes).unwrap()
}

/// As writers before TIFF 6.0 did it.
fn old_lzw(bytes: &[u8]) -> Vec<u8> {
    Encoder::new(BitOrder::Lsb, 8).encode(bytes).unwrap()
}

fn packbits(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(128).flat_map(|part| [&[part.len() as u8 - 1], part].concat()).collect()
}

fn cells() -> Vec<u8> {
    (0..ROWS * COLS).map(|i| pattern(0, i / COLS, i % COLS) as u8).collect()
}

fn differences(cells: &[u8]) -> Vec<u8> {
    let row = |row: &[u8]| row.iter().scan(0u8, |last, &v| Some(v.wrapping_sub(std::mem::replace(last, v)))).collect();
    cells.chunks(COLS).flat_map::<Vec<u8>, _>(row).collect()
}

#[track_caller]
fn holds(bytes: &[u8], expected: &[u8]) {
    let shape = if expected.len() == ROWS * COLS { (ROWS, COLS) } else { (16, 16) };
    let got = open(bytes, 1).and_then(|tiff| tiff.read(0..shape.0, 0..shape.1)).map_err(|e| e.to_string());
    assert!(got == Ok(Values::U8(expected.to_vec())), "{:?}", got.map(|_| "other cells"));
}

#[test]
fn a_predictor_without_compression_is_ignored() {
    for predictor in [2, 3, 9] {
        holds(&tiff((ROWS, COLS), &[cells()], &[(317, 3, &[predictor])]), &cells());
        holds(&tiff((ROWS, COLS), &[packbits(&cells())], &[(259, 3, &[32773]), (317, 3, &[predictor])]), &cells());
    }
    // 12 bits cannot have one.
    let made = tiff((ROWS, COLS), &[vec![0x12; ROWS * 62]], &[(258, 3, &[12]), (317, 3, &[2])]);
    assert_eq!(open(&made, 1).unwrap().read(0..1, 0..3).unwrap(), Values::U16(vec![0x121, 0x212, 0x121]));
    let made = tiff((ROWS, COLS), &[vec![0; 9]], &[(258, 3, &[12]), (259, 3, &[8]), (317, 3, &[2])]);
    assert_eq!(
        open(&made, 1).unwrap_err().to_string(),
        "f.tif: predictor 2 does not go with its samples of 12 bits; write it again without a predictor"
    );
}

#[test]
fn a_predictor_is_taken_from_a_tag_of_any_integer_type() {
    let block = [deflate(&differences(&cells()))];
    for kind in [1, 3, 4, 6, 8, 9, 16] {
        holds(&tiff((ROWS, COLS), &block, &[(259, 3, &[8]), (317, kind, &[2])]), &cells());
    }
    // Not an integer, or not one of them: there is none.
    for field in [(317, 7, &[2][..]), (317, 12, &[2]), (317, 3, &[2, 2])] {
        holds(&tiff((ROWS, COLS), &block, &[(259, 3, &[8]), field]), &differences(&cells()));
    }
}

#[test]
fn lengths_that_cannot_be_right_are_computed() {
    let shape = (ROWS, COLS);
    for lengths in [&[][..], &[0], &[100], &[1 << 30]] {
        holds(&tiff(shape, &[cells()], &[(279, 4, lengths)]), &cells());
    }
    for lengths in [&[][..], &[0]] {
        for (code, block) in [(8, deflate(&cells())), (5, lzw(&cells())), (32773, packbits(&cells()))] {
            holds(&tiff(shape, &[block], &[(259, 3, &[code]), (279, 4, lengths)]), &cells());
        }
    }
    // The length of all strips in place of the first one's; all that there are too many of.
    let strips: Vec<Vec<u8>> = cells().chunks(10 * COLS).map(<[u8]>::to_vec).collect();
    let whole = [2173, 410, 410, 410, 410, 123];
    holds(&tiff(shape, &strips, &[(278, 4, &[10]), (279, 4, &whole)]), &cells());
    let more = [410, 410, 410, 410, 410, 123, 9, 9];
    holds(&tiff(shape, &strips, &[(278, 4, &[10]), (279, 4, &more)]), &cells());
    // Of several strips, one of no length is not there.
    let sparse = tiff(shape, &strips, &[(278, 4, &[10]), (279, 4, &[410, 0, 410, 410, 410, 123])]);
    let mut expected = cells();
    expected[10 * COLS..20 * COLS].fill(0);
    holds(&sparse, &expected);
    let none = tiff(shape, &strips, &[(278, 4, &[10]), (279, 4, &[])]);
    assert!(open(&none, 1).unwrap_err().to_string().contains("does not say how long its blocks are"));
}

#[test]
fn the_lowest_blocks_may_be_whole_or_not() {
    let mut padded = cells();
    padded.resize(60 * COLS, 9);
    for (code, pack) in [(1, <[u8]>::to_vec as fn(&[u8]) -> Vec<u8>), (8, deflate), (5, lzw), (32773, packbits)] {
        for cells_of in [cells(), padded.clone()] {
            let strips: Vec<Vec<u8>> = cells_of.chunks(10 * COLS).map(pack).collect();
            holds(&tiff((ROWS, COLS), &strips, &[(259, 3, &[code]), (278, 4, &[10])]), &cells());
        }
        for lowest in [16, 5] {
            let tiles = tiles(lowest).iter().map(|tile| pack(tile)).collect::<Vec<_>>();
            holds(&tiff((ROWS, COLS), &tiles, &[(259, 3, &[code]), (322, 3, &[16]), (323, 3, &[16])]), &cells());
        }
    }
}

/// Tiles of 16 x 16, the lowest of them with fewer rows.
fn tiles(lowest: usize) -> Vec<Vec<u8>> {
    let cells = cells();
    let tile = |top: usize, left: usize| {
        let rows = top..if top == 48 { top + lowest } else { top + 16 };
        let cell = |r: usize, c: usize| if r < ROWS && c < COLS { cells[r * COLS + c] } else { 0 };
        rows.flat_map(|r| (left..left + 16).map(move |c| cell(r, c))).collect()
    };
    (0..12).map(|i| tile(i / 3 * 16, i % 3 * 16)).collect()
}

#[test]
fn tiles_may_be_located_by_the_tags_of_strips() {
    let tiles = tiles(16);
    let places: Vec<u64> = (0..12).map(|i| 8 + 256 * i).collect();
    let size = [(322, 3, &[16][..]), (323, 3, &[16])];
    let strips = [(324, 4, &[][..]), (325, 4, &[]), (273, 4, &places), (279, 4, &[256; 12])];
    holds(&tiff((ROWS, COLS), &tiles, &[&size[..], &strips].concat()), &cells());
    holds(&tiff((ROWS, COLS), &tiles, &[&size[..], &strips[..1], &strips[2..3]].concat()), &cells());
    // One tile without a length.
    let one = tiff((16, 16), &tiles[..1], &[size[0], size[1], (325, 4, &[])]);
    holds(&one, &tiles[0]);
}

#[test]
fn old_style_lzw_is_read() {
    let strips: Vec<Vec<u8>> = cells().chunks(10 * COLS).map(old_lzw).collect();
    holds(&tiff((ROWS, COLS), &strips, &[(259, 3, &[5]), (278, 4, &[10])]), &cells());
    let strips: Vec<Vec<u8>> = differences(&cells()).chunks(10 * COLS).map(old_lzw).collect();
    holds(&tiff((ROWS, COLS), &strips, &[(259, 3, &[5]), (278, 4, &[10]), (317, 3, &[2])]), &cells());
}

#[test]
fn bits_may_come_the_other_way_round() {
    for (code, pack) in [(1, <[u8]>::to_vec as fn(&[u8]) -> Vec<u8>), (8, deflate), (5, lzw), (32773, packbits)] {
        let block = pack(&cells()).iter().map(|byte| byte.reverse_bits()).collect();
        holds(&tiff((ROWS, COLS), &[block], &[(259, 3, &[code]), (266, 3, &[2])]), &cells());
    }
}

#[test]
fn samples_of_every_width_are_read() {
    for bits in 1..32u64 {
        let number = |i: usize| pattern(1, i / COLS, i % COLS) as u32 & (u32::MAX >> (32 - bits));
        let mut packed = Vec::new();
        for row in 0..ROWS {
            let (mut word, mut held) = (0u64, 0);
            for i in row * COLS..(row + 1) * COLS {
                (word, held) = (word << bits | u64::from(number(i)), held + bits);
                while held >= 8 {
                    held -= 8;
                    packed.push((word >> held) as u8);
                }
            }
            if held > 0 {
                packed.push((word << (8 - held)) as u8);
            }
        }
        if bits == 16 {
            // The file's order is the lowest byte first.
            packed.chunks_mut(2).for_each(<[u8]>::reverse);
        }
        for (code, block) in [(1, packed.clone()), (8, deflate(&packed))] {
            let made = tiff((ROWS, COLS), &[block], &[(258, 3, &[bits]), (259, 3, &[code])]);
            let tiff = open(&made, 1).unwrap();
            for [top, bottom, left, right] in [[0, ROWS, 0, COLS], [7, 9, 3, 30], [52, 53, 40, 41]] {
                let cells = (top..bottom).flat_map(|r| (left..right).map(move |c| number(r * COLS + c)));
                let expected = match bits {
                    0..=8 => Values::U8(cells.map(|v| v as u8).collect()),
                    9..=16 => Values::U16(cells.map(|v| v as u16).collect()),
                    _ => Values::U32(cells.collect()),
                };
                assert!(tiff.read(top..bottom, left..right).unwrap() == expected, "{bits} bits, {code}");
            }
        }
    }
}

#[test]
fn small_floating_point_is_read_as_32_bits() {
    let halves = [0x3c00u16, 0xc000, 0x7c00, 0x0001];
    let bytes: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
    for (code, block) in [(1, bytes.clone()), (8, deflate(&bytes))] {
        let made = tiff((2, 2), &[block], &[(258, 3, &[16]), (259, 3, &[code]), (339, 3, &[3])]);
        let expected = Values::F32(vec![1.0, -2.0, f32::INFINITY, 5.960_464_5e-8]);
        assert_eq!(open(&made, 1).unwrap().read(0..2, 0..2).unwrap(), expected);
    }
    let made = tiff((1, 2), &[vec![0, 0, 0x3f, 0, 0x80, 0xbf]], &[(258, 3, &[24]), (339, 3, &[3])]);
    assert_eq!(open(&made, 1).unwrap().read(0..1, 0..2).unwrap(), Values::F32(vec![1.0, -1.5]));
}

#[test]
fn what_is_not_read_is_named_with_what_helps() {
    let refused = |tags: &[Field<'_>]| open(&tiff((2, 2), &[vec![0; 64]], tags), 1).unwrap_err().to_string();
    for (code, name) in [
        (2, "CCITT RLE"),
        (4, "CCITT Group 4 fax"),
        (6, "old-style JPEG"),
        (7, "JPEG"),
        (34712, "JPEG 2000"),
        (34925, "LZMA"),
        (50001, "WebP"),
        (50002, "JPEG XL"),
        (12345, "a codec that is not known"),
    ] {
        assert_eq!(
            refused(&[(259, 3, &[code])]),
            format!(
                "f.tif: its blocks are compressed with {name} ({code}); \
                 convert it, as with gdal_translate -co COMPRESS=DEFLATE"
            )
        );
    }
    for (bits, format, part) in [(32, 5, "Int16"), (64, 5, "Int32"), (64, 6, "Float32"), (128, 6, "Float64")] {
        assert_eq!(
            refused(&[(258, 3, &[bits]), (339, 3, &[format])]),
            format!("f.tif: its samples are complex numbers; take their real part, as with gdal_translate -ot {part}")
        );
    }
    // Ink is read as it is.
    let ink = tiff((1, 2), &[vec![1, 2, 3, 4, 5, 6, 7, 8]], &[(258, 3, &[8; 4]), (262, 3, &[5]), (277, 3, &[4])]);
    assert_eq!(open(&ink, 3).unwrap().read(0..1, 0..2).unwrap(), Values::U8(vec![3, 7]));
}

#[test]
fn what_follows_a_block_is_not_decoded_and_checksums_are_looked_at() {
    // 64 MiB of zeros behind four cells.
    let mut cells = vec![1, 2, 3, 4];
    cells.resize(64 << 20, 0);
    let bomb = deflate(&cells);
    assert!(bomb.len() < 1 << 17);
    let made = tiff((2, 2), &[bomb], &[(259, 3, &[8])]);
    let e = open(&made, 1).unwrap().read(0..2, 0..2).unwrap_err().to_string();
    assert!(e.contains("it goes on beyond its cells"), "{e}");
    let mut wrong = deflate(&[1, 2, 3, 4]);
    let last = wrong.len() - 1;
    wrong[last] ^= 1;
    let made = tiff((2, 2), &[wrong], &[(259, 3, &[8])]);
    let e = open(&made, 1).unwrap().read(0..2, 0..2).unwrap_err().to_string();
    assert!(e.starts_with("f.tif: row 0, column 0 (counted from 0): the block that begins there cannot be"), "{e}");
}
