//! What is refused: options that contradict each other, files that fail, masks of another place; nothing is left behind.

use super::*;

#[test]
fn options_that_contradict_each_other() {
    let place = Place::new();
    place.write("v.txt", VECTOR).write("w.txt", "111\n").write("t.tif", "no TIFF");
    let before = place.names();
    let clipped = "computes Shannon's entropy in clipped squares, of grids in memory; leave out --kernel or";
    for (args, message) in [
        ("v.txt o.txt --band 1", "--band chooses a band of a GeoTIFF, and the input is none; leave it out".to_owned()),
        ("- o.txt --if geotiff", "a GeoTIFF is read from a file, not from standard input; name the file".to_owned()),
        ("v.txt - --of geotiff", "a GeoTIFF goes to a file, not to standard output; name one".to_owned()),
        ("v.txt o.txt --co TILED=NO", "--co is for GeoTIFF, and the output's format is text; leave it out".to_owned()),
        (
            "v.txt o.tif --of cog --co TILED=NO",
            "--co: a COG and overviews have tiles, and TILED=NO was asked for; leave one of them out".to_owned(),
        ),
        ("v.txt o.tif --co TILED=2", "--co: the creation option TILED is \"2\"; it takes YES or NO".to_owned()),
        (
            "v.txt o.npy --measure shannon,richness",
            "o.npy: a file of the format npy holds one measure, and there are 2; put {measure} into the output's name, \
             or choose --of geotiff"
                .to_owned(),
        ),
        (
            &format!("v.txt o.tif --measure {}", (0..100).map(|q| format!("hill:{q}")).collect::<Vec<_>>().join(",")),
            format!("--measure: there are from 1 to {MAX_MEASURES} measures at a time, not 100"),
        ),
        ("v.txt o.tif --measure simpson,shannon,simpson", "--measure names simpson twice; leave one of them".to_owned()),
        (
            "v.txt o.tif --measure simpson --normalize --bins 4",
            "--normalize changes shannon alone, and --measure does not name it; leave it out".to_owned(),
        ),
        (
            "v.txt h-{measure}.npy --preview h-shannon.npy",
            "h-shannon.npy: the preview and the output are one file; name two".to_owned(),
        ),
        ("v.txt o.txt --shape w.txt --size 5", "a file for --shape says how large the window is; leave out --size".to_owned()),
        ("v.txt o.txt --mask -", "a mask is read from a file, not from standard input; name one after --mask".to_owned()),
        (
            "v.txt o.txt --mask mask",
            "mask: the mask's name does not say its format; end it in .tif, .npy, .png, .pgm or .txt".to_owned(),
        ),
        ("v.txt o.txt --kernel v7 --edge reflect", format!("kernel v7 is a rung: it {clipped} --edge")),
        ("v.txt o.txt --kernel v12 --measure simpson", format!("kernel v12 is a rung: it {clipped} --measure")),
        ("v.txt o.txt --kernel b3 --shape disk", format!("kernel b3 is a rung: it {clipped} --shape")),
        ("v.txt o.txt --kernel v14 --min-valid 0.5", format!("kernel v14 is a rung: it {clipped} --min-valid")),
        ("v.txt o.txt --kernel v14 --fill-nodata", format!("kernel v14 is a rung: it {clipped} --fill-nodata")),
        ("v.txt o.txt --kernel v7 --memory 1G", format!("kernel v7 is a rung: it {clipped} --memory")),
        (
            "t.tif o.txt --kernel v7",
            "kernel v7 is a rung, which takes grids in memory, and a GeoTIFF is read piece by piece; leave out --kernel"
                .to_owned(),
        ),
    ] {
        let ran = place.run(&format!("entropy {args} -q"));
        assert_eq!((ran.code, ran.err), (2, format!("halotile: {message}\n")), "{args}");
    }
    let see = "; see halotile entropy --help\n";
    for (options, part) in [
        ("--levels 4 --bins 4", "cannot be used with"),
        ("--levels 4 --classes w.txt", "cannot be used with"),
        ("--classes w.txt --bins 9", "cannot be used with"),
        ("--binning equal", "--bins <N>"),
        ("--bins 0", "the number of bins is from 1 to 65536"),
        ("--bins 65537", "the number of bins is from 1 to 65536"),
        ("--bins 9 --binning jenks", "[possible values: equal, quantile]"),
        ("--band 0", "it is not a whole number of at least 1"),
        ("--memory much", "it is no size such as 512MiB, 1.5G or 2000000000"),
        ("--min-valid 1.5", "the fraction is from 0 to 1"),
        ("--min-valid nan", "the fraction is from 0 to 1"),
        ("--edge wrap", "[possible values: shrink, nodata, symmetric, reflect, replicate]"),
        ("--measure entropy", "no measure is called \"entropy\"; the measures are shannon, simpson"),
        ("--measure renyi", "the order is a number from 0 up or inf"),
        ("--shape=", "it is square, disk or the name of a file"),
    ] {
        let ran = place.run(&format!("entropy v.txt o.txt {options}"));
        assert!(ran.code == 2 && ran.err.contains(part) && ran.err.ends_with(see), "{options}: {}", ran.err);
    }
    assert_eq!(place.names(), before);
}

