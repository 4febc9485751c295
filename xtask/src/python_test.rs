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

/// What builds the wheel.
const MATURIN: [&str; 1] = ["maturin==1.16.0"];

/// All that the package itself needs.
const NUMPY: [&str; 1] = ["numpy==2.4.6"];

/// What it works together with, and what tests, looks at types and draws; and all that these need.
const PACKAGES: [&str; 57] = [
    "affine==3.0.1",
    "ast_serialize==0.13.1",
    "attrs==26.1.0",
    "certifi==2026.10.18",
    "click-plugins==1.1.1.2",
    "click==8.5.1",
    "cligj==0.7.2",
    "cloudpickle==3.1.2",
    "contourpy==1.3.3",
    "cycler==0.12.1",
    "dask==2026.8.0",
    "distributed==2026.8.0",
    "fonttools==4.68.0",
    "fsspec==2026.9.0",
    "ImageIO==2.38.1",
    "importlib_metadata==10.2.0",
    "iniconfig==2.3.1",
    "Jinja2==3.1.6",
    "kiwisolver==1.5.1",
    "lazy-importer==0.1.0",
    "lazy-loader==0.6",
    "librt==0.16.0",
    "locket==1.0.0",
    "MarkupSafe==3.0.4",
    "matplotlib==3.11.2",
    "msgpack==1.2.4",
    "mypy==2.4.1",
    "mypy_extensions==1.2.0",
    "networkx==3.6.1",
    "numpy==2.4.6",
    "packaging==26.3",
    "pandas==3.1.1",
    "partd==1.4.2",
    "pathspec==1.1.1",
    "pillow==13.0.0",
    "pluggy==1.7.0",
    "psutil==7.2.2",
    "Pygments==2.21.0",
    "pyparsing==3.3.3",
    "pyproj==3.7.2",
    "pytest==9.2.0",
    "python-dateutil==4.0.0",
    "PyYAML==6.0.3",
    "rasterio==1.4.4",
    "rioxarray==0.19.0",
    "scikit-image==0.26.0",
    "scipy==1.17.1",
    "sortedcontainers==2.4.0",
    "tblib==3.2.2",
    "tifffile==2026.3.3",
    "toolz==1.2.0",
    "tornado==6.6.1",
    "typing_extensions==4.16.0",
    "tzdata==2026.6",
    "xarray==2026.9.0",
    "zict==3.0.0",
    "zipp==4.1.2",
];

/// scikit-image has its tests in the source distribution alone. The hash stands for what has been looked at.
const SOURCES: &str =
    "scikit-image==0.26.0 --hash=sha256:f5f970ab04efad85c24714321fcc91613fcb64ef2a892a13167df2f3e59199fa";
const SOURCES_FILE: &str = "scikit_image-0.26.0.tar.gz";

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
    let mut maturin = Command::new(python::with("maturin-python", &MATURIN)?);
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
    python_with(wheel, "python-python", &PACKAGES)
}

fn python_with(wheel: &Path, name: &str, packages: &[&str]) -> Result<Command> {
    let python = python::with(name, packages)?;
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
        let mut python = python_with(wheel, "numpy-python", &NUMPY)?;
        succeed(python.arg(python::script("readme_example.py")).args(place))?;
    }
    Ok(())
}

fn tests(wheel: &Path) -> Result<()> {
    let program = python::program("halotile-cli", "halotile")?;
    let mut pytest = full(wheel)?;
    pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "-rfEs", "--durations=5", "python/tests"]);
    succeed(pytest.env("HALOTILE", program))
}

fn rank_filters(wheel: &Path) -> Result<()> {
    let mut python = full(wheel)?;
    let sources = python::sources(Path::new(python.get_program()), SOURCES, SOURCES_FILE)?;
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
