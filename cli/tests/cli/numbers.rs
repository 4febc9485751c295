//! Any numbers from any format, by its name and from standard input: as classes that occur, with `--classes`, with `--bins`.

use halotile::grid::Grid;
use halotile::reference;
use png::{BitDepth, ColorType};

use crate::place::{Place, npy, picture, random, seed_binary};

/// What the program has to write for `cells`, straight from the definition.
fn expected(cells: &Grid<u8>, nodata: Option<u8>) -> String {
    let entropy = reference::entropy(cells.view(), 5, nodata);
    let value = |v: &f64| if v.is_nan() { "         nan ".to_owned() } else { format!("{v:12.5} ") };
    (0..cells.rows()).map(|r| entropy.row(r).iter().map(value).collect::<String>() + "\n").collect()
}

/// The text of a grid, with a word for every cell.
fn text(cells: &Grid<u8>, header: &str, word: impl Fn(u8) -> String) -> Vec<u8> {
    let line = |r| cells.row(r).iter().map(|&c| word(c)).collect::<Vec<_>>().join(" ") + "\n";
    (header.to_owned() + &(0..cells.rows()).map(line).collect::<String>()).into_bytes()
}

const ROWS: usize = 23;
const COLS: usize = 31;

/// Six classes, evenly apart, in every format: from what number on, how far apart, and the file.
fn files(cells: &Grid<u8>) -> Vec<(&'static str, [i64; 2], Vec<u8>)> {
    let number = |[low, step]: [i64; 2], c: u8| low + i64::from(c) * step;
    let words = |of: [i64; 2]| cells.as_slice().iter().flat_map(move |&c| (number(of, c) as u16).to_be_bytes());
    let bytes: Vec<u8> = cells.as_slice().iter().map(|&c| number([3, 40], c) as u8).collect();
    let int = |c: u8| (number([-9999, 70_000], c) as i32).to_be_bytes();
    let real = |c: u8| (number([-7, 300], c) as f32).to_le_bytes();
    let columns = || (0..COLS).flat_map(|c| (0..ROWS).map(move |r| (r, c))).map(|(r, c)| cells.row(r)[c]);
    let shape = format!("({ROWS}, {COLS})");
    let c_order: Vec<u8> = cells.as_slice().iter().flat_map(|&c| int(c)).collect();
    vec![
        ("c.txt", [-9999, 70_000], text(cells, "23 31\n", |c| number([-9999, 70_000], c).to_string())),
        ("c.txt", [-3, 1], text(cells, "23 31\n", |c| format!("{}.0", number([-3, 1], c)))),
        ("c.pgm", [900, 50], text(cells, "P2 31 23 1200\n", |c| number([900, 50], c).to_string())),
        ("c.pgm", [900, 50], [b"P5 31 23 1200\n".to_vec(), words([900, 50]).collect()].concat()),
        ("c.pgm", [3, 40], [b"P5 31 23 255\n".to_vec(), bytes.clone()].concat()),
        (
            "c.png",
            [7, 900],
            picture(ColorType::Grayscale, BitDepth::Sixteen, 31, 23, &words([7, 900]).collect::<Vec<u8>>()),
        ),
        ("c.png", [3, 40], picture(ColorType::Grayscale, BitDepth::Eight, 31, 23, &bytes)),
        ("c.bin", [3, 40], seed_binary(&[(31, 23, &bytes)])),
        ("c.npy", [-9999, 70_000], npy(">i4", "False", &shape, &c_order)),
        ("c.npy", [-9999, 70_000], npy(">i4", "True", &shape, &columns().flat_map(int).collect::<Vec<u8>>())),
        ("c.npy", [-7, 300], npy("<f4", "True", &shape, &columns().flat_map(real).collect::<Vec<u8>>())),
    ]
}

#[test]
fn numbers_of_any_size_are_classes_whatever_the_format() {
    let place = Place::new();
    let cells = random(ROWS, COLS, 6);
    let pairs = Grid::from_fn(ROWS, COLS, |r, c| cells.row(r)[c] / 2).expect("a shape");
    let (each, pairs) = (expected(&cells, None), expected(&pairs, None));
    // Equally full bins go by ranks, which are the same everywhere.
    let ranks = place.cells("ranks.npy", &cells).run("entropy ranks.npy - -q --bins 4 --binning quantile").quietly();
    assert!(ranks != each && ranks != pairs);
    for (name, [low, step], file) in files(&cells) {
        let list: String = (0..6).map(|c| format!("{},{}\n", low + c * step, c / 2)).collect();
        place.write(name, &file).write("l.csv", list);
        let format = if name == "c.bin" { "--if seed-binary --of text" } else { "" };
        for (options, wanted) in
            [("", &each), ("--classes l.csv", &pairs), ("--bins 3", &pairs), ("--bins 4 --binning quantile", &ranks)]
        {
            let ran = |input: &str| format!("entropy {input} - -q {format} {options}");
            assert!(place.run(&ran(name)).quietly() == *wanted, "{name} {low} {options}");
            assert!(place.feed(&ran("-"), &file).quietly() == *wanted, "{name} {low} {options}, standard input");
        }
    }
}

