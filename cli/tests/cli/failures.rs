//! Everything that can be wrong: one line on stderr, the right exit code, and no file left behind.

use std::time::{Duration, Instant};

use halotile::entropy::Kernel;
use halotile::exec::cuda;
use halotile::occupancy::Architecture;
use halotile_lab::resources;
use png::{BitDepth, ColorType};

use crate::place::{Place, VECTOR, npy, picture, random, seed_binary};

/// Runs and checks the message in full (without `halotile: `), the code, stdout and the directory.
#[track_caller]
fn refused(place: &Place, args: &str, code: i32, message: &str) {
    let before = place.names();
    let start = Instant::now();
    let ran = place.run(args);
    assert_eq!(ran.err, format!("halotile: {message}\n"), "{args}");
    assert_eq!((ran.code, ran.out.as_slice()), (code, &b""[..]), "{args}");
    assert_eq!(place.names(), before, "{args}");
    assert!(start.elapsed() < Duration::from_secs(5), "{args} took {:?}", start.elapsed());
}

const LEVELS: &str = "ask for more levels or for none, or name the nodata value if this is it";
const HEADER: &str = "begin with a line of two numbers, rows and columns";
const ROW: &str = "correct the row or the number of columns in the header";
const CONVERT: &str = "convert it, for example: magick in.png -alpha off -colorspace Gray -depth 8 \
                       -define png:color-type=0 -define png:bit-depth=8 out.png";

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