#[test]
fn geotiffs_that_fail_leave_nothing() {
    let place = Place::new();
    place.write("t.tif", "no TIFF").write("v.txt", VECTOR);
    place.run("generate grid --rows 300 --cols 300 m.tif").quietly();
    let whole = place.read("m.tif");
    // Damaged in the middle: the first pass over the cells meets it, or, without one, the computation.
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 64].fill(0xff);
    place.write("bad.tif", damaged);
    let before = place.names();
    for (args, part) in [
        ("entropy t.tif o.tif", "t.tif: this is not a TIFF file; name a GeoTIFF"),
        ("entropy bad.tif o.tif", "bad.tif: row 0, column 0 (counted from 0): "),
        ("entropy bad.tif o.tif --levels 16 --preview p.png", "bad.tif: row 0, column 0 (counted from 0): "),
        ("entropy v.txt o.tif --mask t.tif", "t.tif: this is not a TIFF file; name a GeoTIFF"),
    ] {
        let ran = place.run(&format!("{args} -q"));
        assert!(ran.code == 1 && ran.err.starts_with(&format!("halotile: {part}")), "{args}: {}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    }
    if cfg!(target_os = "linux") {
        let ran = place.run("entropy v.txt /dev/full -q --of geotiff");
        assert!(ran.code == 1 && ran.err.starts_with("halotile: /dev/full: "), "{}", ran.err);
    }
    // Several samples do not go into one.
    place.write("s.bin", seed_binary(&[(1, 1, &[1]), (1, 1, &[2])]));
    let ran = place.run("entropy s.bin o.tif -q");
    let several = "halotile: s.bin: there are several samples, and a GeoTIFF holds one; choose --of seed-lines\n";
    assert_eq!((ran.code, ran.err.as_str()), (1, several));
    std::fs::remove_file(place.path("s.bin")).expect("removed");
    assert_eq!(place.names(), before);
}

#[test]
fn a_mask_of_another_place_is_refused_before_any_work() {
    let place = Place::new();
    place.run("generate grid --rows 60 --cols 50 --levels 5 m.tif").quietly();
    place.run("generate grid --rows 60 --cols 50 --levels 2 mask.tif").quietly();
    place.run("entropy m.tif same.npy --mask mask.tif -q").quietly();
    let pam = |inside: &str| {
        place.write("mask.tif.aux.xml", format!("<PAMDataset>{inside}</PAMDataset>"));
        place.run("entropy m.tif no.npy --mask mask.tif -q")
    };
    let ran = pam("<GeoTransform>4420250, 30, 0, 3210900, 0, -30</GeoTransform>");
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (
            1,
            "halotile: mask.tif: the mask lies elsewhere: its upper left corner is (4420250, 3210900), and that of m.tif is \
             (4320250, 3210900); give a mask of the same place, as with gdalwarp\n"
        )
    );
    let ran = pam("<SRS>EPSG:32633</SRS>");
    assert!(ran.code == 1 && ran.err.contains("is EPSG:32633, and that of m.tif is EPSG:3035"), "{}", ran.err);
    assert_eq!(place.names(), ["m.tif", "mask.tif", "mask.tif.aux.xml", "same.npy"]);
    // A system without a code cannot be compared: that is said, and no more.
    let mut place_of =
        GeoTiff::open(&place.path("m.tif"), 1).expect("a GeoTIFF").georeference().expect("a place").clone();
    (place_of.key_directory, place_of.key_text) = (None, None);
    let mut file = OutputFile::create(&place.path("bare.tif"), false).expect("a file");
    let options = CreationOptions::default();
    let mut sink = GeoTiffSink::<f32, _>::new(
        &mut file,
        "bare.tif",
        (60, 50),
        &Description::of(&["band"]),
        Some(&place_of),
        &options,
    )
    .expect("a sink");
    sink.write(0, 0, &[Grid::from_fn(60, 50, |r, _| (r % 2) as f32).expect("a grid").view()]).expect("written");
    Box::new(sink).finish().expect("finished");
    file.commit().expect("there");
    let ran = place.run("entropy m.tif bare.npy --mask bare.tif");
    assert!(ran.code == 0 && ran.err.contains("cannot be compared with that of m.tif (EPSG:3035)"), "{}", ran.err);
}
