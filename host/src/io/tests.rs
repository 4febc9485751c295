//! Tests of all formats at once: hostile bytes, lying headers, broken streams.

use std::io::Read;

use proptest::prelude::*;

use super::arrays::Arrays;
use super::input::Input;
use super::stored::StoredArray;
use super::*;
use crate::grid::Grid;
use crate::io::reals::RealFormat;

const REALS: [RealFormat; 11] = [
    RealFormat::AnyText,
    RealFormat::Results(OutputFormat::Text),
    RealFormat::Results(OutputFormat::SeedLines),
    RealFormat::Results(OutputFormat::Npy),
    RealFormat::Cells(InputFormat::SeedText),
    RealFormat::Cells(InputFormat::SeedBinary),
    RealFormat::Cells(InputFormat::Npy),
    RealFormat::Cells(InputFormat::Png),
    RealFormat::Cells(InputFormat::Pgm),
    RealFormat::Results(OutputFormat::GeoTiff),
    RealFormat::AnyText,
];

/// All arrays of a stream.
fn arrays<'a>(format: InputFormat, input: impl Read + 'a) -> Result<Vec<StoredArray>, FormatError> {
    Arrays::new(Input::stream(input, "f"), format).collect()
}

/// The numbers of an array, as text so that NaN is NaN.
fn numbers(array: &StoredArray) -> String {
    format!("{:?}", array.read(0..array.rows, 0..array.cols))
}

/// Every reader on the same bytes. Whatever they are, there is a grid or one line of error, and a grid can be read.
fn read_all(bytes: &[u8]) {
    // A GeoTIFF from a stream, too, is one line of error.
    for &format in InputFormat::ALL {
        match arrays(format, bytes) {
            Ok(arrays) => arrays.iter().for_each(|array| {
                let last = array.read(array.rows - 1..array.rows, 0..array.cols);
                last.map_or_else(|e| one_line(&e), |values| assert_eq!(values.len(), array.cols));
            }),
            Err(e) => one_line(&e),
        }
    }
    for format in REALS {
        if let Err(e) = reals::read(format, bytes, "f") {
            one_line(&e);
        }
    }
}

fn one_line(e: &FormatError) {
    let text = e.to_string();
    assert!(text.starts_with("f: ") && text.contains("; ") && !text.chars().any(char::is_control), "{text:?}");
    assert!(text.len() < 400, "{text}");
    assert!(!text.contains("defect"), "{text}");
}

fn valid_files() -> Vec<Vec<u8>> {
    let grid = Grid::from_fn(6, 9, |r, c| ((r * 5 + c) % 11) as u8).unwrap();
    let mut files: Vec<_> =
        InputFormat::streams().map(|format| write_cells(format, Vec::new(), grid.view()).unwrap()).collect();
    files.push(b"P2\n# c\n3 2\n255\n0 1 2\n10 32 255\n".to_vec());
    let results = Grid::from_fn(6, 9, |r, c| (r * 9 + c) as f64 / 7.0).unwrap();
    for &format in OutputFormat::STREAMS {
        files.push(write_results(format, Vec::new(), results.view(), 5).unwrap());
    }
    let fortran = "{'descr': '>i4', 'fortran_order': True, 'shape': (2, 3), }\n";
    let header = [b"\x93NUMPY\x01\x00", &(fortran.len() as u16).to_le_bytes()[..], fortran.as_bytes()].concat();
    files.push([&header[..], &[0u8; 24]].concat());
    files
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read_all(&bytes);
    }

    #[test]
    fn no_digits_and_signs_make_a_reader_panic(
        text in prop::collection::vec(prop::sample::select(&b"0123456789 \n\n \t\r-+.,eEnaif#P25x"[..]), 0..200),
    ) {
        read_all(&text);
    }

    #[test]
    fn no_damage_to_a_good_file_makes_a_reader_panic(
        file in prop::sample::select(valid_files()),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<Option<u8>>(), any::<u8>()), 0..5),
        keep in 0.0..1.3f64,
    ) {
        let mut file = file;
        for (at, replace, insert) in edits {
            let at = at.index(file.len());
            match replace {
                Some(byte) => file[at] = byte,
                None => file.insert(at, insert),
            }
        }
        let length = file.len();
        file.truncate((length as f64 * keep) as usize);
        read_all(&file);
    }
}

