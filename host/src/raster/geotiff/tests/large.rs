//! Blocks that are larger than the memory for them: what is read from the file, and how often.

use std::ops::Range;
use std::sync::Mutex;

use tiff_reader::TiffError;
use tiff_reader::source::TiffSource;

use super::odd::{Field, deflate, tiff};
use super::*;

/// A file that keeps account of what is read of it, and may become shorter than it says.
struct Watched {
    bytes: Vec<u8>,
    /// Where it ends.
    end: Mutex<usize>,
    /// How often a byte was read, and the most bytes that were read at once.
    reads: Mutex<(u64, usize)>,
}

impl TiffSource for Watched {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_exact_at(&self, offset: u64, len: usize) -> Result<Vec<u8>, TiffError> {
        let mut reads = self.reads.lock().unwrap();
        *reads = (reads.0 + len as u64, reads.1.max(len));
        let (start, end) = (offset as usize, offset as usize + len);
        if end > *self.end.lock().unwrap() {
            let error = std::io::Error::new(std::io::ErrorKind::UnexpectedEof, "failed to fill whole buffer");
            return Err(TiffError::Io(error, "f.tif".to_owned()));
        }
        Ok(self.bytes[start..end].to_vec())
    }
}

fn watched(bytes: Vec<u8>) -> (Arc<Watched>, GeoTiff) {
    let source = Arc::new(Watched { end: Mutex::new(bytes.len()), bytes, reads: Mutex::default() });
    let tiff = GeoTiff::from_source(source.clone(), "f.tif".to_owned(), 1).unwrap();
    *source.reads.lock().unwrap() = (0, 0);
    (source, tiff)
}

/// Cells that no codec makes much shorter.
fn noise(rows: usize, cols: usize) -> Vec<u8> {
    (0..rows * cols).map(|i| pattern(0, i / cols, i % cols) as u8).collect()
}

const ROWS: usize = 3000;
const COLS: usize = 1000;

fn one_strip() -> Vec<u8> {
    tiff((ROWS, COLS), &[deflate(&noise(ROWS, COLS))], &[(259, 3, &[8])])
}

/// Windows of 100 rows that have 60 in common with the next.
fn windows() -> impl Iterator<Item = Range<usize>> {
    (0..ROWS - 60).step_by(40).map(|top| top..ROWS.min(top + 100))
}

#[test]
fn a_large_strip_is_read_once_and_in_small_parts() {
    let cells = noise(ROWS, COLS);
    let file = one_strip();
    let length = file.len() as u64;
    let (source, mut tiff) = watched(file);
    // Less than the strip; what windows share is held however little is allowed.
    for kept in [0, 2 << 20] {
        tiff.set_cache_bytes(kept).unwrap();
        assert!(tiff.in_order());
        assert_eq!(tiff.block(), (1048, COLS));
        *source.reads.lock().unwrap() = (0, 0);
        for rows in windows() {
            let expected = cells[rows.start * COLS..rows.end * COLS].to_vec();
            assert!(tiff.read(rows.clone(), 0..COLS).unwrap() == Values::U8(expected), "{rows:?}");
        }
        let (read, most) = *source.reads.lock().unwrap();
        assert!(read <= length, "{read} bytes were read of {length}");
        assert!(most <= 1 << 18, "{most} bytes were read at once");
    }
    // All that it needs, and the strip is kept whole.
    tiff.set_cache_bytes(64 << 20).unwrap();
    assert!(!tiff.in_order() && tiff.block() == (ROWS, COLS));
}

#[test]
fn an_uncompressed_strip_is_read_by_rows() {
    let cells = noise(ROWS, COLS);
    let (source, mut tiff) = watched(tiff((ROWS, COLS), std::slice::from_ref(&cells), &[]));
    tiff.set_cache_bytes(1 << 20).unwrap();
    assert!(!tiff.in_order());
    for (rows, cols) in [(0..5, 0..COLS), (1000..1010, 500..503), (2999..3000, 0..1)] {
        let expected = rows.clone().flat_map(|r| cells[r * COLS..][cols.clone()].to_vec()).collect();
        assert_eq!(tiff.read(rows, cols).unwrap(), Values::U8(expected));
    }
    let (read, _) = *source.reads.lock().unwrap();
    assert!(read <= 16 * COLS as u64, "{read} bytes were read for 15 rows and less");
}

