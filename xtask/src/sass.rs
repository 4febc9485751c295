//! `cargo xtask sass KERNEL`: a kernel's machine code, which is what the GPU runs.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

use crate::workspace::{KERNEL_CRATES, output, print, succeed};
use crate::{nvidia, ptx};

#[derive(clap::Args)]
pub struct Options {
    /// The kernel's name
    kernel: String,
    /// The architecture to assemble for
    #[arg(long, default_value = "sm_90")]
    arch: String,
    /// Count the instructions by opcode instead
    #[arg(long)]
    count: bool,
}

pub fn run(options: &Options) -> Result<()> {
    let mut kernels = BTreeMap::new();
    for krate in &KERNEL_CRATES {
        for (arch, text) in ptx::texts(krate)? {
            let entries = ptx::functions(&text).into_iter().filter(|function| function.kernel);
            kernels.extend(entries.map(|entry| (entry.name.to_owned(), krate.ptx_file(&arch))));
        }
    }
    let Some(path) = kernels.get(&options.kernel) else {
        let names: Vec<_> = kernels.into_keys().collect();
        bail!("there is no kernel {}; there are {}", options.kernel, names.join(", "));
    };
    let directory = tempfile::tempdir().context("cannot make a temporary directory")?;
    let cubin = directory.path().join("kernels.cubin");
    let target = format!("--gpu-name={}", options.arch);
    // One entry is assembled, not all: it is quicker, and nothing else is printed.
    let entry = format!("--entry={}", options.kernel);
    succeed(nvidia::command("ptxas")?.args([&target, &entry]).arg(path).arg("--output-file").arg(&cubin))?;
    let code = output(nvidia::command("cuobjdump")?.arg("--dump-sass").arg(&cubin))?;
    print(&if options.count { table(&code) } else { listing(&code) })
}

/// The code without the encodings: the tail of each line, and the whole of every second.
fn listing(code: &str) -> String {
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("/* 0x"));
    lines.fold(String::new(), |text, line| text + line.split("/* 0x").next().unwrap_or(line).trim_end() + "\n")
}

/// Opcodes by how often they occur.
fn table(code: &str) -> String {
    let mut counts: Vec<_> = count(code).into_iter().collect();
    counts.sort_by_key(|&(opcode, count)| (Reverse(count), opcode));
    let all = counts.iter().map(|(_, count)| count).sum::<u32>();
    counts.push(("in all", all));
    counts.iter().fold(String::new(), |text, (opcode, count)| text + &format!("{count:>7}  {opcode}\n"))
}

/// Counts instructions, `        /*0010*/   @!P0 LDG.E.U8 R2, ... ;`, by opcode without its modifiers.
fn count(code: &str) -> BTreeMap<&str, u32> {
    let mut counts = BTreeMap::new();
    for line in code.lines() {
        let instruction = line.trim_start().strip_prefix("/*").and_then(|line| line.split_once("*/"));
        let Some((address, instruction)) = instruction else { continue };
        if !address.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            continue;
        }
        let word = instruction.split_whitespace().find(|word| !word.starts_with('@'));
        let opcode = word.and_then(|word| word.split(['.', ';']).next());
        if let Some(opcode) = opcode.filter(|opcode| !opcode.is_empty()) {
            *counts.entry(opcode).or_default() += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_are_counted_without_predicates_and_modifiers() {
        let code = "\
\t\tFunction : one
        /*0000*/                   LDC R1, c[0x0][0x28] ;                   /* 0x00000a00ff017b82 */
                                                                            /* 0x000e220000000800 */
        /*0010*/              @!P0 LDG.E.U8 R2, desc[UR4][R2.64] ;          /* 0x0000000402028981 */
        /*0020*/                   LDG.E.CONSTANT R4, [R6.64] ;             /* 0x0000000406047981 */
        /*0030*/                   EXIT ;                                   /* 0x000000000000794d */
";
        assert_eq!(count(code), BTreeMap::from([("EXIT", 1), ("LDC", 1), ("LDG", 2)]));
        assert_eq!(table(code), "      2  LDG\n      1  EXIT\n      1  LDC\n      4  in all\n");
        assert_eq!(
            listing(code).lines().nth(1).unwrap().trim_start(),
            "/*0000*/                   LDC R1, c[0x0][0x28] ;"
        );
    }
}
