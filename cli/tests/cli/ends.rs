//! Pipes that close, streams that are not there, limits and signals: how runs end that do not reach their end.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::place::{Place, ended, random};

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let place = Place::new();
    place.cells("c.npy", &random(1500, 1500, 16));
    for args in [
        "entropy c.npy - -q",
        "entropy c.npy - -q --of npy --preview p.png",
        "generate grid --rows 3000 --cols 3000 - --of npy",
        "generate grid --rows 3000 --cols 3000 - --of png",
    ] {
        let mut child = place.command(args).spawn().expect("the program starts");
        let mut stdout = child.stdout.take().expect("a pipe");
        stdout.read_exact(&mut [0; 100]).expect("a beginning");
        drop(stdout);
        let ran = ended(child);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args}");
        assert_eq!(place.names(), ["c.npy"], "{args}");
    }
}

#[cfg(unix)]
fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()));
}

/// A command that does not inherit ignored signals. A script's background job has SIGINT ignored, so have its children,
/// and the program respects that: the tests would wait for ever.
#[cfg(unix)]
fn interruptible(place: &Place, args: &str) -> Command {
    let plain = place.command(args);
    let ignored = std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            status.lines().find_map(|line| line.strip_prefix("SigIgn:").map(str::trim).map(str::to_owned))
        })
        .and_then(|mask| u64::from_str_radix(&mask, 16).ok());
    // Signal n is bit n - 1: HUP is 1, INT 2, TERM 15.
    if ignored.is_none_or(|mask| mask & 0x4003 == 0) {
        return plain;
    }
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP,INT,TERM").arg(plain.get_program()).args(plain.get_args());
    command.current_dir(plain.get_current_dir().expect("set by the place"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Waits until the run has made its temporary files, then a little longer. `files` are there then, with a name or, where the system has such,
/// without one.
#[cfg(unix)]
fn under_way(place: &Place, child: &Child, files: usize) {
    let start = Instant::now();
    while place.names().len() + unnamed(place, child) < files {
        assert!(start.elapsed() < Duration::from_secs(20), "no temporary file: {:?}", place.names());
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(300));
}

/// Open files of a process that are in the directory and have no name there: `/proc` has them as `DIRECTORY/#INODE (deleted)`.
#[cfg(unix)]
fn unnamed(place: &Place, child: &Child) -> usize {
    let directory = place.path("").canonicalize().expect("a directory");
    let open = std::fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten();
    let names = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    names.filter(|name| name.starts_with(&directory) && name.to_string_lossy().ends_with(" (deleted)")).count()
}

#[cfg(unix)]
#[track_caller]
fn interrupted(place: &Place, child: Child) {
    let start = Instant::now();
    let ran = ended(child);
    assert_eq!((ran.code, ran.err.as_str()), (130, "halotile: interrupted\n"));
    assert_eq!(place.names(), ["c.npy"]);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[cfg(unix)]
#[test]
fn signals_end_a_run_and_leave_nothing() {
    let place = Place::new();
    // Minutes of emulation.
    place.cells("c.npy", &random(3000, 3000, 256));
    let slow = "-q --device emulator --kernel naive --size 21 --preview p.png";
    // Small tiles, because pieces are whole tiles and a launch is not interrupted.
    let small = "h.tif --co BLOCKXSIZE=64 --co BLOCKYSIZE=64";
    for (output, signals) in [
        ("h.npy", &["INT"][..]),
        (small, &["INT"]),
        ("h.npy", &["TERM"]),
        ("h.npy", &["HUP"]),
        (small, &["INT", "INT"]),
    ] {
        let child =
            interruptible(&place, &format!("entropy c.npy {output} {slow}")).spawn().expect("the program starts");
        under_way(&place, &child, 3);
        for name in signals {
            signal(&child, name);
            // Signals that come together count as one.
            std::thread::sleep(Duration::from_millis(100));
        }
        interrupted(&place, child);
    }
    let bench =
        "bench entropy -q --device cpu --kernels cpu --sizes 500 --min-time 600 --export-json j --export-html h";
    let child = interruptible(&place, bench).spawn().expect("the program starts");
    under_way(&place, &child, 3);
    signal(&child, "INT");
    interrupted(&place, child);
    let generate = "generate grid --rows 100000 --cols 1000000 g.npy";
    let child = interruptible(&place, generate).spawn().expect("the program starts");
    under_way(&place, &child, 2);
    signal(&child, "INT");
    interrupted(&place, child);
}

#[cfg(unix)]
#[test]
fn one_signal_ends_a_run_that_waits_for_its_input() {
    let place = Place::new();
    place.cells("c.npy", &random(2, 2, 2));
    let child = interruptible(&place, "entropy - h.txt -q --if seed-text").stdin(Stdio::piped()).spawn();
    let mut child = child.expect("the program starts");
    let stdin = child.stdin.take();
    under_way(&place, &child, 2);
    signal(&child, "INT");
    interrupted(&place, child);
    drop(stdin);
}

/// What ends a process without asking leaves nothing either, where files need no names.
#[cfg(target_os = "linux")]
#[test]
fn a_run_that_is_killed_leaves_nothing() {
    let place = Place::new();
    place.cells("c.npy", &random(3000, 3000, 256)).write("h.npy", "old");
    let slow = "-q --device emulator --kernel naive --size 21 --preview p.png --profile p.json --overwrite";
    let child = place.command(&format!("entropy c.npy h.npy {slow}")).spawn().expect("the program starts");
    under_way(&place, &child, 5);
    signal(&child, "KILL");
    assert_eq!(ended(child).code, -1);
    assert_eq!((place.names(), place.text("h.npy").as_str()), (vec!["c.npy".to_owned(), "h.npy".to_owned()], "old"));
}

/// A command as a shell runs it, after `prologue`.
#[cfg(unix)]
fn shell(place: &Place, prologue: &str, args: &str, redirected: &str) -> Command {
    let plain = place.command(args);
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{prologue} exec \"$0\" \"$@\" {redirected}"));
    command.arg(plain.get_program()).args(plain.get_args());
    command.current_dir(plain.get_current_dir().expect("set by the place"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[cfg(unix)]
#[test]
fn a_limit_on_the_size_of_files_is_an_error_that_says_so() {
    let place = Place::new();
    place.cells("c.npy", &random(300, 300, 16));
    place.run("generate graph --vertices 300 --shape ring g.bin").quietly();
    let before = place.names();
    for (args, file) in [
        ("entropy c.npy h.npy -q", "h.npy"),
        ("entropy c.npy h.tif -q --co COMPRESS=NONE", "h.tif"),
        ("entropy c.npy - --of npy -q --preview p.png > c.out", "standard output"),
        ("apsp g.bin d.bin -q", "d.bin"),
        ("generate grid --rows 1000 --cols 1000 g.npy", "g.npy"),
        ("generate grid --rows 1000 --cols 1000 g.tif", "g.tif"),
    ] {
        // Twenty kilobytes, or ten.
        let (args, redirected) = args.split_once('>').map_or((args, ""), |(args, _)| (args, "> c.out"));
        let ran = ended(shell(&place, "ulimit -f 20;", args, redirected).spawn().expect("a shell"));
        let message = format!(
            "halotile: {file}: writing failed: File too large (os error 27); \
             raise the limit on the size of files (ulimit -f), or choose another disk\n"
        );
        assert_eq!((ran.code, ran.err), (1, message), "{args}");
        let _ = std::fs::remove_file(place.path("c.out"));
        assert_eq!(place.names(), before, "{args}");
    }
}

#[cfg(unix)]
#[test]
fn results_do_not_go_to_a_stream_that_is_closed() {
    let place = Place::new();
    place.cells("c.npy", &random(3, 3, 3));
    place.run("generate graph --vertices 3 --shape ring g.bin").quietly();
    place.run("apsp g.bin d.bin --paths p.npy -q").quietly();
    let before = place.names();
    let message =
        "halotile: standard output is closed, and the results would go there; redirect it to a file, or to /dev/null\n";
    for args in [
        "entropy c.npy - -q",
        "entropy c.npy h.npy -q --json",
        "apsp g.bin - -q",
        "apsp g.bin e.bin -q --json",
        "path p.npy 0 2",
        "compare c.npy c.npy",
        "generate grid --rows 2 --cols 2 -",
        "generate graph --vertices 3 --shape ring -",
        "devices",
        "occupancy sliding",
        "occupancy sliding --svg -",
        "bench entropy --device cpu --kernels cpu --sizes 9 --runs 1",
        "bench entropy --device cpu --kernels cpu --sizes 9 --runs 1 -q --export-json -",
        "man",
        "completions bash",
        "--help",
        "--version",
    ] {
        let ran = ended(shell(&place, "", args, ">&-").spawn().expect("a shell"));
        assert_eq!((ran.code, ran.err.as_str()), (1, message), "{args}");
        assert_eq!(place.names(), before, "{args}");
        // Callers who want the exit code alone open the null device, some of them to read and to write, as Rust does in place of what is closed.
        let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null").expect("a device");
        let ran = ended(place.command(args).stdout(null).spawn().expect("the program starts"));
        assert_eq!(ran.code, 0, "{args}: {}", ran.err);
        for made in ["h.npy", "e.bin"] {
            let _ = std::fs::remove_file(place.path(made));
        }
    }
    // Nothing goes there.
    let ran = ended(shell(&place, "", "entropy c.npy h.npy -q", ">&-").spawn().expect("a shell"));
    assert_eq!((ran.code, ran.err.as_str(), place.path("h.npy").exists()), (0, "", true));
}

/// Two runs that write one file: it is one of the two, whole, and the other run is told where it may not replace it.
#[cfg(unix)]
#[test]
fn of_two_writers_one_is_whole() {
    let place = Place::new();
    place.cells("a.txt", &random(2, 2, 2)).cells("b.txt", &random(300, 300, 16));
    for (options, second_fails) in [("-q", true), ("-q --overwrite", false)] {
        // The first has made its file, and waits for its input.
        let waiting = place.command(&format!("entropy - h.npy --if seed-text {options}")).stdin(Stdio::piped()).spawn();
        let mut waiting = waiting.expect("the program starts");
        under_way(&place, &waiting, 3);
        place.run(&format!("entropy b.txt h.npy {options}")).quietly();
        let other = place.read("h.npy");
        let mut stdin = waiting.stdin.take().expect("a pipe");
        std::io::Write::write_all(&mut stdin, &place.read("a.txt")).expect("a reader");
        drop(stdin);
        let ran = ended(waiting);
        let message = "halotile: h.npy: the file exists already; choose another name or allow it to be overwritten\n";
        assert_eq!((ran.code, ran.err.as_str()), if second_fails { (1, message) } else { (0, "") });
        assert_eq!(place.read("h.npy") == other, second_fails);
        assert_eq!(place.names(), ["a.txt", "b.txt", "h.npy"]);
        std::fs::remove_file(place.path("h.npy")).expect("a file");
    }
}

#[cfg(unix)]
#[test]
fn a_link_given_as_output_stays_one() {
    let place = Place::new();
    place.cells("c.txt", &random(3, 3, 3)).write("old.txt", "old");
    for (target, options) in [("new.txt", "-q"), ("old.txt", "-q --overwrite")] {
        std::os::unix::fs::symlink(target, place.path("link.txt")).expect("a link");
        place.run(&format!("entropy c.txt link.txt {options}")).quietly();
        assert_eq!(std::fs::read_link(place.path("link.txt")).expect("a link"), std::path::Path::new(target));
        assert!(place.text(target).contains('.'), "{target}");
        std::fs::remove_file(place.path("link.txt")).expect("a link");
    }
    assert_eq!(place.names(), ["c.txt", "new.txt", "old.txt"]);
}

/// What the system refuses, a thread or memory, is told or ends the program: it is no fault of the program's that panics.
#[cfg(target_os = "linux")]
#[test]
fn little_address_space_is_no_panic() {
    let place = Place::new();
    place.cells("c.npy", &random(30, 40, 16));
    for mebibytes in (100..300).step_by(4) {
        let plain = place.command("entropy c.npy h.npy --measure simpson --threads 4 -q --overwrite");
        let mut command = Command::new("sh");
        let limit = format!("ulimit -v {}; exec \"$@\"", mebibytes << 10);
        command.args(["-c", &limit, "sh"]).arg(plain.get_program()).args(plain.get_args());
        command.current_dir(plain.get_current_dir().expect("set by the place"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let ran = ended(command.spawn().expect("the shell starts"));
        // std itself panics where it finds no memory for a new thread's signal stack.
        let ours = !ran.err.contains("failed to allocate an alternative stack");
        assert!(!(ours && ran.err.contains("panicked")), "{mebibytes} MiB: {}", ran.err);
    }
}
