//! Finding panics left in kernels.
//!
//! On a GPU a panic cannot be reported: the thread spins for ever and the launch never ends. Kernels are therefore
//! written so that the compiler removes every panic path, and a path that is left is a mistake to be reported with
//! the kernel's name, here, before a GPU hangs on it.

use std::collections::{HashMap, HashSet};

use anyhow::{Result, bail};

use crate::ptx::{functions, is_symbol};

/// Parts of the symbols that every panic goes through: core's module, and the handler.
const PANICS: [&str; 2] = ["panicking", "rust_begin_unwind"];

/// Fails when a kernel, or anything it calls, can panic.
pub fn refuse(text: &str) -> Result<()> {
    let functions = functions(text);
    let names: HashSet<&str> = functions.iter().map(|function| function.name).collect();
    let calls: HashMap<&str, Vec<&str>> = functions
        .iter()
        .map(|function| {
            let symbols = function.body.split(|c| !is_symbol(c));
            (function.name, symbols.filter(|symbol| names.contains(symbol) || panics(symbol)).collect())
        })
        .collect();
    let mut faults = Vec::new();
    for kernel in functions.iter().filter(|function| function.kernel) {
        if let Some(symbol) = path_to_panic(kernel.name, &calls) {
            faults.push(format!(
                "the kernel {} can panic: it reaches {:#}",
                kernel.name,
                rustc_demangle::demangle(symbol)
            ));
        }
    }
    if !faults.is_empty() {
        bail!(
            "{}\nTake out the index, division, overflow check or unwrap that can fail (in most cases a slice index \
             or an array index that the compiler cannot bound).",
            faults.join("\n")
        );
    }
    Ok(())
}

fn panics(symbol: &str) -> bool {
    PANICS.iter().any(|part| symbol.contains(part))
}

/// The first panicking function that is reached from `from`.
fn path_to_panic<'a>(from: &'a str, calls: &HashMap<&'a str, Vec<&'a str>>) -> Option<&'a str> {
    let (mut seen, mut open) = (HashSet::from([from]), vec![from]);
    while let Some(name) = open.pop() {
        if panics(name) {
            return Some(name);
        }
        open.extend(calls.get(name).into_iter().flatten().filter(|callee| seen.insert(callee)));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const PANIC: &str = "_RNvNtCs123_4core9panicking5panic";

    fn text(middle: &str) -> String {
        format!(
            ".func {PANIC}\n()\n;\n.visible .entry clean()\n{{\n\tret;\n}}\n\
             .visible .entry faulty()\n{{\n\tcall.uni middle, ();\n\tret;\n}}\n\
             .func middle()\n{{\n\t{middle}\n}}\n.func {PANIC}()\n{{\n\tbra $L;\n}}\n"
        )
    }

    #[test]
    fn a_panic_behind_a_call_is_found() {
        let error = refuse(&text(&format!("call.uni {PANIC}, ();"))).unwrap_err().to_string();
        assert!(error.starts_with("the kernel faulty can panic: it reaches core::panicking::panic\n"), "{error}");
        assert!(!error.contains("clean"), "{error}");
    }

    #[test]
    fn a_panic_that_nothing_calls_is_none() {
        refuse(&text("ret;")).unwrap();
    }
}
