//! Python with packages from elsewhere, to compare halotile with or to test its own package with: in a virtual environment below the target directory,
//! at fixed versions.
//!
//! Which packages, and their versions, is said in `tests/python/requirements`, in files that pip reads.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::workspace::{self, output, read, succeed, write};

/// The versions of all that is installed.
const VERSIONS: &str = "versions.txt";

/// The Python of the environment `name`, with what this file of requirements asks for and no other packages in it, but for what `install` puts there.
/// Only wheels are installed: nothing is built.
pub fn with(name: &str, requirements: &str) -> Result<PathBuf> {
    let environment = workspace::target_dir()?.join(name);
    let python = environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let file = requirements_file(requirements);
    let versions = read(&requirements_file(VERSIONS))?;
    // Written when all of them are there.
    let (list, wanted) = (environment.join("packages.txt"), format!("{}\n{versions}", read(&file)?));
    if read(&list).is_ok_and(|there| there == wanted) && output(Command::new(&python).arg("--version")).is_ok() {
        return Ok(python);
    }
    succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment).stdin(Stdio::null()))
        .context("a virtual environment takes python3 with venv")?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]);
    succeed(pip.arg("--requirement").arg(&file).stdin(Stdio::null()))
        .with_context(|| format!("installing {}", file.display()))?;
    // pip would take the newest version of a package that something needs and that the list of versions leaves out.
    let mut freeze = Command::new(&python);
    let installed = output(freeze.args(["-m", "pip", "freeze", "--disable-pip-version-check"]))?;
    let floating = without_version(&installed, &versions);
    if !floating.is_empty() {
        bail!("{VERSIONS} beside {} has no version of {}", file.display(), floating.join(", "));
    }
    write(&list, &wanted)?;
    Ok(python)
}

/// Those of the packages installed, as `pip freeze` lists them, that are not in the list of versions.
fn without_version(installed: &str, versions: &str) -> Vec<String> {
    let known: Vec<_> = pins(versions).into_iter().map(|(name, version)| (normal(&name), version)).collect();
    let all = pins(installed).into_iter().map(|(name, version)| (normal(&name), version));
    all.filter(|pin| !known.contains(pin)).map(|(name, version)| format!("{name}=={version}")).collect()
}

/// A package's name as all spellings of it are compared.
fn normal(name: &str) -> String {
    name.to_lowercase().replace(['_', '.'], "-")
}

/// A file of `tests/python/requirements`.
pub fn requirements_file(name: &str) -> PathBuf {
    script("requirements").join(name)
}

/// The names and versions in a file of requirements.
pub fn pins(requirements: &str) -> Vec<(String, String)> {
    let words = requirements.lines().filter_map(|line| line.split_whitespace().next());
    let pins = words.filter(|word| !word.starts_with(['#', '-'])).filter_map(|word| word.split_once("=="));
    pins.map(|(name, version)| (name.to_owned(), version.to_owned())).collect()
}

/// Puts a wheel into the environment of that Python, in place of an earlier one of the package, and nothing that it needs. What is there from this
/// wheel stays.
pub fn install(python: &Path, wheel: &Path) -> Result<()> {
    let made = wheel.metadata().and_then(|file| file.modified());
    let made = made.with_context(|| format!("cannot read {}", wheel.display()))?;
    // Written when it is there; beside the folder of programs that Python is in.
    let stamp = python.ancestors().nth(2).context("no environment has this Python")?.join("wheel.txt");
    let wanted = format!("{} {made:?}", wheel.display());
    if read(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(());
    }
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]);
    succeed(pip.arg("--force-reinstall").arg(wheel).stdin(Stdio::null()))
        .with_context(|| format!("installing {}", wheel.display()))?;
    write(&stamp, &wanted)
}

/// A source distribution, not unpacked: what pip downloads for a file of requirements, which has one, with its hash. Nothing of it is built or run.
pub fn sources(python: &Path, requirements: &str) -> Result<PathBuf> {
    let list = requirements_file(requirements);
    let [(name, version)] = pins(&read(&list)?).try_into().ok().context("sources are of one package")?;
    let file = format!("{}-{version}.tar.gz", name.replace('-', "_"));
    let directory = workspace::target_dir()?.join("python-sources");
    let path = directory.join(&file);
    // pip puts it there when its hash is right.
    if path.is_file() {
        return Ok(path);
    }
    std::fs::create_dir_all(&directory).with_context(|| format!("cannot create {}", directory.display()))?;
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary", ":all:"]);
    pip.args(["--require-hashes", "--no-build-isolation", "--dest"]).arg(&directory).arg("--requirement").arg(&list);
    // pip asks a package's own build system for its name; this one knows it without building.
    pip.env("PYTHONPATH", script("no_build")).stdin(Stdio::null());
    succeed(&mut pip).with_context(|| format!("downloading {file}"))?;
    if !path.is_file() {
        bail!("{} has not brought {file}", list.display());
    }
    Ok(path)
}

/// A script of `tests/python`.
pub fn script(name: &str) -> PathBuf {
    Path::new(workspace::root()).join("tests/python").join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pins_of(file: &str) -> Vec<(String, String)> {
        pins(&read(&requirements_file(file)).unwrap())
    }

    #[test]
    fn names_and_versions_are_read() {
        let text = "# a==1\n-c versions.txt\nb==2 --hash=sha256:0\n\nc\nd_e==3.0 # why\n";
        let expected = [("b", "2"), ("d_e", "3.0")].map(|(name, version)| (name.to_owned(), version.to_owned()));
        assert_eq!(pins(text), expected);
    }

    #[test]
    fn a_package_without_a_version_is_found() {
        let installed = "PyYAML==6.0.3\nlazy_loader==0.6\nnew==1\nold==2\n";
        assert_eq!(without_version(installed, "lazy-loader==0.6\npyyaml==6.0.3\nold==1\n"), ["new==1", "old==2"]);
    }

    #[test]
    fn what_is_asked_for_has_one_version() {
        let versions = pins_of(VERSIONS);
        let mut names: Vec<_> = versions.iter().map(|(name, _)| normal(name)).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), versions.len(), "a package has two versions");
        for sources in pins_of("scikit-image-sources.txt") {
            assert!(versions.contains(&sources), "{sources:?} is another version than in {VERSIONS}");
        }
        for file in ["graph.txt", "maturin.txt", "numpy.txt", "package.txt", "raster.txt"] {
            let text = read(&requirements_file(file)).unwrap();
            assert!(text.lines().any(|line| line == format!("-c {VERSIONS}")), "{file} takes any version");
            for name in text.lines().filter(|line| !line.starts_with(['#', '-'])) {
                assert!(names.contains(&normal(name)), "{file}: {name} has no version in {VERSIONS}");
            }
        }
    }
}
