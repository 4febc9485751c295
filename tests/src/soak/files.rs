//! Maps as files, of every format that has their type, and results read back.

use std::io::Cursor;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use halotile::grid::{Grid, GridView};
use halotile::io::{InputFormat, write_cells};
use halotile::raster::ResultSink;
use halotile::raster::geotiff::{CreationOptions, Description, GeoTiff, GeoTiffCells, GeoTiffSink};

use super::Random;
use super::map::{Map, bytes};

/// The types of each format.
pub const TYPES: [&str; 10] = ["u1", "u1", "u1", "i1", "u2", "i2", "i4", "u4", "f4", "f8"];

/// Writes a map under a name without its ending. Returns the file's name, and whether it says what is no data.
pub fn write(random: &mut Random, map: &Map, folder: &Path, stem: &str) -> Result<(String, bool)> {
    let real = map.kind.starts_with('f');
    let ending = match map.kind {
        "u1" => random.one(&["npy", "png", "pgm", "txt", "tif", "tif"]),
        _ => random.one(&["npy", "tif"]),
    };
    let as_bytes = || map.values.iter().map(|&value| value as u8).collect::<Vec<u8>>();
    let view = |cells| GridView::new(cells, map.rows, map.cols);
    let mut declares = false;
    let content = match ending {
        "npy" => array(random, map),
        "png" => write_cells(InputFormat::Png, Vec::new(), view(&as_bytes())?)?,
        "pgm" if random.flip() => {
            [format!("P5\n# soak\n{} {}\n255\n", map.cols, map.rows).into_bytes(), as_bytes()].concat()
        }
        "pgm" => format!("P2 {} {} 255\n{}\n", map.cols, map.rows, words(map)).into_bytes(),
        "txt" => format!("{} {}\n{}\n", map.rows, map.cols, words(map)).into_bytes(),
        _ if map.kind == "u1" && map.declared.is_none() && random.flip() => ours(random, map, &as_bytes())?,
        _ if real && map.declared.is_some_and(f64::is_nan) && random.flip() => {
            declares = true;
            if map.kind == "f4" { results::<f32>(random, map)? } else { results::<f64>(random, map)? }
        }
        _ => {
            declares = map.declared.is_some();
            tiff(random, map)
        }
    };
    let name = format!("{stem}.{ending}");
    std::fs::write(folder.join(&name), content)?;
    Ok((name, declares))
}

fn words(map: &Map) -> String {
    let row = |row: &[f64]| row.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
    map.values.chunks(map.cols).map(row).collect::<Vec<_>>().join("\n")
}

/// A number as a type has it.
fn number(kind: &str, value: f64, big_endian: bool) -> Vec<u8> {
    let mut bytes = match kind {
        "f4" => (value as f32).to_le_bytes().to_vec(),
        "f8" => value.to_le_bytes().to_vec(),
        // Two's complement: the low bytes are the number in any width.
        _ => (value as i64).to_le_bytes()[..bytes(kind)].to_vec(),
    };
    if big_endian {
        bytes.reverse();
    }
    bytes
}

/// NPY, in either order of bytes and of cells.
pub fn array(random: &mut Random, map: &Map) -> Vec<u8> {
    let fortran = random.once_in(3);
    let big_endian = random.once_in(3);
    let order = if bytes(map.kind) == 1 {
        '|'
    } else if big_endian {
        '>'
    } else {
        '<'
    };
    let mut file = npy_header(&format!("{order}{}", map.kind), fortran, map.rows, map.cols);
    let at = |i: usize| if fortran { map.values[i % map.rows * map.cols + i / map.rows] } else { map.values[i] };
    file.extend((0..map.values.len()).flat_map(|i| number(map.kind, at(i), big_endian)));
    file
}

/// The beginning of an NPY file.
pub fn npy_header(descr: &str, fortran: bool, rows: usize, cols: usize) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({rows}, {cols}), }}\n");
    [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes()].concat()
}

