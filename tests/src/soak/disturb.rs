//! Runs that something disturbs. Whatever it is, an output is whole and right, or as it was before, or absent.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use anyhow::{Result, ensure};

use super::case::Case;
use super::run::{Ran, Runner, Running, Setting};
use super::{Ended, Random};

/// SIGHUP, SIGINT, SIGABRT, SIGKILL, SIGTERM.
const HUP: i32 = 1;
const INT: i32 = 2;
const ABORT: i32 = 6;
const KILL: i32 = 9;
const TERM: i32 = 15;

/// What this machine lets a test do.
pub struct Tools {
    /// A small file system.
    small: Option<PathBuf>,
    /// Another user, for whom folders can be read-only: a superuser writes anywhere.
    other_user: Vec<String>,
}

impl Tools {
    /// Finds out, and mounts a small file system in `folder` where that is allowed.
    pub fn find(folder: &Path) -> Self {
        let small = folder.join("small");
        let ok = |command: &mut Command| {
            command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
        };
        let mounted = fs::create_dir(&small).is_ok()
            && ok(Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k,mode=1777", "tmpfs"]).arg(&small));
        let words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"].map(str::to_owned);
        let other = ok(Command::new(&words[0]).args(&words[1..]).arg("true"));
        // So that another user reaches the runs' folders.
        let _ = Command::new("chmod").arg("755").arg(folder).status();
        Self { small: mounted.then_some(small), other_user: if other { words.to_vec() } else { Vec::new() } }
    }

    /// Undoes it.
    pub fn close(&self) {
        if let Some(small) = &self.small {
            let _ = Command::new("umount").arg(small).status();
        }
    }
}

impl fmt::Display for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.small.is_some() { "with a full file system" } else { "without a full file system" })?;
        f.write_str(if self.other_user.is_empty() { ", as this user alone" } else { ", also as another user" })
    }
}

/// One of them.
pub fn run(random: &mut Random, runner: &Runner, tools: &Tools) -> (&'static str, Result<Ended>) {
    match random.below(14) {
        0..=2 => ("signal", signal(random, runner)),
        3 => ("limit of file size", file_size(random, runner)),
        4 => ("full file system", full(random, runner, tools)),
        5 => ("/dev/full", dev_full(random, runner)),
        6 => ("limit of address space", address_space(random, runner)),
        7 => ("little --memory", memory(random, runner)),
        8 => ("limit of open files", open_files(random, runner)),
        9 => ("two writers", two_writers(random, runner)),
        10 => ("output read meanwhile", reader(random, runner)),
        11 => ("input cut meanwhile", cut(random, runner)),
        12 => ("closed pipe", if random.flip() { closed_pipe(random, runner) } else { closed_stdout(random, runner) }),
        _ => ("read-only folder", read_only(random, runner, tools)),
    }
}

/// What is true of every end. `signals`: those that may end the program.
fn ended(case: &Case, runner: &Runner, ran: &Ran, old: Option<&[u8]>, signals: &[i32]) -> Result<Ended> {
    if let Some(signal) = ran.signal() {
        ensure!(signals.contains(&signal), "ended by signal {signal}: {}", ran.err);
        runner.is_clean(&runner.place)?;
        case.is_all_or_nothing(runner, old)?;
        return Ok(Ended::Stopped);
    }
    runner.is_clean(&runner.place)?;
    if ran.code() == Some(0) {
        ran.is_done()?;
        return case.check(runner, ran).map(Ended::Right);
    }
    ran.is_refused(&[1, 3, 130])?;
    case.is_all_or_nothing(runner, old)?;
    Ok(Ended::Stopped)
}

/// Old outputs, which the run may replace, or none.
fn old(random: &mut Random, case: &mut Case, runner: &Runner) -> Result<Option<&'static [u8]>> {
    if random.flip() {
        return Ok(None);
    }
    for name in &case.outputs {
        fs::write(runner.file(name), "old")?;
    }
    case.args.push("--overwrite".into());
    Ok(Some(b"old"))
}

fn pause(random: &mut Random, most: usize) {
    std::thread::sleep(Duration::from_micros(random.below(most * 1000) as u64));
}

fn signal(random: &mut Random, runner: &Runner) -> Result<Ended> {
    let mut case = Case::draw(random, &runner.place, false)?;
    let old = old(random, &mut case, runner)?;
    let (name, number) = random.one(&[("INT", INT), ("TERM", TERM), ("HUP", HUP), ("KILL", KILL), ("KILL", KILL)]);
    let running = runner.start(&case.args, &Setting::default())?;
    pause(random, 120);
    running.signal(name)?;
    if random.once_in(4) {
        pause(random, 5);
        running.signal(name)?;
    }
    let ran = running.wait()?;
    // Before it listens, a signal ends it as it ends any program.
    ended(&case, runner, &ran, old, &[number])
}