#[test]
fn command_lines_that_cannot_be_meant() {
    let place = Place::new();
    place.write("v.txt", VECTOR).write("v.jpg", VECTOR).write("v.dat", VECTOR);
    let kernels =
        ["auto"].into_iter().chain(halotile_lab::entropy::kernels().map(Kernel::name)).collect::<Vec<_>>().join(", ");
    assert!(kernels.starts_with(
        "auto, naive, tiled, histogram, histogram-wide, histogram-f64, columns, adaptive, band, band-counted, band-f64, footprint, "
    ));
    let see = "see halotile entropy --help";
    for (options, message) in [
        (
            "--size 4",
            format!("invalid value '4' for '--size <N>': a window's size is an odd number from 1 to 4095, not 4; {see}"),
        ),
        (
            "--size 0",
            format!("invalid value '0' for '--size <N>': a window's size is an odd number from 1 to 4095, not 0; {see}"),
        ),
        (
            "--size 4097",
            format!(
                "invalid value '4097' for '--size <N>': a window's size is an odd number from 1 to 4095, not 4097; {see}"
            ),
        ),
        ("--size five", format!("invalid value 'five' for '--size <N>': it is not a whole number; {see}")),
        (
            "--levels 0",
            format!("invalid value '0' for '--levels <N>': the number of levels is from 1 to 65536, not 0; {see}"),
        ),
        (
            "--levels 65537",
            format!("invalid value '65537' for '--levels <N>': the number of levels is from 1 to 65536, not 65537; {see}"),
        ),
        (
            "--normalize",
            "--normalize divides by the logarithm of the number of classes; give --levels, --bins or --classes".into(),
        ),
        (
            "--decimals 18",
            format!("invalid value '18' for '--decimals <N>': the number of decimals is from 0 to 17; {see}"),
        ),
        (
            "--threads 5000",
            format!("invalid value '5000' for '--threads <N>': the number of threads is from 0 to 1024; {see}"),
        ),
        ("--base 3", format!("invalid value '3' for '--base <BASE>' [possible values: e, 2, 10]; {see}")),
        (
            "--nodata x",
            format!("invalid value 'x' for '--nodata <V|none>': it is neither a number nor nan nor none; {see}"),
        ),
        ("--kernel fast", format!("invalid value 'fast' for '--kernel <NAME>' [possible values: {kernels}]; {see}")),
        (
            "--if tif",
            format!(
                "invalid value 'tif' for '--if <FORMAT>' [possible values: seed-text, seed-binary, npy, png, pgm, geotiff]; {see}"
            ),
        ),
        (
            "--of png",
            format!("invalid value 'png' for '--of <FORMAT>' [possible values: text, seed-lines, npy, geotiff]; {see}"),
        ),
        (
            "--device gpu",
            format!(
                "invalid value 'gpu' for '--device <DEVICE>': the devices are auto, cpu, cuda, cuda:0, cuda:0,1 (and so on), emulator; {see}"
            ),
        ),
        (
            "--device cuda:0,0",
            format!("invalid value 'cuda:0,0' for '--device <DEVICE>': device 0 is named twice; {see}"),
        ),
        ("--quiet --verbose", format!("the argument '--quiet' cannot be used with '--verbose...'; {see}")),
        ("--preview out.txt", "out.txt: the preview and the output are one file; name two".into()),
        ("--preview ./out.txt", "./out.txt: the preview and the output out.txt are one file; name two".into()),
        ("--preview p.jpg", "p.jpg: a preview is a PNG picture; end its name in .png".into()),
        (
            "--shape circle",
            "--shape circle: no shape and no file has this name; give square, disk or a text file of 0 and 1 (did you mean disk?)"
                .into(),
        ),
        (
            "--shape sqare",
            "--shape sqare: no shape and no file has this name; give square, disk or a text file of 0 and 1 (did you mean square?)"
                .into(),
        ),
        (
            "--shape hexagon",
            "--shape hexagon: no shape and no file has this name; give square, disk or a text file of 0 and 1".into(),
        ),
        ("--preview -", "a preview goes to a file, not to standard output; name one after --preview".into()),
        (
            "--kernel sliding --device cpu",
            "kernel sliding runs on a device, not in the CPU engine; \
             leave out --kernel or choose --device cuda or emulator"
                .into(),
        ),
        (
            "--kernel v12 --device cuda",
            "kernel v12 is a function on the CPU; leave out --device or choose --device cpu".into(),
        ),
        (
            "--kernel b10 --device emulator:2",
            "kernel b10 is a function on the CPU; leave out --device or choose --device cpu".into(),
        ),
    ] {
        refused(&place, &format!("entropy v.txt out.txt {options}"), 2, &message);
    }
    for (args, message) in [
        (
            "entropy v.txt - --json",
            "--json and the output - would both go to standard output; name a file for the output".to_owned(),
        ),
        (
            "entropy v.dat out.txt",
            "v.dat: the ending does not say the format; end the name in one of .txt (seed-text), .bin (seed-binary), \
             .npy (npy), .png (png), .pgm (pgm), .tif (geotiff), .tiff (geotiff), or name the format with --if"
                .to_owned(),
        ),
        (
            "entropy v.jpg out.txt",
            "v.jpg: this format is read by GDAL, not here; convert it: gdal_translate v.jpg v.tif".to_owned(),
        ),
        (
            "compare v.txt v.jpg",
            "v.jpg: this format is read by GDAL, not here; convert it: gdal_translate v.jpg v.tif".to_owned(),
        ),
        (
            "entropy v.txt out.txt --mask m.VRT",
            "m.VRT: this format is read by GDAL, not here; convert it: gdal_translate m.VRT m.tif".to_owned(),
        ),
        (
            "entropy v.txt a.txt -o b.txt",
            format!("the argument '[OUTPUT]' cannot be used with '--output <FILE>'; {see}"),
        ),
        (
            "entropy v.txt out.jpg",
            "out.jpg: the ending does not say the format; end the name in one of .txt (text), .npy (npy), \
             .tif (geotiff), .tiff (geotiff), or name the format with --of"
                .to_owned(),
        ),
        ("entropy v.txt", format!("the following required arguments were not provided: <OUTPUT>; {see}")),
        ("frobnicate", "unrecognized subcommand 'frobnicate'; see halotile --help".to_owned()),
        (
            "generate grid --rows 0 --cols 2 g.txt",
            "invalid value '0' for '--rows <N>': it is not a whole number of at least 1; \
             see halotile generate grid --help"
                .to_owned(),
        ),
        (
            "generate grid --rows 2 --cols 2 g.txt --levels 300",
            "invalid value '300' for '--levels <N>': the number of levels is from 1 to 256, not 300; \
             see halotile generate grid --help"
                .to_owned(),
        ),
        (
            "generate grid --rows 2 --cols 2 g.jpg",
            "g.jpg: the ending does not say the format; end the name in one of .txt (seed-text), .bin (seed-binary), \
             .npy (npy), .png (png), .pgm (pgm), .tif (geotiff), .tiff (geotiff), or name the format with --of"
                .to_owned(),
        ),
        (
            "generate grid --rows 2 --cols 2 g.txt --co TILED=NO",
            "--co is for GeoTIFF, and the format is seed-text; leave it out".to_owned(),
        ),
        (
            "generate grid --rows 2 --cols 2 g.tif --co BLOCKXSIZE=7",
            "--co: the creation option BLOCKXSIZE is \"7\"; it takes a multiple of 16 up to 16384".to_owned(),
        ),
        ("compare - -", "only one of the files can be standard input".to_owned()),
        (
            "compare v.txt v.txt --tolerance -1",
            "invalid value '-1' for '--tolerance <X>': a tolerance is a number that is not negative; \
             see halotile compare --help"
                .to_owned(),
        ),
        ("compare v.txt v.txt --if npy --if npy --if npy", "--if is given 3 times; give it once or twice".to_owned()),
        ("man frob", "there is no command \"frob\"; see halotile --help".to_owned()),
    ] {
        refused(&place, args, 2, &message);
    }
}

