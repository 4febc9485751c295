//! What the program says without being asked, and its help.

use halotile::grid::Grid;

use crate::place::{Place, VECTOR, VECTOR_ENTROPY, random};

#[test]
fn classes_are_told_under_v() {
    let place = Place::new();
    place.write("v.txt", "1 6\n11 11 21 42 -1 21\n").write("l.csv", "11,water\n*,land\n");
    for (options, told) in [
        ("--nodata -1", "v.txt: 3 classes, the values that occur: 11, 21, 42; cells without data: 1"),
        ("--nodata -1 --bins 2", "v.txt: 2 classes, by --bins: 11 to 26.5, 26.5 to 42"),
        ("--nodata -1 --classes l.csv", "v.txt: 2 classes, by --classes: water, land"),
    ] {
        let ran = place.run(&format!("entropy v.txt h.txt -v --overwrite {options}"));
        assert_eq!(ran.code, 0, "{}", ran.err);
        let line = ran.err.lines().find(|line| line.contains(" classes, ")).unwrap_or_default();
        assert_eq!(line.strip_prefix("halotile: INFO "), Some(told), "{options}: {}", ran.err);
        place.run(&format!("entropy v.txt h.txt --overwrite {options}")).quietly();
    }
    // No more than can be read.
    place.cells("c.npy", &random(50, 50, 200));
    let ran = place.run("entropy c.npy h.npy -v");
    assert!(
        ran.err.contains("c.npy: 200 classes, the values that occur: 0, 1, 2, ")
            && ran.err.contains(", 19 and 180 more; "),
        "{}",
        ran.err
    );
}

#[test]
fn a_value_that_fills_an_edge_is_hinted_at() {
    let place = Place::new();
    let map = |value: u8, at: fn(usize, usize) -> bool| {
        let cells = random(40, 50, 5);
        Grid::from_fn(40, 50, |r, c| if at(r, c) { value } else { 10 + cells.row(r)[c] }).expect("a shape")
    };
    let hint = |name: &str, value: u8, share: u8| {
        format!(
            "halotile: {name}: value {value} fills {share} % of the cells and a whole edge; if it means no data, give --nodata {value}\n"
        )
    };
    place.cells("left.npy", &map(255, |_, c| c < 10)).cells("below.png", &map(0, |r, _| r >= 30));
    // Less than a tenth; no whole edge; another value; all of it.
    place.cells("thin.npy", &map(0, |r, _| r < 3)).cells("inner.npy", &map(0, |r, c| r < 20 && c > 0 && c < 49));
    place.cells("other.npy", &map(7, |r, _| r < 20)).cells("all.npy", &map(0, |_, _| true));
    for (name, said) in [
        ("left.npy", hint("left.npy", 255, 20)),
        ("below.png", hint("below.png", 0, 25)),
        ("thin.npy", String::new()),
        ("inner.npy", String::new()),
        ("other.npy", String::new()),
        ("all.npy", String::new()),
    ] {
        let ran = place.run(&format!("entropy {name} h.npy --overwrite"));
        assert_eq!((ran.code, ran.err), (0, said), "{name}");
    }
    // Where something was said of no data, or of classes, there is nothing to add.
    for options in [
        "--nodata 255",
        "--nodata none",
        "--nodata 3",
        "--levels 256 --nodata none",
        "--bins 3",
        "-q",
        "--mask left.npy",
    ] {
        place.run(&format!("entropy left.npy h.npy --overwrite {options}")).quietly();
    }
}

#[test]
fn size_and_output_have_short_names() {
    let place = Place::new();
    place.write("v.txt", VECTOR);
    for args in ["v.txt -o h.txt", "-o h.txt v.txt", "--output=h.txt v.txt -s 5", "v.txt h.txt -s5"] {
        place.run(&format!("entropy {args} --overwrite")).quietly();
        assert_eq!(place.text("h.txt"), VECTOR_ENTROPY, "{args}");
    }
    assert_eq!(place.run("entropy v.txt -o -").quietly(), VECTOR_ENTROPY);
    let three = place.run("entropy v.txt - --size 3").quietly();
    assert_eq!(place.run("entropy v.txt -o - -s 3").quietly(), three);
}

#[test]
fn help_is_short_or_long_and_in_groups() {
    let place = Place::new();
    let (short, long) = (place.run("entropy -h").quietly(), place.run("entropy --help").quietly());
    for help in [&short, &long] {
        let at = |heading: &str| help.find(&format!("\n{heading}:\n")).unwrap_or_else(|| panic!("{heading}: {help}"));
        let headings = ["Arguments", "Options", "Input", "Window", "Measure", "Output", "Machine"].map(at);
        assert!(headings.is_sorted(), "{headings:?}");
        assert!(help.contains("-s, --size <N>") && help.contains("-o, --output <FILE>"));
        // They have a page of their own.
        assert!(!help.contains("histogram-wide") && help.contains("kernels lists them"), "{help}");
        assert!(help.contains("Examples:\n  halotile entropy map.txt entropy.txt"), "{help}");
    }
    assert!(short.lines().count() < 90 && !short.contains("--json prints one object"), "{short}");
    assert!(long.contains("--json prints one object") && long.contains("BLOCKYSIZE=N"), "{long}");
    // Other commands' details are for --help, too.
    assert!(!place.run("apsp -h").quietly().contains("--json prints"));
    assert!(place.run("apsp --help").quietly().contains("--json prints"));
}

#[test]
fn kernels_have_a_page() {
    let place = Place::new();
    let list = place.run("kernels").quietly();
    let names: Vec<_> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    for kernel in halotile_lab::entropy::kernels() {
        assert!(names.contains(&kernel.name()), "{kernel}");
    }
    for page in ["help kernels", "kernels --help", "man kernels"] {
        let text = place.run(page).quietly().replace('\\', "");
        assert!(text.contains("histogram-wide") && text.contains("v14-share"), "{page}: {text}");
    }
    assert!(place.run("completions bash").quietly().contains("histogram-wide"));
}
