//! `cargo xtask occupancy-check`: `halotile::occupancy` beside NVIDIA's own calculator, over a wide sweep.
//!
//! The argument is the program that xtask makes of `tests/src/occupancy.cpp`. It gets a case a line and answers with blocks and
//! limits, which must be ours in every number: every kernel of the report on every architecture in blocks of 32 to 1024 threads
//! with several amounts of dynamic shared memory; then a hundred thousand cases drawn at random.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use halotile::occupancy::{Architecture, Demand, Resource};
use halotile_lab::resources;
use halotile_tests::cases::SplitMix64;

/// What is asked of both calculators.
struct Case {
    arch: Architecture,
    threads: u32,
    registers: u32,
    fixed: u32,
    dynamic: u32,
}

fn main() -> Result<()> {
    let program = std::env::args_os().nth(1).context("name the program made of tests/src/occupancy.cpp")?;
    let mut cases = kernels();
    let reported = cases.len();
    cases.extend(random(100_000));
    let mut input = String::new();
    for Case { arch, threads, registers, fixed, dynamic } in &cases {
        let (major, minor) = arch.compute_capability;
        writeln!(input, "{major} {minor} {threads} {registers} {fixed} {dynamic}")?;
    }
    let mut child = Command::new(&program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {}", program.display()))?;
    let mut stdin = child.stdin.take().context("a pipe")?;
    // Both pipes are short: who writes must not wait for who reads.
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let mut answers = String::new();
    child.stdout.take().context("a pipe")?.read_to_string(&mut answers)?;
    ensure!(child.wait()?.success(), "{} failed", program.display());
    writer.join().expect("the writer does not panic")?;

    let answers: Vec<&str> = answers.lines().collect();
    ensure!(answers.len() == cases.len(), "{} answers to {} cases", answers.len(), cases.len());
    let mut none = 0;
    for (case, answer) in cases.iter().zip(answers) {
        none += usize::from(!agrees(case, answer)?);
    }
    // A sweep in which everything fits, or nothing, would have shown little.
    ensure!(none > 0 && none < cases.len() / 2, "{none} of {} cases do not fit", cases.len());
    println!(
        "occupancy: {reported} cases of kernels and {} at random, {none} of them without a block: as cuda_occupancy.h says",
        cases.len() - reported
    );
    Ok(())
}

fn kernels() -> Vec<Case> {
    let mut cases = Vec::new();
    for name in resources::kernels() {
        for &arch in Architecture::ALL {
            let Some(used) = resources::kernel(name, arch.name) else { continue };
            let most = arch.shared_per_block - used.shared_bytes;
            for threads in (32..=1024).step_by(32) {
                for dynamic in [0, 1, 100, 4096, 48 * 1024, most / 2, most, most + 1] {
                    cases.push(Case { arch, threads, registers: used.registers, fixed: used.shared_bytes, dynamic });
                }
            }
        }
    }
    cases
}

fn random(count: usize) -> impl Iterator<Item = Case> {
    let mut numbers = SplitMix64(1);
    let mut below = move |n: u32| (numbers.next() % u64::from(n)) as u32;
    std::iter::repeat_with(move || {
        let arch = Architecture::ALL[below(Architecture::ALL.len() as u32) as usize];
        // One in sixteen blocks is too large.
        let threads = 1 + below(1024 + 64);
        // Static shared memory has 48 KiB at most; half the cases have none, as most kernels do.
        let fixed = below(2) * below(48 * 1024);
        let most = arch.shared_per_block - fixed;
        let largest = [256, 4096, most + 2048][below(3) as usize];
        let dynamic = below(2) * below(largest);
        // The header takes 256 registers, which no instruction can name. Half the kernels are slender.
        let most_registers = [64, 270][below(2) as usize];
        let registers = Some(1 + below(most_registers)).filter(|&registers| registers != 256).unwrap_or(255);
        Case { arch, threads, registers, fixed, dynamic }
    })
    .take(count)
}

/// Whether there is a block at all; an error where the calculators differ.
fn agrees(case: &Case, answer: &str) -> Result<bool> {
    let Case { arch, threads, registers, fixed, dynamic } = *case;
    let said: Vec<u32> = answer.split(' ').map(str::parse).collect::<Result<_, _>>().context("an answer of numbers")?;
    let [blocks, limits @ ..] = said.as_slice() else { bail!("an empty answer") };
    let found = arch.occupancy(Demand { threads, registers, shared_bytes: fixed + dynamic });
    let ours: Vec<u32> = match found {
        Ok(found) => {
            let limit = |resource| found.limit(resource).unwrap_or(i32::MAX as u32);
            std::iter::once(found.blocks).chain(Resource::ALL.iter().copied().map(limit)).collect()
        }
        // Their limits go on where ours stop at the reason.
        Err(_) => [0].iter().chain(limits).copied().collect(),
    };
    let misfit = found.err().map_or(String::new(), |misfit| format!(" ({misfit})"));
    ensure!(
        ours == said,
        "{}: {threads} threads, {registers} registers, {fixed} + {dynamic} bytes: blocks and limits by warps, blocks, \
         registers, shared memory are {ours:?}{misfit}, and cuda_occupancy.h says {said:?}",
        arch.name
    );
    Ok(*blocks > 0)
}