#[test]
fn undamaged_files_are_read_by_their_own_reader() {
    let files = valid_files();
    for (file, format) in files.iter().zip(InputFormat::streams()) {
        assert!(arrays(format, &file[..]).is_ok(), "{format}");
    }
    for file in &files {
        read_all(file);
    }
}

/// Headers that promise a quarter of a terabyte and more cost nothing: the address space of the process (which
/// counts even what is reserved and never touched) does not grow by it.
#[cfg(target_os = "linux")]
#[test]
fn lying_headers_do_not_allocate() {
    let peak = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|l| l.starts_with("VmPeak:")).unwrap().to_owned();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let before = peak();
    let side = 1u32 << 19;
    let binary = [&side.to_le_bytes()[..], &side.to_le_bytes(), &[1; 1000]].concat();
    // The signature and IHDR of a grey PNG of 8 bits, with its checksum.
    let picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\x08\0\0\0\x08\0\0\x08\0\0\0\0\xcb\x09\x4e\x85".to_vec();
    let npy = |descr: &str| [npy_header::write(descr, 1 << 19, 1 << 19), vec![0; 1000]].concat();
    for bytes in [
        binary,
        picture,
        npy("|u1"),
        npy("<f8"),
        npy(">i2"),
        b"524288 524288\n1 2 3\n".to_vec(),
        b"P5 524288 524288 255\n123".to_vec(),
        b"P2 524288 524288 255\n1 2 3".to_vec(),
        b"524288,524288,1,2,3,\n".to_vec(),
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(),
    ] {
        read_all(&bytes);
    }
    // Other tests run meanwhile, and on a large machine the allocator reserves gigabytes for their threads.
    assert!(peak() - before < 100 << 20, "{} KiB more", peak() - before);
}

#[test]
fn streams_that_trickle_or_break_are_read_or_reported() {
    /// One byte a call, every other call interrupted.
    struct Slow<'a>(&'a [u8], bool);
    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(ErrorKind::Interrupted.into());
            }
            let n = self.0.len().min(out.len()).min(1);
            out[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }
    struct Breaks<'a>(&'a [u8]);
    impl Read for Breaks<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            if self.0.is_empty() {
                return Err(std::io::Error::other("the line went dead"));
            }
            let n = self.0.len().min(out.len());
            out[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }
    for (file, format) in valid_files().iter().zip(InputFormat::streams()) {
        let whole = arrays(format, &file[..]).unwrap();
        let slow = arrays(format, Slow(file, false)).unwrap();
        assert_eq!(slow.iter().map(numbers).collect::<Vec<_>>(), [numbers(&whole[0])], "{format}");
        let e = arrays(format, Breaks(&file[..file.len() / 2])).unwrap_err();
        assert_eq!(
            e.to_string(),
            "f: reading failed: the line went dead; check the disk or the program that feeds the pipe",
            "{format}"
        );
    }
}

/// A file and a stream give the same numbers, whatever the format, and the same errors.
#[test]
fn a_file_and_a_stream_are_read_alike() {
    for file in valid_files() {
        for (bytes, format) in [&file[..], &file[..file.len() - 2], &[&file[..], b"9"].concat()]
            .into_iter()
            .flat_map(|bytes| InputFormat::streams().map(move |format| (bytes, format)))
        {
            let on_disk = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(on_disk.path(), bytes).unwrap();
            let by_position = Arrays::new(Input::open(on_disk.path(), &()).unwrap().expect("a regular file"), format);
            let name = on_disk.path().display().to_string();
            let shown = |arrays: Result<Vec<StoredArray>, FormatError>| match arrays {
                Ok(arrays) => arrays.iter().map(numbers).collect::<Vec<_>>().join("; "),
                Err(e) => e.to_string().replace(&name, "f"),
            };
            assert_eq!(shown(by_position.collect()), shown(arrays(format, bytes)), "{format}");
        }
    }
}

#[test]
fn files_that_cannot_be_opened_say_why() {
    let dir = tempfile::tempdir().unwrap();
    let message = |path: &Path| open(path).err().expect("an error").to_string();
    let d = dir.path().display();
    assert_eq!(
        message(&dir.path().join("none.txt")),
        format!("{d}/none.txt: the file cannot be opened: No such file or directory (os error 2); check the name")
    );
    assert_eq!(message(dir.path()), format!("{d}: the file cannot be opened: is a directory; name a file"));
}