/// Creation options that go together.
pub fn creation(random: &mut Random) -> Vec<String> {
    let tiled = random.flip();
    let mut words = vec![
        format!("COMPRESS={}", random.one(&["DEFLATE", "LZW", "ZSTD", "NONE"])),
        format!("TILED={}", if tiled { "YES" } else { "NO" }),
        format!("BIGTIFF={}", random.one(&["YES", "NO", "IF_NEEDED", "IF_SAFER"])),
    ];
    if tiled {
        words.push(format!("BLOCKXSIZE={}", 16 * random.number(1, 5)));
    }
    words.push(format!("BLOCKYSIZE={}", if tiled { 16 * random.number(1, 5) } else { random.number(1, 40) }));
    for (word, needs_tiles) in [("SPARSE_OK=YES", false), ("LAYOUT=COG", true), ("OVERVIEWS=AUTO", true)] {
        if random.once_in(3) && (tiled || !needs_tiles) {
            words.push(word.to_owned());
        }
    }
    words
}

/// Classes as the library writes them.
fn ours(random: &mut Random, map: &Map, cells: &[u8]) -> Result<Vec<u8>> {
    let options = CreationOptions::parse(&creation(random))?;
    let mut sink = GeoTiffCells::new(Cursor::new(Vec::new()), "f", map.rows, map.cols, None, &options)?;
    let view = GridView::new(cells, map.rows, map.cols)?;
    let (high, wide) = sink.block();
    for top in (0..map.rows).step_by(high) {
        for left in (0..map.cols).step_by(wide) {
            let (bottom, right) = (map.rows.min(top + high), map.cols.min(left + wide));
            sink.write(top, left, view.rect(top..bottom, left..right))?;
        }
    }
    Ok(sink.finish()?.into_inner())
}

/// Numbers as the library writes results, of which NaN is no data.
fn results<T: halotile::io::Number + halotile::numbers::Real>(random: &mut Random, map: &Map) -> Result<Vec<u8>> {
    let options = CreationOptions::parse(&creation(random))?;
    let cast = |&value: &f64| {
        let mut number = T::default();
        let wide =
            if size_of::<T>() == 4 { (value as f32).to_le_bytes().to_vec() } else { value.to_le_bytes().to_vec() };
        bytemuck::bytes_of_mut(&mut number).copy_from_slice(&wide);
        number
    };
    let grid = Grid::<T>::from_vec(map.values.iter().map(cast).collect(), map.rows, map.cols)?;
    let mut file = Cursor::new(Vec::new());
    let mut sink =
        GeoTiffSink::<T, _>::new(&mut file, "f", (map.rows, map.cols), &Description::of(&["numbers"]), None, &options)?;
    let (high, wide) = (sink.block().0, if sink.whole_rows() { map.cols } else { sink.block().1 });
    for top in (0..map.rows).step_by(high) {
        for left in (0..map.cols).step_by(wide) {
            let (bottom, right) = (map.rows.min(top + high), map.cols.min(left + wide));
            sink.write(top, left, &[grid.view().rect(top..bottom, left..right)])?;
        }
    }
    Box::new(sink).finish()?;
    Ok(file.into_inner())
}

