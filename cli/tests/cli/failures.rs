//! Everything that can be wrong: one line on stderr, the right exit code, and no file left behind.

mod command_lines;
mod files;

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