#[test]
fn streams_give_what_blocks_give_in_any_order() {
    let value = |b: usize, r: usize, c: usize| pattern(b, r, c) as i32 as f32;
    let (rows, cols) = (700, 900);
    for (compression, predictor) in [
        (Compression::Deflate, Predictor::FloatingPoint),
        (Compression::Lzw, Predictor::None),
        (Compression::Zstd, Predictor::FloatingPoint),
    ] {
        for (order, planar, block) in [
            (ByteOrder::BigEndian, false, (rows as u32, None)),
            (ByteOrder::LittleEndian, true, (400, None)),
            (ByteOrder::LittleEndian, false, (640, Some(640))),
        ] {
            let kind = Kind { order, compression, predictor, planar, block, ..PLAIN };
            let nodata = [nodata_tag("-7")];
            // The lower left block of the second band is not there.
            let made = file(kind, (rows, cols, 2), &nodata, |b, r, c| {
                (b == 0 && planar || r < block.0 as usize || c >= 640).then(|| value(b, r, c))
            });
            for band in 0..2 {
                let mut tiff = open(&made, band + 1).unwrap();
                let whole = tiff.read(0..rows, 0..cols).unwrap();
                for kept in [0, 3 << 20] {
                    tiff.set_cache_bytes(kept).unwrap();
                    // Two decoders of Zstandard need more than a tile.
                    let two = compression == Compression::Zstd && block.1.is_some();
                    assert!(tiff.in_order() || two, "{kind:?}");
                    for [top, bottom, left, right] in [
                        [0, 10, 0, cols],
                        [5, 90, 0, cols],
                        [350, 450, 100, 600],
                        [440, 699, 0, 1],
                        [3, 4, 899, 900],
                        [0, rows, 0, cols],
                        [699, 700, 500, 520],
                    ] {
                        let got = tiff.read(top..bottom, left..right).unwrap();
                        let (Values::F32(got), Values::F32(whole)) = (got, &whole) else { panic!() };
                        let expected = (top..bottom).flat_map(|r| &whole[r * cols + left..r * cols + right]);
                        assert!(expected.eq(&got), "{kind:?}, {kept}, {top} {left}");
                    }
                }
            }
        }
    }
}

#[test]
fn blocks_that_two_windows_share_are_decoded_once() {
    let blocks: Vec<Vec<u8>> = noise(ROWS, COLS).chunks(100 * COLS).map(deflate).collect();
    let file = tiff((ROWS, COLS), &blocks, &[(259, 3, &[8]), (278, 4, &[100])]);
    let length = file.len() as u64;
    let (source, mut tiff) = watched(file);
    tiff.set_cache_bytes(16 << 20).unwrap();
    for rows in windows() {
        tiff.read(rows, 0..COLS).unwrap();
    }
    assert!(source.reads.lock().unwrap().0 <= length);
}

#[test]
fn what_cannot_be_a_stream_says_how_much_memory_it_needs() {
    let lerc: [Field<'_>; 1] = [(259, 3, &[34887])];
    let mut large = open(&tiff((4000, 4000), &[vec![0; 64]], &lerc), 1).unwrap();
    assert_eq!(
        large.set_cache_bytes(20 << 20).unwrap_err().to_string(),
        "f.tif: its blocks of 4000 x 4000 cells take 62 MiB of memory while they are decoded, and 20 MiB are there for \
         that; allow more memory, or cut it into smaller blocks, as with gdal_translate -co TILED=YES"
    );
    large.set_cache_bytes(62 << 20).unwrap();
    let e = open(&tiff((20_000, 20_000), &[vec![0; 64]], &lerc), 1).unwrap_err().to_string();
    assert!(e.contains("take 1527 MiB of memory while they are decoded, and 256 MiB are there"), "{e}");
    // A row that does not fit cannot be a stream either.
    let wide = open(&tiff((2, 1 << 31), &[vec![0; 64]], &[(259, 3, &[8])]), 1).unwrap_err().to_string();
    assert!(wide.contains("its blocks of 2 x 2147483648 cells take "), "{wide}");
    // Small blocks need no more than there always is.
    open(&tiff((100, 100), &[vec![0; 64]], &lerc), 1).unwrap().set_cache_bytes(0).unwrap();
}

#[test]
fn a_file_that_becomes_shorter_is_an_error_with_a_place() {
    for compressed in [false, true] {
        let (cells, code) = (noise(ROWS, COLS), if compressed { 8 } else { 1 });
        let pack = if compressed { deflate } else { <[u8]>::to_vec };
        let strips: Vec<Vec<u8>> = cells.chunks(1500 * COLS).map(pack).collect();
        let bytes = tiff((ROWS, COLS), &strips, &[(259, 3, &[code]), (278, 4, &[1500])]);
        let end = bytes.len() / 4 * 3;
        let (source, mut tiff) = watched(bytes);
        *source.end.lock().unwrap() = end;
        for kept in [0, 64 << 20] {
            tiff.set_cache_bytes(kept).unwrap();
            assert!(tiff.read(0..10, 0..COLS).is_ok());
            assert_eq!(
                tiff.read(0..ROWS, 0..COLS).unwrap_err().to_string(),
                "f.tif: row 1500, column 0 (counted from 0): reading failed: failed to fill whole buffer; \
                 check the disk and the file"
            );
        }
    }
}
