//! Every input that is kept, through its target: those that have shown a fault, and those that the search starts from.
//!
//! One test after the other in one thread, because targets measure what the process allocates.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use halotile_fuzz::{TARGETS, use_this_thread};

fn folder(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(kind)
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

#[test]
fn every_input_that_is_kept_keeps_every_promise() {
    use_this_thread();
    let names: BTreeSet<_> = TARGETS.iter().map(|target| target.name).collect();
    for kind in ["corpus", "regressions"] {
        for path in entries(&folder(kind)) {
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(names.contains(name), "{} is the folder of no target", path.display());
        }
    }
    for target in TARGETS {
        let corpus = entries(&folder("corpus").join(target.name));
        assert!(!corpus.is_empty(), "{} has no corpus", target.name);
        let bytes: u64 = corpus.iter().map(|path| path.metadata().unwrap().len()).sum();
        assert!(bytes <= 64 << 10, "the corpus of {} has {bytes} bytes: too many to be kept", target.name);
        // Nothing, a byte, and what is kept.
        target.check(&[]);
        target.check(&[0xff]);
        for path in corpus.into_iter().chain(entries(&folder("regressions").join(target.name))) {
            // Where a target fails, the test's output ends with the name of the input.
            println!("{}", path.display());
            target.check(&fs::read(&path).unwrap());
        }
    }
}
