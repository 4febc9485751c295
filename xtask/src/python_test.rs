//! `cargo xtask python-test`: the Python package, as those get it who install it.
//!
//! maturin builds the wheel, and pip puts it into two virtual environments below the target directory: one with NumPy alone, where the READMEs' examples
//! run, and one with all that the package works together with, at fixed versions, for the tests in `python/tests`, scikit-image's own tests of
//! rank filters, the page `docs/python.md` and the types. The program `halotile` is built too: its results are what the package's must be. Nothing is
//! imported from `python/halotile`: what a wheel lacks would be found there.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::python;
use crate::workspace::{self, print, succeed};

#[derive(clap::Args)]
pub struct Options {
    /// Only steps whose names contain all of these
    only: Vec<String>,
}

/// A step's name and what it does with the wheel.
type Step = (&'static str, fn(&Path) -> Result<()>);

const STEPS: [Step; 6] = [
    ("what is in the wheel", contents),
    ("the READMEs' examples beside NumPy alone", readme),
    ("the package's tests", tests),
    ("scikit-image's tests of rank filters", rank_filters),
    ("the page docs/python.md", page),
    ("types", types),
];

pub fn run(options: &Options) -> Result<()> {
    let wanted = |name: &str| options.only.iter().all(|word| name.contains(word.as_str()));
    let steps = STEPS.iter().filter(|(name, _)| wanted(name)).collect::<Vec<_>>();
    if steps.is_empty() {
        bail!("no step has a name with all of these words; there are: {}", STEPS.map(|(name, _)| name).join(", "));
    }
    let wheel = wheel()?;
    let mut failed = 0;
    for (name, step) in &steps {
        print(&format!("-- {name}\n"))?;
        let start = Instant::now();
        let result = step(&wheel);
        let seconds = start.elapsed().as_secs_f64();
        match result {
            Ok(()) => print(&format!("ok      {name}, {seconds:.1} s\n"))?,
            Err(error) => {
                failed += 1;
                print(&format!("FAILED  {name}, {seconds:.1} s: {error:#}\n"))?;
            }
        }
    }
    print(&format!("{} steps passed, {failed} failed\n", steps.len() - failed))?;
    if failed > 0 {
        bail!("the Python package failed {failed} of {} steps", steps.len());
    }
    Ok(())
}

/// Builds the wheel, as it is published.
fn wheel() -> Result<PathBuf> {
    let directory = workspace::target_dir()?.join("wheels");
    // What an earlier version left would be taken for it.
    if directory.exists() {
        std::fs::remove_dir_all(&directory).with_context(|| format!("cannot remove {}", directory.display()))?;
    }
    let mut maturin = Command::new(python::with("maturin-python", "maturin.txt")?);
    maturin.args(["-m", "maturin", "build", "--quiet", "--release", "--locked", "--manifest-path"]);
    maturin.arg(workspace::root().join("python/Cargo.toml")).arg("--out").arg(&directory);
    succeed(maturin.current_dir(workspace::root()).stdin(Stdio::null())).context("building the wheel")?;
    let files = directory.read_dir().with_context(|| format!("cannot read {}", directory.display()))?;
    let files = files.map(|file| Ok(file?.path())).collect::<std::io::Result<Vec<_>>>()?;
    match files.as_slice() {
        [wheel] => Ok(wheel.clone()),
        _ => bail!("maturin has made {} files in {}, not one wheel", files.len(), directory.display()),
    }
}

/// The Python that has the wheel and all that it works together with; it runs in the workspace's root, where no `halotile` can be imported from.
fn full(wheel: &Path) -> Result<Command> {
    python_with(wheel, "python-python", "package.txt")
}

fn python_with(wheel: &Path, name: &str, requirements: &str) -> Result<Command> {
    let python = python::with(name, requirements)?;
    python::install(&python, wheel)?;
    let mut command = Command::new(python);
    command.current_dir(workspace::root()).stdin(Stdio::null());
    Ok(command)
}

fn contents(wheel: &Path) -> Result<()> {
    succeed(full(wheel)?.arg(python::script("wheel_test.py")).arg(wheel).arg("--root").arg(workspace::root()))
}

fn readme(wheel: &Path) -> Result<()> {
    for place in [["README.md", "From Python"].as_slice(), &["python/README.md"]] {
        let mut python = python_with(wheel, "numpy-python", "numpy.txt")?;
        succeed(python.arg(python::script("readme_example.py")).args(place))?;
    }
    Ok(())
}

fn tests(wheel: &Path) -> Result<()> {
    let program = workspace::program("halotile")?;
    let mut pytest = full(wheel)?;
    pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "-rfEs", "--durations=5", "python/tests"]);
    succeed(pytest.env("HALOTILE", program))
}

fn rank_filters(wheel: &Path) -> Result<()> {
    let mut python = full(wheel)?;
    let sources = python::sources(Path::new(python.get_program()), "scikit-image-sources.txt")?;
    succeed(python.arg(python::script("rank_tests.py")).arg("--sources").arg(sources))
}

fn page(wheel: &Path) -> Result<()> {
    succeed(full(wheel)?.args(["docs/python_page.py", "--check"]))
}

/// Typed code that uses the package is accepted, and the stubs are of what there is.
fn types(wheel: &Path) -> Result<()> {
    let cache = workspace::target_dir()?.join("mypy");
    let mut mypy = full(wheel)?;
    mypy.args(["-m", "mypy", "--strict", "--cache-dir"]).arg(cache).arg(python::script("typed_usage.py"));
    succeed(&mut mypy)?;
    let mut stubtest = full(wheel)?;
    stubtest.args([
        "-m",
        "mypy.stubtest",
        "halotile",
        "--ignore-missing-stub",
        "--mypy-config-file",
        "python/mypy.ini",
    ]);
    succeed(stubtest.args(["--allowlist", "python/stubtest-allowlist.txt"]))
}