fn file_size(random: &mut Random, runner: &Runner) -> Result<Ended> {
    let mut case = Case::draw(random, &runner.place, false)?;
    let old = old(random, &mut case, runner)?;
    let setting = Setting { shell: Some(format!("ulimit -f {}", random.number(0, 60))), ..Setting::default() };
    let ran = runner.start(&case.args, &setting)?.wait()?;
    ended(&case, runner, &ran, old, &[])
}

fn full(random: &mut Random, runner: &Runner, tools: &Tools) -> Result<Ended> {
    let Some(small) = &tools.small else { return file_size(random, runner) };
    let mut case = Case::draw(random, &runner.place, false)?;
    // Runs side by side fill it together: that is a full disk as well.
    let folder = small.join(runner.place.file_name().unwrap_or_default());
    fs::create_dir(&folder)?;
    let _ = fs::write(folder.join("filled"), vec![0; random.below(64 << 10)]);
    case.args[2] = folder.join(&case.args[2]).display().to_string();
    case.outputs = case.outputs.iter().map(|name| folder.join(name).display().to_string()).collect();
    let ran = runner.run(&case.args)?;
    let clean = runner.is_clean(&folder);
    let ended = ended(&case, runner, &ran, None, &[]);
    fs::remove_dir_all(&folder)?;
    clean.and(ended)
}

fn dev_full(random: &mut Random, runner: &Runner) -> Result<Ended> {
    let mut case = Case::draw(random, &runner.place, true)?;
    let setting = if random.flip() {
        case.args[2] = "/dev/full".into();
        Setting::default()
    } else {
        Setting { redirect: Some(">/dev/full".into()), ..Setting::default() }
    };
    let ran = runner.start(&case.args, &setting)?.wait()?;
    runner.is_clean(&runner.place)?;
    ran.is_refused(&[1])?;
    Ok(Ended::Stopped)
}

fn address_space(random: &mut Random, runner: &Runner) -> Result<Ended> {
    let mut case = Case::draw(random, &runner.place, false)?;
    let old = old(random, &mut case, runner)?;
    let kibibytes = random.number(20, 400) << 10;
    let setting = Setting { shell: Some(format!("ulimit -v {kibibytes}")), ..Setting::default() };
    let ran = runner.start(&case.args, &setting)?.wait()?;
    // Memory that the system does not give to the loader, to the allocator, or to std for a thread's signal stack ends a program before it
    // can say more.
    const NOT_OURS: [&str; 3] =
        ["error while loading", "memory allocation of", "failed to allocate an alternative stack"];
    let not_ours = NOT_OURS.iter().any(|said| ran.err.contains(said));
    if not_ours || ran.code() == Some(127) || ran.signal() == Some(ABORT) {
        ensure!(not_ours || !ran.err.contains("panicked"), "it panicked: {}", ran.err);
        case.is_all_or_nothing(runner, old)?;
        return Ok(Ended::Stopped);
    }
    ended(&case, runner, &ran, old, &[KILL, 11])
}

fn memory(random: &mut Random, runner: &Runner) -> Result<Ended> {
    let mut case = Case::draw(random, &runner.place, false)?;
    let old = old(random, &mut case, runner)?;
    if let Some(at) = case.args.iter().position(|arg| arg == "--memory") {
        case.args.drain(at..at + 2);
    }
    case.args.extend([
        "--memory".into(),
        random.one(&["1", "100K", "1MiB", "8MiB", "32MiB", "64MiB", "95MiB", "96MiB"]).into(),
    ]);
    let ran = runner.run(&case.args)?;
    ended(&case, runner, &ran, old, &[])
}

fn open_files(random: &mut Random, runner: &Runner) -> Result<Ended> {
    let mut case = Case::draw(random, &runner.place, false)?;
    let old = old(random, &mut case, runner)?;
    let setting = Setting { shell: Some(format!("ulimit -n {}", random.number(4, 14))), ..Setting::default() };
    let ran = runner.start(&case.args, &setting)?.wait()?;
    if ran.code() == Some(127) || ran.err.contains("error while loading") {
        return Ok(Ended::Stopped);
    }
    ended(&case, runner, &ran, old, &[])
}

