//! `cargo xtask browser-test`: the benchmark report, as a browser shows it.
//!
//! Two pages are looked at: the made-up record with all kernels and sizes (the program's tests write it), and what the program makes of
//! a run in the emulator. A copy of each gets a script that measures, in the browser, what the file alone does not show: whether every
//! bar of every chart is there with an area and a colour, whether labels lie on each other or leave their chart, whether text stands
//! out from its ground, whether the page is wider than a phone. The browser prints the page as it is in the end (`--dump-dom`), with the
//! measurements in it, and what pages say on the console, which must be nothing. Both are done in light and in dark.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::workspace::{self, read, succeed, write};

/// The names that Chromium and what is made of it go by.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// The first browser on the path.
pub fn browser() -> Option<PathBuf> {
    let directories: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let places = BROWSERS.iter().flat_map(|name| directories.iter().map(move |directory| directory.join(name)));
    places.into_iter().find(|path| path.is_file())
}

pub fn run() -> Result<()> {
    let browser = browser()
        .with_context(|| format!("there is no browser ({}); run cargo xtask tools --browser", BROWSERS.join(", ")))?;
    let place = tempfile::tempdir().context("cannot make a temporary directory")?;
    let sample = place.path().join("sample.html");
    let test = ["test", "--quiet", "--workspace", "--bin", "halotile", "bench::export::html"];
    succeed(workspace::cargo().args(test).env("HALOTILE_SAMPLE_HTML", &sample).stdout(Stdio::null()))?;
    let run = place.path().join("run.html");
    let bench = "bench entropy --device emulator --sizes 24,33 --runs 2 --quiet --export-html";
    let mut program = Command::new(workspace::program("halotile")?);
    succeed(program.args(bench.split(' ')).arg(&run).stdout(Stdio::null()))?;
    for (page, least) in [(&sample, 8), (&run, 2)] {
        let mut grounds = BTreeSet::new();
        for (dark, scheme) in [(false, 1), (true, 0)] {
            let name = format!("{}, {}", page.display(), if dark { "dark" } else { "light" });
            let ground = look(&browser, page, place.path(), scheme, least).with_context(|| name)?;
            grounds.insert(ground);
        }
        ensure!(grounds.len() == 2, "{}: dark looks like light", page.display());
    }
    Ok(())
}

/// What the script measures.
#[derive(Deserialize, Debug)]
struct Seen {
    /// Charts that have an area.
    charts: usize,
    /// Bars with an area inside their chart, in a colour that is not the ground's.
    bars: usize,
    /// Names of charts that have a title and a description.
    named: usize,
    /// What lies on each other, or outside its chart.
    overlaps: Vec<String>,
    /// Texts that stand out from their ground by less than 4.5 to 1.
    faint: Vec<String>,
    /// By how much the page is wider than it may be.
    overflow: f64,
    /// The page's background.
    ground: String,
}

/// Opens a page and checks it. Returns its background.
fn look(browser: &Path, page: &Path, place: &Path, scheme: u32, least: usize) -> Result<String> {
    let html = read(page)?;
    let (charts, bars) = (html.matches("<svg class=\"chart\"").count(), html.matches("class=\"length ").count());
    ensure!(charts >= least && bars > charts, "the file has {charts} charts and {bars} bars");
    let probed = place.join("probed.html");
    write(&probed, &html.replace("</body>", &format!("<script>{PROBE}</script></body>")))?;
    let profile = tempfile::tempdir().context("cannot make a temporary directory")?;
    let mut command = Command::new(browser);
    command.args("--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync".split(' '));
    command.args(
        "--disable-background-networking --disable-component-update --enable-logging=stderr --dump-dom".split(' '),
    );
    command.arg(format!("--blink-settings=preferredColorScheme={scheme}"));
    command.arg(format!("--user-data-dir={}", profile.path().display())).arg("--window-size=1200,2000");
    command.arg(format!("file://{}", probed.display()));
    let (out, err) = finished(&mut command, Duration::from_secs(120))?;
    if let Some(said) = err.lines().find(|line| line.contains(":CONSOLE")) {
        bail!("the console says: {said}");
    }
    let seen = out.split_once("<pre id=\"seen\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let (seen, _) = seen.with_context(|| format!("the browser shows no page\n{err}"))?;
    let seen = seen.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let seen: Seen = serde_json::from_str(&seen).context("the script's measurements")?;
    // What the script found is in the page as the browser has it, too.
    ensure!(out.matches("<svg class=\"chart\"").count() == charts, "the browser's page has other charts than the file");
    ensure!(
        seen.charts == charts && seen.named == charts,
        "{} of {charts} charts are to be seen: {seen:?}",
        seen.charts
    );
    ensure!(seen.bars == bars, "{} of {bars} bars are to be seen: {seen:?}", seen.bars);
    ensure!(seen.overlaps.is_empty(), "labels overlap: {:?}", seen.overlaps);
    ensure!(seen.faint.is_empty(), "text is faint: {:?}", seen.faint);
    ensure!(seen.overflow <= 0.0, "the page is {} pixels too wide for a phone", seen.overflow);
    println!("{}: {charts} charts, {bars} bars on {}", page.file_name().unwrap_or_default().display(), seen.ground);
    Ok(seen.ground)
}

/// Standard output and standard error of a program that ends in time.
fn finished(command: &mut Command, most: Duration) -> Result<(String, String)> {
    // Files and not pipes: the browser's helpers may keep a pipe open.
    let (out, err) = (tempfile::NamedTempFile::new()?, tempfile::NamedTempFile::new()?);
    command.stdin(Stdio::null()).stdout(out.reopen()?).stderr(err.reopen()?);
    let mut child = command.spawn().context("the browser does not start")?;
    let start = Instant::now();
    while child.try_wait()?.is_none() {
        if start.elapsed() > most {
            child.kill()?;
            child.wait()?;
            bail!("the browser did not end in {} seconds\n{}", most.as_secs(), read(err.path())?);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let text = |file: &tempfile::NamedTempFile| -> Result<String> {
        Ok(String::from_utf8_lossy(&std::fs::read(file.path())?).into_owned())
    };
    Ok((text(&out)?, text(&err)?))
}

/// Measures the page at the width of a screen and of a phone.
const PROBE: &str = include_str!("browser_probe.js");