/// An uncompressed TIFF, of strips or tiles, in either order of bytes.
fn tiff(random: &mut Random, map: &Map) -> Vec<u8> {
    let (big_endian, tiled) = (random.once_in(3), random.once_in(3));
    let (high, wide) = if tiled { (16, 32) } else { (random.number(1, map.rows), map.cols) };
    let mut blocks = Vec::new();
    for top in (0..map.rows).step_by(high) {
        for left in (0..map.cols).step_by(wide) {
            let mut block = Vec::new();
            for row in top..top + high {
                for col in left..left + wide {
                    let inside = row < map.rows && col < map.cols;
                    // The last strip ends with the last row; a tile goes on beyond the edge.
                    if inside || tiled {
                        let value = if inside { map.values[row * map.cols + col] } else { 0.0 };
                        block.extend(number(map.kind, value, big_endian));
                    }
                }
            }
            blocks.push(block);
        }
    }
    let mut file = if big_endian { b"MM\0\x2a\0\0\0\0".to_vec() } else { b"II\x2a\0\0\0\0\0".to_vec() };
    let (mut offsets, mut lengths) = (Vec::new(), Vec::new());
    for block in blocks {
        offsets.push(file.len() as u32);
        lengths.push(block.len() as u32);
        file.extend(block);
    }
    let format = match map.kind.as_bytes()[0] {
        b'u' => 1,
        b'i' => 2,
        _ => 3,
    };
    let mut entries: Vec<(u16, u16, Vec<u32>)> = vec![
        (256, 4, vec![map.cols as u32]),
        (257, 4, vec![map.rows as u32]),
        (258, 3, vec![8 * bytes(map.kind) as u32]),
        (259, 3, vec![1]),
        (262, 3, vec![1]),
        (277, 3, vec![1]),
        (339, 3, vec![format]),
    ];
    if tiled {
        entries.extend([
            (322, 3, vec![wide as u32]),
            (323, 3, vec![high as u32]),
            (324, 4, offsets),
            (325, 4, lengths),
        ]);
    } else {
        entries.extend([(273, 4, offsets), (278, 4, vec![high as u32]), (279, 4, lengths)]);
    }
    if let Some(nodata) = map.declared {
        let text = if nodata.is_nan() { "nan".to_owned() } else { nodata.to_string() };
        entries.push((42113, 2, text.bytes().chain([0]).map(u32::from).collect()));
    }
    entries.sort();
    let directory = file.len() as u32;
    let mut beyond = directory as usize + 2 + 12 * entries.len() + 4;
    let short = |v: u16| if big_endian { v.to_be_bytes() } else { v.to_le_bytes() };
    let long = |v: u32| if big_endian { v.to_be_bytes() } else { v.to_le_bytes() };
    file[4..8].copy_from_slice(&long(directory));
    let mut after = Vec::new();
    file.extend(short(entries.len() as u16));
    for (tag, kind, values) in entries {
        let content: Vec<u8> = values
            .iter()
            .flat_map(|&value| match kind {
                2 => vec![value as u8],
                3 => short(value as u16).to_vec(),
                _ => long(value).to_vec(),
            })
            .collect();
        file.extend([short(tag), short(kind)].concat());
        file.extend(long(values.len() as u32));
        if content.len() <= 4 {
            file.extend(content.into_iter().chain([0; 4]).take(4));
        } else {
            file.extend(long(beyond as u32));
            beyond += content.len();
            after.extend(content);
        }
    }
    file.extend(long(0));
    file.extend(after);
    file
}

/// Results as numbers, of a file of one measure or of a band. Those that are stored as whole numbers are what these stand for.
pub fn read(path: &Path, content: &[u8], format: &str, band: usize) -> Result<Vec<f64>> {
    match format {
        "npy" => of_npy(content),
        "geotiff" => Ok(GeoTiff::open(path, band)?.results()?.into_vec()),
        "text" => std::str::from_utf8(content)?.split_whitespace().map(parsed).collect(),
        _ => {
            let text = std::str::from_utf8(content)?.trim_end();
            let text = text.strip_suffix(',').context("a line that does not end in a comma")?;
            ensure!(!text.contains('\n'), "more than a line");
            text.split(',').skip(2).map(parsed).collect()
        }
    }
}

fn parsed(word: &str) -> Result<f64> {
    word.parse().with_context(|| format!("{word:?} is no number"))
}

/// The numbers of an NPY file of f4, f8 or i4 in little-endian C order.
pub fn of_npy(content: &[u8]) -> Result<Vec<f64>> {
    ensure!(content.len() >= 10 && content.starts_with(b"\x93NUMPY\x01"), "no NPY file");
    let length = usize::from(u16::from_le_bytes([content[8], content[9]]));
    ensure!(content.len() >= 10 + length, "an NPY file that ends in its header");
    let (header, data) = content[10..].split_at(length);
    let header = std::str::from_utf8(header)?;
    ensure!(header.contains("'fortran_order': False"), "Fortran order");
    let four = |data: &[u8]| <[u8; 4]>::try_from(data).expect("four bytes");
    let eight = |data: &[u8]| <[u8; 8]>::try_from(data).expect("eight bytes");
    Ok(match header {
        _ if header.contains("<f4") => data.chunks_exact(4).map(|b| f32::from_le_bytes(four(b)).into()).collect(),
        _ if header.contains("<i4") => data.chunks_exact(4).map(|b| i32::from_le_bytes(four(b)).into()).collect(),
        _ if header.contains("<i2") => data.chunks_exact(2).map(|b| i16::from_le_bytes([b[0], b[1]]).into()).collect(),
        _ if header.contains("<f8") => data.chunks_exact(8).map(|b| f64::from_le_bytes(eight(b))).collect(),
        _ => bail!("an NPY file of another type: {header}"),
    })
}