#[test]
fn occupancies_that_there_are_not() {
    let place = Place::new();
    let kernels = halotile_lab::entropy::kernels().filter(|kernel| kernel.entry().is_some()).map(Kernel::name);
    let known = kernels.chain(resources::kernels()).collect::<Vec<_>>().join(", ");
    let archs = Architecture::ALL.iter().map(|arch| arch.name).collect::<Vec<_>>().join(", ");
    let block = "a block is X or X,Y threads, whole numbers of at least 1, 1024 together at most";
    let most = resources::kernel("entropy_sliding", "sm_90").expect("it is reported").max_threads;
    for (args, message) in [
        ("frob", format!("invalid value 'frob' for '<KERNEL>' [possible values: {known}]; SEE")),
        ("naive --arch g80", format!("invalid value 'g80' for '--arch <ARCH>' [possible values: {archs}]; SEE")),
        ("naive --block 0", format!("invalid value '0' for '--block <X[,Y]>': {block}; SEE")),
        ("naive --block 8,8,8", format!("invalid value '8,8,8' for '--block <X[,Y]>': {block}; SEE")),
        ("naive --block 99999,99999", format!("invalid value '99999,99999' for '--block <X[,Y]>': {block}; SEE")),
        (
            "naive --shared 4294967296",
            "invalid value '4294967296' for '--shared <BYTES>': 4294967296 is not in 0..=4294967295; SEE".to_owned(),
        ),
        ("naive --block 32,33", "a block of 1056 threads is larger than the 1024 that sm_90 takes".to_owned()),
        (
            "sliding --block 1024 --json",
            format!("a block of 1024 threads is larger than the {most} that entropy_sliding is compiled for"),
        ),
        ("naive --json --svg -", "only one of --json and --svg can be standard output".to_owned()),
    ] {
        let message = message.replace("SEE", "see halotile occupancy --help");
        refused(&place, &format!("occupancy {args}"), 2, &message);
    }
    let missing = "no/o.svg: there is no directory no; make it, or choose another place";
    refused(&place, "occupancy naive --svg no/o.svg", 1, missing);
}

#[test]
fn places_that_cannot_be_read_or_written() {
    let place = Place::new();
    place.write("v.txt", VECTOR);
    std::fs::create_dir(place.path("dir.txt")).expect("a directory");
    for (args, message) in [
        (
            "entropy lost.txt out.txt",
            "lost.txt: the file cannot be opened: No such file or directory (os error 2); check the name",
        ),
        ("entropy dir.txt out.txt", "dir.txt: the file cannot be opened: is a directory; name a file"),
        ("entropy v.txt dir.txt", "dir.txt: this is a directory; name a file in it"),
        ("entropy v.txt no/out.txt", "no/out.txt: there is no directory no; make it, or choose another place"),
        ("entropy v.txt v.txt/out.txt", "v.txt/out.txt: there is no directory v.txt; make it, or choose another place"),
        (
            "entropy v.txt out.txt --preview no/p.png",
            "no/p.png: there is no directory no; make it, or choose another place",
        ),
        (
            "generate grid --rows 2 --cols 2 no/g.txt",
            "no/g.txt: there is no directory no; make it, or choose another place",
        ),
        (
            "compare v.txt lost.txt",
            "lost.txt: the file cannot be opened: No such file or directory (os error 2); check the name",
        ),
        (
            "generate grid --rows 2000000 --cols 2000000 g.npy",
            "g.npy: 2000000 x 2000000 cells are more than the 2^40 that a grid may have; make fewer",
        ),
        (
            "generate grid --rows 1 --cols 3000000000 g.png",
            "g.png: writing failed: 1 x 3000000000 cells are too many for png; choose npy; \
             choose another format or another grid",
        ),
    ] {
        if cfg!(unix) || !message.contains("os error") {
            refused(&place, args, 1, message);
        }
    }
    if cfg!(target_os = "linux") {
        let full = "/dev/full: writing failed: No space left on device (os error 28); make room or choose another disk";
        refused(&place, "entropy v.txt /dev/full -q --of text", 1, full);
        refused(&place, "generate grid --rows 9 --cols 9 /dev/full --of npy", 1, full);
        refused(&place, "entropy v.txt out.txt -q --preview /dev/full", 1, full);
    }
}

