//! What is written is what the formats say, wherever it goes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::*;
use crate::apsp::predecessors;

fn write<T: Distance>(matrix: &Matrix<T>, format: DistanceFormat, path: &Path) -> Result<(), FormatError> {
    let mut file = OutputFile::create(path, true)?;
    write_distances(matrix, format, &mut file, &())?;
    file.commit()
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("d");
    (dir, path)
}

fn bytes<T: Distance>(matrix: &Matrix<T>, format: DistanceFormat) -> Vec<u8> {
    let (_dir, path) = place();
    write(matrix, format, &path).unwrap();
    fs::read(path).unwrap()
}

#[test]
fn names_and_endings_lead_back_to_their_format() {
    for (&format, file) in DistanceFormat::ALL.iter().zip(["a.bin", "a.b.NPY", "a.csv"]) {
        assert_eq!(format.to_string().parse(), Ok(format));
        assert_eq!(DistanceFormat::detect(file.as_ref()), Ok(format));
    }
    assert_eq!(
        DistanceFormat::detect("a.txt".as_ref()).unwrap_err().to_string(),
        "a.txt: the ending does not say the format; end the name in one of .bin (binary), .npy (npy), .csv (csv), or name the format"
    );
}

#[test]
fn three_vertices_in_every_type_and_format() {
    let u = 1_073_741_823;
    let whole = Matrix::from_fn(3, |i, j| [[0, 1, u], [-2, 0, 300], [u, u, 0]][i][j]).unwrap();
    let cells = |numbers: &[i32]| numbers.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
    let expected = cells(&[0, 1, u, -2, 0, 300, u, u, 0]);
    assert_eq!(bytes(&whole, DistanceFormat::Binary), expected);
    assert_eq!(bytes(&whole, DistanceFormat::Npy), [npy_header::write("<i4", 3, 3), expected].concat());
    assert_eq!(bytes(&whole, DistanceFormat::Csv), b"0,1,inf\n-2,0,300\ninf,inf,0\n");

    let short = Matrix::from_fn(2, |i, j| [[0u16, 32767], [32766, 0]][i][j]).unwrap();
    assert_eq!(bytes(&short, DistanceFormat::Binary), cells(&[0, u, 32766, 0]));
    let npy = [npy_header::write("<i2", 2, 2), vec![0, 0, 0xff, 0x7f, 0xfe, 0x7f, 0, 0]].concat();
    assert_eq!(bytes(&short, DistanceFormat::Npy), npy);
    assert_eq!(bytes(&short, DistanceFormat::Csv), b"0,inf\n32766,0\n");

    let real = Matrix::from_fn(2, |i, j| [[0.0, f32::INFINITY], [2.5, 0.0]][i][j]).unwrap();
    let numbers = [0.0, f32::INFINITY, 2.5, 0.0].map(f32::to_le_bytes);
    assert_eq!(bytes(&real, DistanceFormat::Npy), [&npy_header::write("<f4", 2, 2), numbers.as_flattened()].concat());
    assert_eq!(bytes(&real, DistanceFormat::Csv), b"0,inf\n2.5,0\n");

    let before = Matrix::from_fn(2, |i, j| if i == j { predecessors::NONE } else { i as i32 }).unwrap();
    assert_eq!(bytes(&before, DistanceFormat::Binary), cells(&[-9999, 0, 1, -9999]));
    assert_eq!(bytes(&before, DistanceFormat::Csv), b"-9999,0\n1,-9999\n");
}

#[test]
fn matrices_of_many_bands_arrive_whole_by_position_and_in_order() {
    let (_dir, path) = place();
    for vertices in [1, 63, 64, 65, 1025] {
        let matrix = Matrix::from_fn(vertices, |i, j| (i * 31 + j * 7) as i32).unwrap();
        for format in [DistanceFormat::Binary, DistanceFormat::Npy] {
            write(&matrix, format, &path).unwrap();
            let file = MatrixFile::open(&path).unwrap();
            assert_eq!(file.vertices(), vertices);
            for i in 0..vertices {
                assert_eq!(file.row(i).unwrap(), matrix.row(i), "{vertices} {format}");
            }
            let last = vertices - 1;
            assert_eq!(file.get(last, 0).unwrap(), matrix.get(last, 0));
        }
    }
    // A named pipe has no positions.
    #[cfg(unix)]
    {
        let pipe = path.with_extension("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let matrix = Matrix::from_fn(5000, |i, j| (i * 31 + j * 7) as u16 & 0x3fff).unwrap();
        for format in [DistanceFormat::Binary, DistanceFormat::Npy] {
            let reader = std::thread::spawn({
                let pipe = pipe.clone();
                move || fs::read(pipe).unwrap()
            });
            write(&matrix, format, &pipe).unwrap();
            write(&matrix, format, &path).unwrap();
            assert!(reader.join().unwrap() == fs::read(&path).unwrap(), "{format}");
        }
    }
}

#[test]
fn what_a_format_has_no_room_for_is_refused() {
    let (dir, path) = place();
    let real = Matrix::<f32>::unreachable(2).unwrap();
    let e = write(&real, DistanceFormat::Binary, &path).unwrap_err();
    let name = path.display();
    assert_eq!(
        e.to_string(),
        format!(
            "{name}: the binary format has 32-bit integers, and the distances are floating-point numbers; \
             write them as .npy"
        )
    );
    let large = Matrix::<u16>::unreachable(4097).unwrap();
    let e = write(&large, DistanceFormat::Csv, &path).unwrap_err();
    assert_eq!(
        e.to_string(),
        format!(
            "{name}: the distances between 4097 vertices are too many for text, which ends at 4096; \
             write them as .npy or .bin"
        )
    );
    assert!(check::<f32>(4096, DistanceFormat::Csv, "d").is_ok());
    assert!(check::<i32>(4097, DistanceFormat::Csv, "d").is_err());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// Counts cells, and stops the work when it has been asked so often.
struct Watch(AtomicU64, AtomicUsize);

impl Observer for Watch {
    fn advance(&self, cells: u64) {
        self.0.fetch_add(cells, Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.1.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err()
    }
}

#[test]
fn the_observer_hears_of_all_cells_and_can_stop_the_work() {
    let (dir, path) = place();
    let matrix = Matrix::<i32>::unreachable(1025).unwrap();
    for (&format, cells) in DistanceFormat::ALL.iter().zip([1025 * 1025; 3]) {
        let watch = Watch(AtomicU64::new(0), AtomicUsize::new(usize::MAX));
        let mut file = OutputFile::create(&path, false).unwrap();
        write_distances(&matrix, format, &mut file, &watch).unwrap();
        assert_eq!(watch.0.into_inner(), cells, "{format}");
        let watch = Watch(AtomicU64::new(0), AtomicUsize::new(2));
        let e = write_distances(&matrix, format, &mut file, &watch).unwrap_err();
        assert!(e.is_cancelled(), "{e}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn a_disk_that_is_full_is_one_line() {
    let matrix = Matrix::<i32>::unreachable(64).unwrap();
    let mut file = OutputFile::create(Path::new("/dev/full"), false).unwrap();
    let e = write_distances(&matrix, DistanceFormat::Npy, &mut file, &()).unwrap_err();
    assert_eq!(
        e.to_string(),
        "/dev/full: writing failed: No space left on device (os error 28); make room or choose another disk"
    );
}