#[test]
fn no_data_is_what_it_is_in_other_formats() {
    let place = Place::new();
    let cells = random(ROWS, COLS, 6);
    let (nodata, plain) = (expected(&cells, Some(5)), expected(&cells, None));
    let of = |hole: &str, factor: f64| {
        text(&cells, "23 31\n", |c| if c == 5 { hole.to_owned() } else { (f64::from(c) * factor).to_string() })
    };
    place.write("l.csv", "0\n1\n2\n3\n4\n-9999,nodata\n");
    for (hole, factor, options, wanted) in [
        // NaN is always no data; another number is a class until it is named.
        ("nan", 1.0, "", &nodata),
        ("nan", 1.0, "--levels 5", &nodata),
        ("-9999", 1.0, "", &plain),
        ("-9999", 1.0, "--nodata -9999", &nodata),
        ("-9999", 1.0, "--nodata -9999 --levels 5", &nodata),
        ("-9999", 1.0, "--nodata -9999 --levels 256", &nodata),
        ("-9999", 1.0, "--classes l.csv", &nodata),
        ("99999", 1.0, "--nodata 99999 --bins 5", &nodata),
        ("-9999", 0.1, "--nodata -9999 --bins 5", &nodata),
        ("nan", 0.1, "--bins 5", &nodata),
        ("0.3", 10.0, "--nodata 0.3", &nodata),
    ] {
        let file = of(hole, factor);
        place.write("c.txt", &file);
        for ran in [
            place.run(&format!("entropy c.txt - -q {options}")),
            place.feed(&format!("entropy - - -q {options}"), &file),
        ] {
            assert!(ran.quietly() == *wanted, "{hole} {factor} {options}");
        }
    }
}

/// From a file and from standard input: one line, and no output.
#[test]
fn what_is_wrong_is_told_with_its_place() {
    let place = Place::new();
    let table: &[(&str, &[u8], &str, &str)] = &[
        ("seed-text", b"", "", "the file is empty; begin with a line of two numbers, rows and columns"),
        (
            "seed-text",
            b"2 2\n-1 300\n",
            "",
            "line 3: the file ends after 1 of 2 rows; add the missing rows or correct the header",
        ),
        (
            "seed-text",
            b"2 2\n-1 300\n\n70000\n",
            "--bins 4",
            "row 1 (counted from 0), line 4: 1 value where the header promises 2; \
             correct the row or the number of columns in the header",
        ),
        (
            "seed-text",
            b"1 3\n-1 70000 7O\n",
            "",
            "row 0, column 2 (counted from 0), line 2: \"7O\" is not a number; correct the file",
        ),
        (
            "seed-text",
            b"2 2\n-1 300\n\n7 2.5\n",
            "",
            "row 1, column 1 (counted from 0), line 4: the value 2.5 is not a whole number and so no class; \
             give --bins N, or --nodata if this is it",
        ),
        (
            "seed-text",
            b"1 2\n1 99999999999999999999\n",
            "",
            "row 0, column 1 (counted from 0), line 2: no type of numbers has the value 99999999999999999999 and those \
             before it exactly; give whole numbers of up to 64 bits, or reclassify the grid",
        ),
        (
            "seed-text",
            b"2 2\n11 11\n\n11 12\n",
            "--classes l.csv",
            "row 1, column 1 (counted from 0), line 4: the value 12 is not listed in l.csv; list it, or add a line *,nodata",
        ),
        (
            "pgm",
            b"P2 2 2 255\n11\n11\n\n11\n12\n",
            "--classes l.csv",
            "row 1, column 1 (counted from 0), line 6: the value 12 is not listed in l.csv; list it, or add a line *,nodata",
        ),
        (
            "pgm",
            b"P5 2 2 9\n\x01\x02\x03\x0a",
            "--bins 2",
            "row 1, column 1 (counted from 0): the value 10 is above the largest value 9 of the header; correct the header",
        ),
        (
            "pgm",
            b"P5 2 2 300\n\x01\x02\x03",
            "",
            "the file ends after 1 of 4 pixels; the file is cut short, or its header is wrong",
        ),
        ("png", b"\x89PNG\r\n\x1a\n\0\0", "", "the file ends inside the picture; the file is cut short; copy it again"),
        (
            "seed-binary",
            b"\x02\0\0\0\x01\0\0\0\x0b\x0c",
            "--classes l.csv",
            "sample 0, row 0, column 1 (counted from 0): the value 12 is not listed in l.csv; list it, or add a line *,nodata",
        ),
    ];
    let fortran = npy("<i2", "True", "(3, 2)", &[1, 0, 2, 0, 3, 0, 4, 0, 5, 0]);
    let cut: &[(&str, &[u8], &str, &str)] =
        &[("npy", &fortran, "--bins 2", "the file ends after 5 of 6 elements; the file is cut short; copy it again")];
    place.write("l.csv", "11,a\n");
    for (format, file, options, message) in table.iter().chain(cut) {
        place.write("f", file);
        let args = |input: &str| format!("entropy {input} h.txt -q --if {format} {options}");
        for (name, ran) in [("f", place.run(&args("f"))), ("standard input", place.feed(&args("-"), file))] {
            assert_eq!((ran.code, ran.err), (1, format!("halotile: {name}: {message}\n")), "{format} {options}");
            assert_eq!(place.names(), ["f", "l.csv"], "{format} {options}");
        }
    }
}