fn two_writers(random: &mut Random, runner: &Runner) -> Result<Ended> {
    let mut case = Case::draw(random, &runner.place, false)?;
    let old = old(random, &mut case, runner)?;
    let runs: Vec<Running> = (0..2).map(|_| runner.start(&case.args, &Setting::default())).collect::<Result<_>>()?;
    let mut right = 0;
    for running in runs {
        let ran = running.wait()?;
        if ran.code() == Some(0) {
            ran.is_done()?;
            right += 1;
        } else {
            // The other one was first.
            ran.is_refused(&[1])?;
            ensure!(old.is_none(), "refused in spite of --overwrite: {}", ran.err);
        }
    }
    ensure!(right >= 1 || case.outputs.len() > 1, "neither of two writers has written");
    runner.is_clean(&runner.place)?;
    case.is_all_or_nothing(runner, None)?;
    Ok(Ended::Right(0))
}

fn reader(random: &mut Random, runner: &Runner) -> Result<Ended> {
    let mut case = Case::draw(random, &runner.place, false)?;
    for name in &case.outputs {
        fs::write(runner.file(name), "old")?;
    }
    case.args.push("--overwrite".into());
    let stop = AtomicBool::new(false);
    let (ran, seen) = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while !stop.load(Relaxed) {
                case.is_all_or_nothing(runner, Some(b"old"))?;
            }
            Ok(())
        });
        let ran = runner.start(&case.args, &Setting::default()).and_then(Running::wait);
        stop.store(true, Relaxed);
        (ran, reader.join().unwrap_or_else(|_| Err(anyhow::anyhow!("the reader panicked"))))
    });
    seen?;
    ended(&case, runner, &ran?, Some(b"old"), &[])
}

fn cut(random: &mut Random, runner: &Runner) -> Result<Ended> {
    let mut case = Case::draw(random, &runner.place, false)?;
    let old = old(random, &mut case, runner)?;
    let path = runner.file(&case.input);
    let length = fs::metadata(&path)?.len();
    let running = runner.start(&case.args, &Setting::default())?;
    pause(random, 60);
    OpenOptions::new().write(true).open(&path)?.set_len(random.below(length as usize) as u64)?;
    let ran = running.wait()?;
    // A text may be a whole one with fewer digits in its last number: then the result is that of another map.
    if ran.code() == Some(0) && case.input.ends_with(".txt") {
        ran.is_done()?;
        return Ok(Ended::Stopped);
    }
    ended(&case, runner, &ran, old, &[])
}

fn closed_pipe(random: &mut Random, runner: &Runner) -> Result<Ended> {
    let mut case = Case::draw(random, &runner.place, true)?;
    case.args.retain(|arg| arg != "-v");
    let pipe = runner.file("pipe");
    ensure!(Command::new("mkfifo").arg(&pipe).status()?.success(), "no pipe can be made");
    let setting = Setting { redirect: Some(">pipe".into()), ..Setting::default() };
    let running = runner.start(&case.args, &setting)?;
    // Opened when the program's shell has opened it.
    let mut read = vec![0; random.below(200)];
    let mut file = File::open(&pipe)?;
    let _ = file.read(&mut read)?;
    drop(file);
    let ran = running.wait()?;
    runner.is_clean(&runner.place)?;
    ran.is_done()?;
    Ok(Ended::Stopped)
}

fn closed_stdout(random: &mut Random, runner: &Runner) -> Result<Ended> {
    let case = Case::draw(random, &runner.place, true)?;
    let setting = Setting { redirect: Some(">&-".into()), ..Setting::default() };
    let ran = runner.start(&case.args, &setting)?.wait()?;
    runner.is_clean(&runner.place)?;
    ran.is_refused(&[1])?;
    Ok(Ended::Stopped)
}

fn read_only(random: &mut Random, runner: &Runner, tools: &Tools) -> Result<Ended> {
    let mut case = Case::draw(random, &runner.place, false)?;
    let folder = runner.file("closed");
    fs::create_dir(&folder)?;
    ensure!(Command::new("chmod").arg("555").arg(&folder).status()?.success(), "chmod");
    case.args[2] = format!("closed/{}", case.args[2]);
    case.outputs = case.outputs.iter().map(|name| format!("closed/{name}")).collect();
    let setting = Setting { before: tools.other_user.clone(), ..Setting::default() };
    let ran = runner.start(&case.args, &setting)?.wait()?;
    runner.is_clean(&folder)?;
    // A superuser without another user to be writes there all the same.
    let ended = ended(&case, runner, &ran, None, &[])?;
    ensure!(ended == Ended::Stopped || tools.other_user.is_empty(), "written into a read-only folder");
    Ok(ended)
}
