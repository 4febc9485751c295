//! Files that are no grids: each fault with its place and its remedy.

use super::*;

#[test]
fn files_that_are_no_grids() {
    let large = "2147483648 rows and 2147483648 columns, more than the 2^40 cells a grid may have; correct the header";
    let rgb = picture(ColorType::Rgb, BitDepth::Eight, 1, 1, &[1, 2, 3]);
    let shallow = picture(ColorType::Grayscale, BitDepth::Four, 1, 1, &[0x10]);
    let grey = picture(ColorType::Grayscale, BitDepth::Eight, 32, 32, &[7; 1024]);
    let half: Vec<u8> = [1.0, 2.5f32].into_iter().flat_map(f32::to_le_bytes).collect();
    let table: Vec<(&str, Vec<u8>, &str, String)> = vec![
        ("f.txt", b"".to_vec(), "", format!("f.txt: the file is empty; {HEADER}")),
        ("f.bin", b"".to_vec(), "", "f.bin: the file is empty; begin with width and height, 4 bytes each".into()),
        ("f.npy", b"".to_vec(), "", "f.npy: the file is empty; save an array with numpy.save".into()),
        ("f.png", b"".to_vec(), "", "f.png: the file is empty; give a grey PNG picture of 8 or 16 bits".into()),
        ("f.pgm", b"".to_vec(), "", "f.pgm: the file is empty; give a PGM picture".into()),
        // Cut short.
        (
            "f.txt",
            b"3 2\n1 2\n3 4\n".to_vec(),
            "",
            "f.txt: line 4: the file ends after 2 of 3 rows; add the missing rows or correct the header".into(),
        ),
        (
            "f.bin",
            seed_binary(&[(1, 1, &[5]), (2, 2, &[1, 2, 3])]),
            "",
            "f.bin: sample 1 (counted from 0): 3 of the 4 bytes of a 2 x 2 grid are there; \
             the file is cut short, or its header is wrong"
                .into(),
        ),
        (
            "f.npy",
            npy("|u1", "False", "(2, 3)", &[1, 2]),
            "",
            "f.npy: the file ends after 2 of 6 elements; the file is cut short; copy it again".into(),
        ),
        (
            "f.png",
            grey[..grey.len() - 15].to_vec(),
            "",
            "f.png: the file ends inside the picture; the file is cut short; copy it again".into(),
        ),
        (
            "f.pgm",
            b"P5\n2 2\n255\n\x01\x02".to_vec(),
            "",
            "f.pgm: the file ends after 2 of 4 pixels; the file is cut short, or its header is wrong".into(),
        ),
        // Wrong counts.
        (
            "f.txt",
            b"2 3\n1 2 3\n4 5\n".to_vec(),
            "",
            format!("f.txt: row 1 (counted from 0), line 3: 2 values where the header promises 3; {ROW}"),
        ),
        (
            "f.txt",
            b"2 2\n1 2 3\n4 5\n".to_vec(),
            "",
            format!("f.txt: row 0 (counted from 0), line 2: 3 values where the header promises 2; {ROW}"),
        ),
        (
            "f.txt",
            b"1 1\n1\n2\n".to_vec(),
            "",
            "f.txt: line 3: \"2\" stands after the last of the 1 rows; delete it or correct the header".into(),
        ),
        // Values.
        (
            "f.txt",
            b"1 2\n1 99999999999999999999\n".to_vec(),
            "",
            "f.txt: row 0, column 1 (counted from 0), line 2: no type of numbers has the value 99999999999999999999 and \
             those before it exactly; give whole numbers of up to 64 bits, or reclassify the grid"
                .into(),
        ),
        (
            "f.txt",
            b"1 1\n2.5\n".to_vec(),
            "--nodata -9999",
            "f.txt: row 0, column 0 (counted from 0), line 2: the value 2.5 is not a whole number and so no class; \
             give --bins N, or --nodata if this is it"
                .into(),
        ),
        (
            "f.npy",
            npy("<f4", "False", "(1, 2)", &half),
            "",
            "f.npy: row 0, column 1 (counted from 0): the value 2.5 is not a whole number and so no class; \
             give --bins N, or --nodata if this is it"
                .into(),
        ),
        (
            "f.txt",
            b"2 2\n0 1\n4 3\n".to_vec(),
            "--levels 4",
            format!(
                "f.txt: row 1, column 0 (counted from 0), line 3: the value 4 is no level from 0 to 3; {LEVELS}"
            ),
        ),
        (
            "f.bin",
            seed_binary(&[(1, 1, &[5]), (2, 1, &[1, 16])]),
            "--levels 16",
            format!(
                "f.bin: sample 1, row 0, column 1 (counted from 0): the value 16 is no level from 0 to 15; {LEVELS}"
            ),
        ),
        // Headers.
        ("f.txt", b"2147483648 2147483648\n1\n".to_vec(), "", format!("f.txt: line 1: the header promises {large}")),
        (
            "f.bin",
            seed_binary(&[(i32::MAX, i32::MAX, &[1])]),
            "",
            "f.bin: sample 0 (counted from 0): the header promises 2147483647 rows and 2147483647 columns, \
             more than the 2^40 cells a grid may have; correct the header"
                .into(),
        ),
        (
            "f.npy",
            npy("|u1", "False", "(2147483648, 2147483648)", &[1]),
            "",
            format!("f.npy: the header promises {large}"),
        ),
        (
            "f.txt",
            b"0 4\n".to_vec(),
            "",
            "f.txt: line 1: the header promises 0 rows and 4 columns; a grid needs at least one of each".into(),
        ),
        (
            "f.npy",
            npy("|u1", "False", "(4, 0)", &[]),
            "",
            "f.npy: the header promises 4 rows and 0 columns; a grid needs at least one of each".into(),
        ),
        (
            "f.bin",
            seed_binary(&[(-1, 2, &[])]),
            "",
            "f.bin: sample 0 (counted from 0): the header promises 2 rows and -1 columns; \
             write width and height as positive little-endian 32-bit numbers"
                .into(),
        ),
        // Other kinds of files.
        (
            "f.npy",
            npy("|u1", "False", "(1, 1, 1)", &[1]),
            "",
            "f.npy: the array has the shape (1, 1, 1), not two dimensions; save one 2-D array, rows x columns".into(),
        ),
        ("f.npy", VECTOR.into(), "", "f.npy: this is not an NPY file; save the array with numpy.save".into()),
        (
            "f.png",
            VECTOR.into(),
            "",
            "f.png: this is not a PNG file; give the format by name if it is another one".into(),
        ),
        ("f.png", rgb, "", format!("f.png: the picture is in colour, not 8-bit or 16-bit grey; {CONVERT}")),
        ("f.png", shallow, "", format!("f.png: the picture is 4-bit grey, not 8-bit or 16-bit grey; {CONVERT}")),
        (
            "f.bin",
            seed_binary(&[(1, 1, &[1]), (1, 1, &[2])]),
            "--of npy",
            "f.bin: there are several samples, and an NPY file holds one; choose --of seed-lines".into(),
        ),
        (
            "f.bin",
            seed_binary(&[(1, 1, &[1]), (1, 1, &[2])]),
            "--preview p.png",
            "f.bin: there are several samples, and a preview shows one; leave out --preview".into(),
        ),
    ];
    let place = Place::new();
    for (name, bytes, options, message) in table {
        place.write(name, bytes);
        refused(&place, &format!("entropy {name} out.txt -q {options}"), 1, &message);
    }
}
