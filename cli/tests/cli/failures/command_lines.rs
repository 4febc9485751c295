//! Command lines that cannot be meant.

use super::*;

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
            format!("invalid value 'png' for '--of <FORMAT>' [possible values: text, seed-lines, npy, geotiff, cog]; {see}"),
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
            "entropy v.txt out.txt --mask m.IMG",
            "m.IMG: this format is read by GDAL, not here; convert it: gdal_translate m.IMG m.tif".to_owned(),
        ),
        (
            "entropy v.txt a.txt -o b.txt",
            "v.txt: several inputs are one mosaic of GeoTIFFs, and this is none; name one input, or GeoTIFFs"
                .to_owned(),
        ),
        (
            "entropy a.tif v.txt -o b.tif",
            "v.txt: several inputs are one mosaic of GeoTIFFs, and this is none; name one input, or GeoTIFFs"
                .to_owned(),
        ),
        (
            "entropy a.tif b.tif c.tif",
            "a.tif ... c.tif: several inputs are one mosaic, and -o names its output; give -o OUTPUT".to_owned(),
        ),
        (
            "entropy v.txt out.jpg",
            "out.jpg: the ending does not say the format; end the name in one of .txt (text), .npy (npy), \
             .tif (geotiff), .tiff (geotiff), or name the format with --of"
                .to_owned(),
        ),
        ("entropy v.txt", format!("the following required arguments were not provided: <OUTPUT>...; {see}")),
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
