//! Putting launch bounds into PTX, and choosing kernels by the architecture that they need.
//!
//! rustc has no attribute for `.maxntid` and `.minnctapersm`, so `#[kernel]` leaves a comment
//! `// simt-launch-bounds THREADS BLOCKS ARCH` in the kernel's body. The first two become the directives, which belong
//! between the parameter list and the body; the third says which PTX file the kernel is in.

use anyhow::{Context, Result, ensure};

use crate::ptx::{self, Function, functions};

const MARK: &str = "// simt-launch-bounds ";

/// Writes each kernel's bounds before its body; the comments go.
pub fn place(text: &str) -> Result<String> {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    for function in functions(text).into_iter().filter(|function| function.kernel) {
        let [threads, blocks, _] = read(&function)?;
        let (before, after) = rest.split_once(function.head).expect("the function is part of the text");
        result += before;
        result += function.head;
        result += &format!(".maxntid {threads}, 1, 1\n.minnctapersm {blocks}\n");
        rest = after;
    }
    result += rest;
    let marked = |line: &str| line.trim_start().starts_with(MARK);
    Ok(result.split_inclusive('\n').filter(|line| !marked(line)).collect())
}

/// The text with those kernels only whose least compute capability, 10 · major + minor, is `wanted`.
pub fn select(text: &str, wanted: impl Fn(u32) -> bool) -> Result<String> {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    for function in functions(text).into_iter().filter(|function| function.kernel) {
        let [_, _, arch] = read(&function)?;
        let (before, after) = rest.split_once(function.head).expect("the function is part of the text");
        let (body, after) = after.split_at(function.body.len());
        if wanted(arch) {
            result.extend([before, function.head, body]);
        } else {
            // LLVM announces each function in a comment.
            let announced = before.rfind("\t// .globl\t").unwrap_or(before.len());
            result += &before[..announced];
        }
        rest = after;
    }
    Ok(result + rest)
}

/// Fails unless each kernel has its PTX file in this list of architectures, and each file a kernel.
pub fn require(text: &str, archs: &[&str]) -> Result<()> {
    let numbers = archs.iter().map(|arch| ptx::number(arch)).collect::<Result<Vec<u32>>>()?;
    let mut empty = numbers.clone();
    for kernel in functions(text).iter().filter(|function| function.kernel) {
        let [_, _, arch] = read(kernel)?;
        ensure!(numbers.contains(&arch), "the kernel {} is for sm_{arch}, for which its crate has no PTX", kernel.name);
        empty.retain(|&number| number != arch);
    }
    ensure!(empty.is_empty(), "no kernel is for sm_{}, for which its crate has PTX", empty[0]);
    Ok(())
}

fn read(kernel: &Function<'_>) -> Result<[u32; 3]> {
    let missing = || format!("the kernel {} has no launch bounds in its PTX: is it made by #[kernel]?", kernel.name);
    let bounds = kernel.body.lines().find_map(|line| line.trim_start().strip_prefix(MARK)).with_context(missing)?;
    let numbers = bounds.split_whitespace().map(str::parse).collect::<Result<Vec<u32>, _>>().with_context(missing)?;
    numbers.try_into().ok().with_context(missing)
}

/// The bounds that `place` has written: most threads in a block, and blocks a multiprocessor shall hold.
pub fn placed(kernel: &Function<'_>) -> Result<(u32, u32)> {
    let number = |directive: &str| {
        let line = kernel.head.lines().find_map(|line| line.trim_start().strip_prefix(directive))?;
        line.split(',').next()?.trim().parse().ok()
    };
    let missing = || format!("the kernel {} has no launch bounds: run cargo xtask build-ptx", kernel.name);
    Ok((number(".maxntid ").with_context(missing)?, number(".minnctapersm ").with_context(missing)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_move_before_the_body() {
        let text = ".visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n\t// simt-launch-bounds 128 2 75\n\tret;\n}\n\
                    .visible .entry l()\n{\n\t// simt-launch-bounds 64 1 80\n\tret;\n}\n";
        let placed_text = place(text).unwrap();
        assert_eq!(
            placed_text,
            ".visible .entry k(\n\t.param .u64 k_param_0\n)\n.maxntid 128, 1, 1\n.minnctapersm 2\n{\n\tret;\n}\n\
             .visible .entry l()\n.maxntid 64, 1, 1\n.minnctapersm 1\n{\n\tret;\n}\n"
        );
        let bounds: Vec<_> = functions(&placed_text).iter().map(|kernel| placed(kernel).unwrap()).collect();
        assert_eq!(bounds, [(128, 2), (64, 1)]);
    }

    #[test]
    fn kernels_are_chosen_by_what_they_need() {
        let kernel = |name: &str, arch: u32| {
            format!(
                "\t// .globl\t{name}\n.visible .entry {name}()\n{{\n\t// simt-launch-bounds 64 1 {arch}\n\tret;\n}}\n"
            )
        };
        let text = format!(".target sm_75\n{}{}{}", kernel("a", 75), kernel("b", 80), kernel("c", 75));
        let old = select(&text, |arch| arch == 75).unwrap();
        assert!(old.contains(" a(") && !old.contains(" b(") && !old.contains("\tb\n") && old.contains(" c("), "{old}");
        let names: Vec<_> = functions(&old).iter().map(|kernel| kernel.name.to_owned()).collect();
        assert_eq!(names, ["a", "c"]);
        assert_eq!(select(&text, |_| true).unwrap(), text);
        require(&text, &["sm_75", "sm_80"]).unwrap();
        let error = |archs: &[&str]| require(&text, archs).unwrap_err().to_string();
        assert_eq!(error(&["sm_75"]), "the kernel b is for sm_80, for which its crate has no PTX");
        assert_eq!(error(&["sm_75", "sm_80", "sm_90"]), "no kernel is for sm_90, for which its crate has PTX");
    }

    #[test]
    fn a_kernel_without_bounds_is_named() {
        let error = place(".visible .entry k()\n{\n\tret;\n}\n").unwrap_err();
        assert!(error.to_string().contains("the kernel k has no launch bounds"), "{error}");
    }
}
