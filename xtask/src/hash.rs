//! The hash of the device sources, which the header of each PTX file carries.
//!
//! It covers what the PTX is made of: the crate's kernels, the device side of `simt`, the macros, and the profile they
//! are compiled with. A change to the emulator does not make the PTX stale. The hash is quick and needs no device
//! compiler, so that every `cargo test` can tell that `cargo xtask build-ptx` was forgotten; that the PTX is what
//! the sources give is for `build-ptx --check` to say.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::ptx;
use crate::workspace::{self, KernelCrate, read};

/// Directories of the device sources that every crate of kernels is made of, and what in them is the host's.
const SHARED: [(&str, &[&str]); 2] =
    [("simt/src", &["simt/src/emulator/", "simt/src/launch.rs"]), ("simt/macros/src", &[])];

/// Sections of Cargo.toml: the profile, and the one it inherits from.
const PROFILES: [&str; 2] = ["[profile.release]", "[profile.ptx]"];

/// The hash of the device sources of a crate of the workspace at `root`, in hexadecimal.
pub fn sources(root: &Path, krate: &KernelCrate) -> Result<String> {
    let mut files = Vec::new();
    collect(root, &format!("{}/src", krate.folder), &[], &mut files)?;
    for (directory, host) in SHARED {
        collect(root, directory, host, &mut files)?;
    }
    files.sort();
    let mut hash = Sha256::new();
    for name in &files {
        add(&mut hash, name, &read(&root.join(name))?);
    }
    let manifest = read(&root.join("Cargo.toml"))?;
    for name in PROFILES {
        add(&mut hash, name, &section(&manifest, name));
    }
    Ok(hexadecimal(hash))
}

/// The hash of a text.
pub fn text(text: &str) -> String {
    hexadecimal(Sha256::new().chain_update(text.replace("\r\n", "\n")))
}

fn hexadecimal(hash: Sha256) -> String {
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Fails when a PTX file of a crate is not of the sources in the tree.
pub fn require_fresh(krate: &KernelCrate, path: &Path, text: &str) -> Result<()> {
    if ptx::header_field(text, ptx::SOURCES) != Some(&sources(workspace::root(), krate)?) {
        bail!("{} is older than the kernels: run cargo xtask build-ptx", path.display());
    }
    Ok(())
}

/// A name and a text with their lengths, so that no two lists of files give the same bytes. A checkout
/// with CR LF hashes as one with LF.
fn add(hash: &mut Sha256, name: &str, text: &str) {
    let text = text.replace("\r\n", "\n");
    hash.update(format!("{name}\n{}\n", text.len()));
    hash.update(text);
}

/// Names of the Rust files under `directory`, relative to `root` and with slashes on every system.
fn collect(root: &Path, directory: &str, host: &[&str], files: &mut Vec<String>) -> Result<()> {
    let path = root.join(directory);
    for entry in path.read_dir().with_context(|| format!("cannot list {}", path.display()))? {
        let entry = entry?;
        let name = format!("{directory}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            if !host.contains(&format!("{name}/").as_str()) {
                collect(root, &name, host, files)?;
            }
        } else if name.ends_with(".rs") && !host.contains(&name.as_str()) {
            files.push(name);
        }
    }
    Ok(())
}

/// The settings of one section of a manifest, without comments.
fn section(manifest: &str, name: &str) -> String {
    let lines = manifest.lines().map(str::trim).skip_while(|line| *line != name).skip(1);
    let lines = lines.take_while(|line| !line.starts_with('['));
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).fold(String::new(), |text, line| text + line + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::KERNEL_CRATES;

    #[test]
    fn the_committed_ptx_is_of_these_sources() {
        for krate in &KERNEL_CRATES {
            let committed = ptx::committed(krate).unwrap();
            assert_eq!(committed, krate.architectures, "of {}: KERNEL_CRATES has others than its ptx/", krate.package);
            for path in committed.iter().map(|arch| krate.ptx_file(arch)) {
                if let Err(error) = require_fresh(krate, &path, &read(&path).unwrap()) {
                    panic!("{error:#}");
                }
            }
        }
    }

    #[test]
    fn a_section_is_its_settings() {
        let manifest = "[a]\nx = 1\n\n# why\n[b]\n# because\ny = 2 \n[c]\nz = 3\n";
        assert_eq!(section(manifest, "[a]"), "x = 1\n");
        assert_eq!(section(manifest, "[b]"), "y = 2\n");
        assert_eq!(section(manifest, "[d]"), "");
    }

    #[test]
    fn device_sources_count_and_the_emulator_does_not() {
        let root = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        for name in [
            "kernels/src/lib.rs",
            "lab/kernels/src/lib.rs",
            "simt/src/thread.rs",
            "simt/macros/src/lib.rs",
            "Cargo.toml",
        ] {
            put(name, "one\n");
        }
        let sources = || KERNEL_CRATES.each_ref().map(|krate| sources(root.path(), krate).unwrap());
        let first = sources();
        put("simt/src/emulator/mod.rs", "two");
        put("simt/src/launch.rs", "two");
        put("kernels/src/notes.md", "two");
        put("kernels/src/lib.rs", "one\r\n");
        assert_eq!(sources(), first);
        put("kernels/src/lib.rs", "two");
        let second = sources();
        assert!(second[0] != first[0] && second[1] == first[1], "of a crate's kernels only its own PTX is made");
        put("simt/src/thread.rs", "two");
        let third = sources();
        assert!(third[0] != second[0] && third[1] != second[1], "of simt all PTX is made");
    }
}
