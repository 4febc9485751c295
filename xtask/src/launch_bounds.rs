//! Putting launch bounds into PTX.
//!
//! rustc has no attribute for `.maxntid` and `.minnctapersm`, so `#[kernel]` leaves a comment
//! `// simt-launch-bounds THREADS BLOCKS` in the kernel's body. Here it becomes the two directives, which belong
//! between the parameter list and the body.

use anyhow::{Context, Result};

use crate::ptx::{Function, functions};

const MARK: &str = "// simt-launch-bounds ";

/// Writes each kernel's bounds before its body; the comments go.
pub fn place(text: &str) -> Result<String> {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    for function in functions(text).into_iter().filter(|function| function.kernel) {
        let (threads, blocks) = read(&function)?;
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

fn read(kernel: &Function<'_>) -> Result<(u32, u32)> {
    let missing = || format!("the kernel {} has no launch bounds in its PTX: is it made by #[kernel]?", kernel.name);
    let bounds = kernel.body.lines().find_map(|line| line.trim_start().strip_prefix(MARK)).with_context(missing)?;
    let (threads, blocks) = bounds.trim_end().split_once(' ').with_context(missing)?;
    Ok((threads.parse().with_context(missing)?, blocks.parse().with_context(missing)?))
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
        let text = ".visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n\t// simt-launch-bounds 128 2\n\tret;\n}\n\
                    .visible .entry l()\n{\n\t// simt-launch-bounds 64 1\n\tret;\n}\n";
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
    fn a_kernel_without_bounds_is_named() {
        let error = place(".visible .entry k()\n{\n\tret;\n}\n").unwrap_err();
        assert!(error.to_string().contains("the kernel k has no launch bounds"), "{error}");
    }
}
