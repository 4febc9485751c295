//! Making symbol names independent of where and by which build of rustc they were made.
//!
//! A mangled name carries a hash of its crate, into which go the directory of the checkout and the packager of the
//! compiler. Kernels and shared arrays have plain names, but a function that was not inlined into its kernel, a
//! constant or a table does not. Such a symbol becomes its readable path, and a number where that is not enough.

use std::collections::HashMap;

use crate::ptx::is_symbol;

/// Gives every symbol with a hash in it a name that depends on the source only.
pub fn rename(text: &str) -> String {
    let mut names: HashMap<&str, String> = HashMap::new();
    let mut uses: HashMap<String, usize> = HashMap::new();
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_symbol) {
        result += &rest[..start];
        rest = &rest[start..];
        let (symbol, after) = rest.split_at(rest.find(|c| !is_symbol(c)).unwrap_or(rest.len()));
        rest = after;
        let Some(readable) = readable(symbol) else {
            result += symbol;
            continue;
        };
        result += names.entry(symbol).or_insert_with(|| {
            let count = uses.entry(readable.clone()).or_default();
            *count += 1;
            format!("{readable}_{count}")
        });
    }
    result + rest
}

/// The part of the new name that tells what a symbol is; `None` for one that keeps its name.
fn readable(symbol: &str) -> Option<String> {
    // rustc names unnamed constants by a hash of their content, LLVM by one of the module.
    for prefix in ["alloc_", "anon_$_", "__unnamed_"] {
        if symbol.starts_with(prefix) {
            return Some("constant".to_owned());
        }
    }
    // A parameter or local variable of a function is called after it.
    let (mangled, suffix) = match symbol.find("_param_") {
        Some(at) => symbol.split_at(at),
        None => (symbol, ""),
    };
    let name = rustc_demangle::try_demangle(mangled).ok()?;
    let path: String = format!("{name:#}").chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    Some(format!("{path}{suffix}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_go_and_names_stay_apart() {
        let text = |one: &str, two: &str| {
            format!(
                ".global .b8 alloc_{one}[4];\n.func _RNvNtCs{one}_7kernels7entropy4help(\n\
                 \t.param .b32 _RNvNtCs{one}_7kernels7entropy4help_param_0\n)\n\
                 _RNvNtCs{two}_7kernels7entropy4help entropy_naive_param_0 %r1 $L__BB0_1 alloc_{one}"
            )
        };
        let renamed = rename(&text("4fqI2P2rA04", "4fqI2P2rA05"));
        assert_eq!(renamed, rename(&text("1abc", "2abcdef")));
        assert!(renamed.contains(".func kernels__entropy__help_1(\n"), "{renamed}");
        assert!(renamed.contains(".param .b32 kernels__entropy__help_param_0_1\n"), "{renamed}");
        assert!(
            renamed.ends_with("kernels__entropy__help_2 entropy_naive_param_0 %r1 $L__BB0_1 constant_1"),
            "{renamed}"
        );
    }
}
