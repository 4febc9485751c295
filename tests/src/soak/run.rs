//! Starting the program, and what is asked of every run however it ended.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail, ensure};

/// Longer than any run here takes on a busy machine: a hang is a failure.
const LONGEST: Duration = Duration::from_secs(180);

/// What a temporary file is called.
const TEMPORARY: &str = ".halotile-";

/// Starts runs in a folder.
pub struct Runner {
    bin: PathBuf,
    pub place: PathBuf,
    said: Mutex<Vec<String>>,
}

/// A run that has ended.
pub struct Ran {
    pub status: ExitStatus,
    pub err: String,
    pub out: Vec<u8>,
}

/// What of a run is not as usual.
#[derive(Default, Clone)]
pub struct Setting {
    /// A command that starts it, as `setpriv`: words before the program's name.
    pub before: Vec<String>,
    /// Lines of shell before it, as `ulimit -n 5`.
    pub shell: Option<String>,
    /// Redirections after it, as `>&-`.
    pub redirect: Option<String>,
}

/// A run under way.
pub struct Running {
    pub child: Child,
    /// Reads what it says.
    err: JoinHandle<std::io::Result<Vec<u8>>>,
    out: PathBuf,
}

impl Runner {
    pub fn new(bin: &Path, place: &Path) -> Self {
        Self { bin: bin.to_owned(), place: place.to_owned(), said: Mutex::default() }
    }

    /// The command lines so far.
    pub fn said(&self) -> String {
        self.lines().join("; ")
    }

    fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A file of the run's.
    pub fn file(&self, name: &str) -> PathBuf {
        self.place.join(name)
    }

    /// Starts the program. Its stdout goes to a file, so that nothing waits for a reader; its stderr does not, so that a full disk or a limit to
    /// the size of files does not keep it from speaking.
    pub fn start(&self, args: &[String], setting: &Setting) -> Result<Running> {
        let number = self.lines().len();
        let out = self.file(&format!("stdout-{number}"));
        let mut words = setting.before.clone();
        if setting.shell.is_some() || setting.redirect.is_some() {
            let shell = setting.shell.as_deref().unwrap_or(":");
            let redirect = setting.redirect.as_deref().unwrap_or("");
            words.extend(["sh".into(), "-c".into(), format!("{shell}; exec \"$@\" {redirect}"), "sh".into()]);
        }
        words.push(self.bin.display().to_string());
        words.extend(args.iter().cloned());
        self.lines().push(words.join(" "));
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(&self.place).stdin(Stdio::null());
        // Logging and threads are as the options say.
        for name in ["RUST_LOG", "RUST_BACKTRACE", "RAYON_NUM_THREADS"] {
            command.env_remove(name);
        }
        command.stdout(File::create(&out)?).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start {}", words[0]))?;
        let mut said = child.stderr.take().context("stderr is no pipe")?;
        let err = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            said.read_to_end(&mut bytes).map(|_| bytes)
        });
        Ok(Running { child, err, out })
    }

    /// Starts it and waits.
    pub fn run(&self, args: &[String]) -> Result<Ran> {
        self.start(args, &Setting::default())?.wait()
    }

    /// Temporary files that are left.
    pub fn leftovers(&self, folder: &Path) -> Result<Vec<String>> {
        let mut left = Vec::new();
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.starts_with(TEMPORARY) {
                left.push(name);
            }
        }
        Ok(left)
    }

    /// No temporary file is left, though the program was killed: an output has no name until it is whole.
    pub fn is_clean(&self, folder: &Path) -> Result<()> {
        let left = self.leftovers(folder)?;
        ensure!(left.is_empty(), "temporary files are left: {}", left.join(", "));
        Ok(())
    }
}

impl Running {
    /// Sends a signal by its name. A program that has ended already gets none.
    pub fn signal(&self, name: &str) -> Result<()> {
        // A child that has not been waited for keeps its number.
        Command::new("kill").args(["-s", name, &self.child.id().to_string()]).stderr(Stdio::null()).status()?;
        Ok(())
    }

    /// Waits until it ends.
    pub fn wait(mut self) -> Result<Ran> {
        let begun = Instant::now();
        let mut pause = Duration::from_millis(1);
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if begun.elapsed() > LONGEST {
                self.child.kill()?;
                self.child.wait()?;
                bail!("it did not end within {} s", LONGEST.as_secs());
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        };
        let err = self.err.join().map_err(|_| anyhow!("reading stderr panicked"))??;
        let err = String::from_utf8(err).context("stderr is not UTF-8")?;
        Ok(Ran { status, err, out: fs::read(&self.out)? })
    }
}

impl Ran {
    /// The exit code, where it ended by itself.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// The signal that ended it.
    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    /// What it said is what a user is to read.
    pub fn is_well_spoken(&self) -> Result<()> {
        ensure!(!self.err.contains("panicked"), "it panicked: {}", self.err);
        ensure!(self.err.is_empty() || self.err.ends_with('\n'), "stderr ends within a line: {:?}", self.err);
        for line in self.err.lines() {
            ensure!(line.starts_with("halotile: "), "a line on stderr without the program's name: {line:?}");
            ensure!(!line.chars().any(char::is_control), "a line on stderr with control characters: {line:?}");
        }
        Ok(())
    }

    /// It did what it was asked.
    pub fn is_done(&self) -> Result<()> {
        self.is_well_spoken()?;
        ensure!(self.code() == Some(0), "{}: {}", self.status, self.err);
        Ok(())
    }

    /// It refused, with one of these codes and a line.
    pub fn is_refused(&self, codes: &[i32]) -> Result<()> {
        self.is_well_spoken()?;
        ensure!(self.code().is_some_and(|code| codes.contains(&code)), "{}, not {codes:?}: {}", self.status, self.err);
        ensure!(!self.err.is_empty(), "{} without a word", self.status);
        Ok(())
    }
}
