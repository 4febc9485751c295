//! What is on standard error: lines that begin with the program's name, as loud as was asked for, of characters that are seen.

use crate::place::{Place, VECTOR};

/// A GeoTIFF of one cell whose tag for no data is no number: the library warns of that.
fn doubtful() -> Vec<u8> {
    let entry = |tag: u16, kind: u16, count: u32, value: [u8; 4]| {
        [&tag.to_le_bytes()[..], &kind.to_le_bytes(), &count.to_le_bytes(), &value].concat()
    };
    let short = |tag, value: u16| entry(tag, 3, 1, [value.to_le_bytes()[0], value.to_le_bytes()[1], 0, 0]);
    let entries = [
        short(256, 1),
        short(257, 1),
        short(258, 8),
        short(259, 1),
        short(262, 1),
        // The cell lies behind the directory.
        short(273, 8 + 2 + 10 * 12 + 4),
        short(277, 1),
        short(278, 1),
        short(279, 1),
        entry(42113, 2, 4, *b"abc\0"),
    ];
    [&b"II*\0\x08\0\0\0\x0a\0"[..], &entries.concat(), &[0; 4], &[7]].concat()
}

#[test]
fn warnings_have_the_programs_name_and_are_silent_when_asked() {
    let place = Place::new();
    place.write("d.tif", doubtful());
    let ran = place.run("entropy d.tif h.txt --device cpu");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("WARN d.tif: the tag GDAL_NODATA holds"), "{}", ran.err);
    assert!(ran.err.lines().all(|line| line.starts_with("halotile: ")), "{}", ran.err);
    place.run("entropy d.tif h.txt --device cpu --overwrite -q").quietly();
    // Errors are said in any case, and what is told of the work begins like all else.
    let ran = place.run("entropy none.tif h.txt --overwrite -q");
    assert!(ran.code == 1 && ran.err.starts_with("halotile: none.tif: "), "{}", ran.err);
    let ran = place.run("entropy d.tif h.txt --overwrite -vv");
    assert!(ran.err.contains("DEBUG ") && ran.err.lines().all(|line| line.starts_with("halotile: ")), "{}", ran.err);
}

#[test]
fn what_is_not_seen_is_shown() {
    let place = Place::new();
    let name = "a\u{202e}fit.txt";
    place.write(name, VECTOR).write("f.txt", "1 2\n1 \u{202e}\u{200b}2\n").write("g.txt", "1 1\n\u{feff}5\n");
    for (args, shown) in [
        (format!("entropy {name} {name}"), "halotile: a\\u{202e}fit.txt: "),
        (format!("entropy no{name} h.txt"), "halotile: noa\\u{202e}fit.txt: "),
        (format!("entropy f.txt h{name}/h.txt"), "ha\\u{202e}fit.txt; "),
        (format!("entropy {name} --size {name}"), "invalid value 'a\\u{202e}fit.txt' for"),
        ("entropy f.txt h.txt".to_owned(), "\\u{202e}\\u{200b}2"),
        ("entropy g.txt h.txt".to_owned(), "\\u{feff}5"),
    ] {
        let ran = place.run(&args);
        assert!(ran.code != 0 && ran.err.contains(shown), "{args}: {}", ran.err);
        assert!(!ran.err.contains(['\u{202e}', '\u{200b}', '\u{feff}']), "{args}: {}", ran.err);
    }
}