#[test]
fn what_standard_input_may_not_be() {
    let place = Place::new();
    let untold = "standard input: its first bytes do not say the format; name it with --if".to_owned();
    for (input, code, message) in [
        (&b""[..], 1, format!("standard input: the file is empty; {HEADER}")),
        (
            b"2 2\n1 2\n3",
            1,
            format!("standard input: row 1 (counted from 0), line 3: 1 value where the header promises 2; {ROW}"),
        ),
        (&[1, 0, 0, 0, 1, 0, 0, 0, 7], 2, untold),
        (
            b"\xff\xfe1\0 \0",
            1,
            "standard input: line 1: the text is UTF-16; save it as plain ASCII or UTF-8".to_owned(),
        ),
        (b"\x93NUMPY\x09", 1, "standard input: this is not an NPY file; save the array with numpy.save".to_owned()),
    ] {
        let ran = place.feed("entropy - out.txt -q", input);
        assert_eq!((ran.code, ran.err), (code, format!("halotile: {message}\n")));
        assert!(place.names().is_empty());
    }
}

#[test]
fn kernels_that_do_not_fit() {
    let place = Place::new();
    place.cells("c.npy", &random(40, 40, 17));
    for (options, why) in [
        ("--kernel sliding --size 7", "kernel sliding cannot do this: it takes windows of 5 x 5, not 7 x 7"),
        ("--kernel columns-all", "kernel columns-all cannot do this: it takes up to 16 levels, and there are 17"),
        ("--kernel naive --precision f64", "kernel naive cannot do this: it computes in f32"),
        ("--kernel histogram-f64 --precision f32", "kernel histogram-f64 cannot do this: it computes in f64"),
    ] {
        let message = format!("c.npy: {why}; choose another kernel or auto");
        refused(&place, &format!("entropy c.npy h.npy --device emulator {options}"), 1, &message);
    }
    for (options, why) in [
        ("--kernel v12 --size 7", "kernel v12 cannot do this: it takes windows of 5 x 5, not 7 x 7"),
        ("--kernel b10", "kernel b10 cannot do this: it takes up to 16 levels, and there are 17"),
        ("--kernel v14-share", "kernel v14-share cannot do this: it takes up to 16 levels, and there are 17"),
        ("--kernel v13 --precision f64", "kernel v13 cannot do this: it computes in f32"),
        ("--kernel v10 --nodata 16", "kernel v10 cannot do this: it counts every cell, and there are nodata cells"),
    ] {
        let message = format!("c.npy: {why}; choose another kernel or auto");
        refused(&place, &format!("entropy c.npy h.npy --device cpu {options}"), 1, &message);
    }
}

#[test]
fn a_gpu_that_is_not_there_is_never_replaced() {
    let place = Place::new();
    place.write("v.txt", VECTOR);
    let off = match cuda::count() {
        Ok(count) => {
            println!("skipped in part: this machine has {count} GPUs");
            let none = format!("there is no device cuda:{count}: this machine has {count}, counted from 0");
            refused(&place, &format!("entropy v.txt h.txt --device cuda:{count}"), 3, &none);
            return;
        }
        Err(error) => error.to_string(),
    };
    refused(&place, "entropy v.txt h.txt --device cuda", 3, &off);
    refused(&place, "entropy v.txt h.txt --device cuda:0,1 --json", 3, &off);
    refused(
        &place,
        "entropy v.txt h.txt --kernel sliding",
        3,
        &format!("kernel sliding runs on a device, and {off}; choose --device emulator or no kernel"),
    );
    // With auto, a grid that is worth a GPU gets the CPU and the reason.
    place.cells("large.npy", &random(3000, 3000, 256));
    let ran = place.run("entropy large.npy h.npy --size 101 --threads 1");
    assert_eq!((ran.code, ran.err), (0, format!("halotile: device auto: cpu, because {off}\n")));
    // One that is not worth one says nothing: not even under -v, where there is no GPU to choose.
    place.run("entropy large.npy small.npy --size 3 --threads 2").quietly();
    if cuda::driver().is_err() {
        let ran = place.run("entropy large.npy small.npy --size 3 --threads 2 --overwrite -v");
        assert!(ran.code == 0 && !ran.err.contains("device auto"), "{}", ran.err);
    }
}
