//! Files that are wrong or damaged: each fault says what and what to do, little memory is asked for, and nothing panics.

use super::*;

/// A little-endian classic file with these short tags over one strip of 4 zeros.
fn by_hand(tags: &[(u16, u32)]) -> Vec<u8> {
    let mut all = vec![(256, 2), (257, 2), (258, 8), (259, 1), (262, 1), (273, 8), (277, 1), (278, 2), (279, 4)];
    for &(code, value) in tags {
        all.retain(|&(c, _)| c != code);
        all.push((code, value));
    }
    all.sort_unstable();
    let mut bytes = b"II\x2a\0\x0c\0\0\0\0\0\0\0".to_vec();
    bytes.extend((all.len() as u16).to_le_bytes());
    for (code, value) in all {
        bytes.extend(code.to_le_bytes());
        bytes.extend([4, 0, 1, 0, 0, 0]);
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend([0; 4]);
    bytes
}

#[test]
fn every_fault_says_what_and_what_to_do() {
    assert_eq!(open(&by_hand(&[]), 1).unwrap().read(0..2, 0..2).unwrap(), Values::U8(vec![0; 4]));
    let convert = "convert it, as with gdal_translate -co COMPRESS=DEFLATE";
    let damaged = "the file is damaged: copy or make it again";
    for (tags, expected) in [
        (&[(258, 33)][..], format!("samples of 33 bits of its kind are not read; {convert}")),
        (&[(258, 8), (339, 3)], format!("samples of 8 bits of its kind are not read; {convert}")),
        (&[(339, 7)], format!("samples of format 7 are not known; {convert}")),
        (&[(259, 8), (317, 9)], format!("predictor 9 does not go with its samples; {convert}")),
        (&[(259, 7)], format!("its blocks are compressed with JPEG (7); {convert}")),
        (&[(259, 99)], format!("its blocks are compressed with a codec that is not known (99); {convert}")),
        (&[(262, 6), (277, 3)], format!("its samples are colours (YCbCr), not classes; {convert}")),
        (&[(256, 0)], format!("invalid image layout: image dimensions must be positive, got 0x2; {damaged}")),
        (
            &[(256, u32::MAX), (257, u32::MAX)],
            "the header promises 4294967295 rows and 4294967295 columns, more than the 2^40 cells a grid may have; \
             correct the header"
                .to_owned(),
        ),
        (&[(278, 0)], format!("its blocks have 0 rows and 2 columns; {damaged}")),
        (&[(278, 1)], format!("the file has 2 blocks, and offsets of 1; {damaged}")),
    ] {
        assert_eq!(open(&by_hand(tags), 1).unwrap_err().to_string(), format!("f.tif: {expected}"), "{tags:?}");
    }
    assert_eq!(
        open(&odd::tiff((2, 2), &[], &[(273, 4, &[])]), 1).unwrap_err().to_string(),
        format!("f.tif: the file does not say where its blocks are; {damaged}")
    );
    for bytes in [&b""[..], b"II", b"GIF89a..........", b"II\x2a\0", b"MM\0\x2b\0\x04\0\0\0\0\0\0\0\0\0\x10"] {
        assert_eq!(open(bytes, 1).unwrap_err().to_string(), "f.tif: this is not a TIFF file; name a GeoTIFF");
    }
    assert_eq!(
        open(b"II\x2a\0\0\0\0\0", 1).unwrap_err().to_string(),
        format!("f.tif: the file has no image; {damaged}")
    );
    for band in [0, 2] {
        let e = open(&by_hand(&[]), band).unwrap_err();
        assert_eq!(e.to_string(), format!("f.tif: there is no band {band}: the file has 1 band; choose another band"));
    }
    // What only shows when a block is read.
    let read = |tags: &[(u16, u32)]| open(&by_hand(tags), 1).unwrap().read(0..2, 0..2).unwrap_err().to_string();
    assert_eq!(
        read(&[(273, 1000)]),
        format!(
            "f.tif: row 0, column 0 (counted from 0): 4 bytes from byte 1000 on should be there, and the file has 126; \
             {damaged}"
        )
    );
    let e = read(&[(259, 8)]);
    assert!(
        e.starts_with("f.tif: row 0, column 0 (counted from 0): the block that begins there cannot be decoded ("),
        "{e}"
    );
}

#[test]
fn a_short_file_cannot_ask_for_much_memory() {
    // Tables that would fill memory, in a BigTIFF of a few bytes.
    let mut bytes = b"II\x2b\0\x08\0\0\0\x10\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
    bytes.extend(324u16.to_le_bytes());
    bytes.extend(16u16.to_le_bytes());
    bytes.extend((1u64 << 36).to_le_bytes());
    bytes.extend(16u64.to_le_bytes());
    bytes.extend([0; 8]);
    assert!(open(&bytes, 1).unwrap_err().to_string().contains("exceeds parse budget"));
    // A directory of 2^40 entries.
    bytes[16..24].copy_from_slice(&(1u64 << 40).to_le_bytes());
    assert!(open(&bytes, 1).unwrap_err().to_string().contains("exceeds parse budget"));
}

#[test]
fn damaged_files_are_errors_and_not_panics() {
    let mut random = fastrand::Rng::with_seed(20_240_817);
    let mut below = |n: usize| (random.u64(..) % n as u64) as usize;
    let tags = [nodata_tag("3"), Tag::new(33550, TagValue::Double(vec![1.0, 1.0, 0.0]))];
    let mut files = Vec::new();
    for compression in [
        Compression::None,
        Compression::Deflate,
        Compression::Lzw,
        Compression::Zstd,
        Compression::Lerc,
        // Read as PackBits below.
        Compression::PackBits,
    ] {
        for (variant, order) in
            [(TiffVariant::Classic, ByteOrder::LittleEndian), (TiffVariant::BigTiff, ByteOrder::BigEndian)]
        {
            for (planar, block) in [(false, (16, Some(32))), (true, (5, None))] {
                let packed = compression == Compression::PackBits;
                let written = if packed { Compression::None } else { compression };
                let kind = Kind { order, variant, compression: written, predictor: Predictor::None, planar, block };
                let mut bytes = file(kind, (40, 53, 2), &tags, |b, r, c| {
                    (r >= 32 || c >= 32).then(|| (pattern(b, r, c) % 9) as f32)
                });
                if packed {
                    // The value of the tag Compression (259, SHORT).
                    let wide = variant == TiffVariant::BigTiff;
                    let entry = |b: &[u8]| order.read_u16([b[0], b[1]]) == 259 && order.read_u16([b[2], b[3]]) == 3;
                    let at = bytes.windows(4).rposition(entry).unwrap() + if wide { 12 } else { 8 };
                    bytes[at..at + 2].copy_from_slice(&order.write_u16(32773));
                }
                files.push(bytes);
            }
        }
    }
    // More in a run made for it.
    let rounds = std::env::var("HALOTILE_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let (mut opened, mut read) = (0, 0);
    for original in &files {
        let length = original.len();
        for _ in 0..rounds {
            let mut bytes = original.clone();
            for _ in 0..1 + below(4) {
                let near_tags = below(2) == 0;
                let at = if near_tags { length - 1 - below(length.min(700)) } else { below(length) };
                bytes[at] = match below(4) {
                    0 => 0,
                    1 => 0xff,
                    2 => bytes[at] ^ (1 << below(8)),
                    _ => below(256) as u8,
                };
            }
            if below(8) == 0 {
                bytes.truncate(below(length));
            }
            let Ok(tiff) = open(&bytes, 1 + below(2)) else { continue };
            opened += 1;
            let (rows, cols) = (tiff.rows().min(40), tiff.cols().min(53));
            let (top, left) = (below(rows), below(cols));
            let got = tiff.read(top..rows, left..cols);
            if let Ok(values) = got {
                read += 1;
                assert_eq!(values.len(), (rows - top) * (cols - left));
            }
        }
    }
    // Most of what is damaged can still be opened, and some of it read.
    assert!(opened > 10 * rounds && read > 5 * rounds, "{opened} opened, {read} read of {}", files.len() * rounds);
}
