//! A directory to run the program in, and the files that tests put there.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use halotile::grid::Grid;
use halotile::io::{InputFormat, write_cells};
use halotile_lab::generate::{Generator, Pattern};
use tempfile::TempDir;

/// The test vector of the second report, as seed-text.
pub const VECTOR: &str = "4 4\n1 2 3 4\n2 3 4 5\n3 4 5 6\n4 5 6 7\n";

/// Its entropy. The report prints the corners as 1.52295; they are 1.52295506..., which rounds up.
pub const VECTOR_ENTROPY: &str = "     1.52296      1.70455      1.70455      1.52296 \n     \
                                  1.70455      1.84075      1.84075      1.70455 \n     \
                                  1.70455      1.84075      1.84075      1.70455 \n     \
                                  1.52296      1.70455      1.70455      1.52296 \n";

/// How a run ended.
pub struct Ran {
    pub code: i32,
    pub out: Vec<u8>,
    pub err: String,
}

impl Ran {
    /// Standard output of a run that has to have gone well and said nothing.
    #[track_caller]
    pub fn quietly(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""));
        String::from_utf8(self.out).expect("text")
    }
}

/// A directory.
pub struct Place {
    dir: TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        fs::write(self.path(name), bytes).expect("a file");
        self
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).expect("text")
    }

    /// The names of all files, hidden and temporary ones too.
    pub fn names(&self) -> Vec<String> {
        names(self.dir.path())
    }

    /// A command with its arguments, in this directory. Words are split at blanks.
    pub fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_halotile"));
        command.current_dir(self.dir.path()).args(args.split_whitespace());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn run(&self, args: &str) -> Ran {
        ended(self.command(args).spawn().expect("the program starts"))
    }

    /// A run with `input` on standard input.
    pub fn feed(&self, args: &str, input: &[u8]) -> Ran {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().expect("the program starts");
        let (mut stdin, input) = (child.stdin.take().expect("a pipe"), input.to_vec());
        // The program may end without reading all of it.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let ran = ended(child);
        writer.join().expect("the writer");
        ran
    }

    /// Writes a grid in a format of cells; the name's ending says which.
    pub fn cells(&self, name: &str, grid: &Grid<u8>) -> &Self {
        let format = InputFormat::detect(name.as_ref()).expect("a known ending");
        self.write(name, write_cells(format, Vec::new(), grid.view()).expect("bytes"))
    }
}

/// Waits for the end of a run; one that takes two minutes hangs, and is killed.
pub fn ended(child: Child) -> Ran {
    let (pid, (done, waiting)) = (child.id(), std::sync::mpsc::channel::<()>());
    let guard = std::thread::spawn(move || {
        if waiting.recv_timeout(Duration::from_secs(120)) == Err(RecvTimeoutError::Timeout) {
            let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
        }
    });
    let output = child.wait_with_output().expect("the program ends");
    drop(done);
    guard.join().expect("the guard does not panic");
    let err = String::from_utf8(output.stderr).expect("text");
    Ran { code: output.status.code().unwrap_or(-1), out: output.stdout, err }
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("a directory");
    let mut names: Vec<_> = entries.map(|e| e.expect("an entry").file_name().into_string().expect("text")).collect();
    names.sort();
    names
}

pub fn random(rows: usize, cols: usize, levels: usize) -> Grid<u8> {
    Generator::new(Pattern::Random, 7, levels).expect("levels").grid(rows, cols).expect("a shape")
}

/// An NPY file with `data` as it is.
pub fn npy(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let dictionary = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
    let header = format!("{dictionary:<117}\n");
    [b"\x93NUMPY\x01\x00\x76\x00", header.as_bytes(), data].concat()
}

/// A PNG picture of any kind.
pub fn picture(color: png::ColorType, depth: png::BitDepth, width: u32, height: u32, data: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(color);
    encoder.set_depth(depth);
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(data).expect("pixels");
    writer.finish().expect("the end");
    file
}

/// Samples as seed-binary: width, height, bytes.
pub fn seed_binary(samples: &[(i32, i32, &[u8])]) -> Vec<u8> {
    let one = |&(w, h, body): &(i32, i32, &[u8])| [&w.to_le_bytes(), &h.to_le_bytes(), body].concat();
    samples.iter().flat_map(one).collect()
}
