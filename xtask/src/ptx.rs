//! The text of a PTX file: its header, and its functions.

use std::path::Path;

use anyhow::{Context, Result};

use crate::workspace::{KernelCrate, read};

/// The header's field with the hash of the device sources.
pub const SOURCES: &str = "sources: sha256 ";

/// A function of PTX, kernel or not.
pub struct Function<'a> {
    pub name: &'a str,
    /// A kernel can be launched; any other function is only called.
    pub kernel: bool,
    /// What comes before the body.
    pub head: &'a str,
    /// The body with its braces.
    pub body: &'a str,
}

/// The functions that have a body, in the order of the text.
///
/// It reads what LLVM writes: a directive at the start of a line, and the body's braces each on a line of its own.
pub fn functions(text: &str) -> Vec<Function<'_>> {
    let mut functions = Vec::new();
    let mut rest = text;
    while let Some(brace) = line(rest, "{") {
        let end = brace + body(&rest[brace..]);
        // Declarations end in `;`, the functions before in `}`: what is left begins with this one's directive.
        let before = &rest[..brace];
        let start = before.rfind(";\n").map_or(0, |at| at + 2);
        let directive = before[start..].lines().find(|line| line.contains(".entry ") || line.contains(".func "));
        if let Some(directive) = directive {
            let from = directive.as_ptr() as usize - text.as_ptr() as usize;
            let to = brace + rest.as_ptr() as usize - text.as_ptr() as usize;
            let head = &text[from..to];
            functions.push(Function {
                name: function_name(head),
                kernel: directive.contains(".entry "),
                head,
                body: &rest[brace..end],
            });
        }
        rest = &rest[end..];
    }
    functions
}

/// The length of the body that `text` begins with, up to the brace that closes its first. Inline assembly brings blocks and
/// operands in braces of its own, indented or not.
fn body(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0isize);
    for line in text.split_inclusive('\n') {
        depth += line.matches('{').count() as isize - line.matches('}').count() as isize;
        if depth == 0 {
            return at + line.trim_end().len();
        }
        at += line.len();
    }
    text.len()
}

/// Where the first line that is exactly `wanted` begins.
fn line(text: &str, wanted: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_end() == wanted {
            return Some(at);
        }
        at += line.len();
    }
    None
}

/// `.visible .entry NAME(...)`, `.func (.param .b32 result) NAME(...)` or either without parameters.
fn function_name(head: &str) -> &str {
    let mut rest = head.split_once(".entry ").or_else(|| head.split_once(".func ")).map_or(head, |(_, rest)| rest);
    rest = rest.trim_start();
    if rest.starts_with('(') {
        rest = rest.split_once(')').map_or(rest, |(_, rest)| rest).trim_start();
    }
    rest.split(|c: char| !is_symbol(c)).next().unwrap_or(rest)
}

/// Whether a character may be in a PTX identifier.
pub fn is_symbol(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

/// The value of a field of the header that `build-ptx` writes.
pub fn header_field<'a>(text: &'a str, field: &str) -> Option<&'a str> {
    text.lines()
        .take_while(|line| line.starts_with("//"))
        .find_map(|line| line.strip_prefix("// ")?.strip_prefix(field))
}

/// The architectures for which a crate's PTX is committed, oldest first.
pub fn committed(krate: &KernelCrate) -> Result<Vec<String>> {
    let directory = krate.ptx_dir();
    let mut archs: Vec<String> = Vec::new();
    for entry in directory.read_dir().with_context(|| format!("cannot list {}", directory.display()))? {
        let name = entry?.file_name();
        let arch = Path::new(&name).to_str().and_then(|name| name.strip_prefix(krate.prefix)?.strip_suffix(".ptx"));
        let arch = arch.and_then(|arch| arch.strip_prefix('.'));
        archs.extend(arch.map(str::to_owned));
    }
    archs.sort_by_key(|arch| number(arch).unwrap_or(u32::MAX));
    Ok(archs)
}

/// The committed PTX of a crate: architectures, oldest first, with their texts. Every kernel is in one of them.
pub fn texts(krate: &KernelCrate) -> Result<Vec<(String, String)>> {
    let text = |arch: String| read(&krate.ptx_file(&arch)).map(|text| (arch, text));
    committed(krate)?.into_iter().map(text).collect()
}

/// The number of an architecture: 75 of `sm_75`.
pub fn number(arch: &str) -> Result<u32> {
    let number = arch.strip_prefix("sm_").and_then(|number| number.parse().ok());
    number.with_context(|| format!("{arch} is no architecture: they are called sm_75, sm_80, …"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
.version 6.3
.shared .align 16 .b8 TILE[64];
.func  (.param .b32 result) helper
(
\t.param .b32 helper_param_0
)
;

\t// .globl\tone
.visible .entry one(
\t.param .u64 one_param_0
)
.maxntid 64, 1, 1
{
\tret;
}
.visible .entry two()
{
\t{ // a call
{
mov.u32 %r1, 0;
}
\t{ .reg .b32 tmp; mov.b64 {tmp, %r28}, %rd113; }
\tcall.uni (retval0), helper, (param0);
\t}
\tret;
}
.func  (.param .b32 result) helper(
\t.param .b32 helper_param_0
)
{
\tret;
}
";

    #[test]
    fn functions_are_found_with_their_bodies() {
        let functions = functions(TEXT);
        let summary: Vec<_> = functions.iter().map(|f| (f.name, f.kernel)).collect();
        assert_eq!(summary, [("one", true), ("two", true), ("helper", false)]);
        assert!(functions[0].head.starts_with(".visible .entry one(") && functions[0].head.ends_with("1, 1\n"));
        assert_eq!(functions[0].body, "{\n\tret;\n}");
        assert!(functions[1].body.contains("helper") && functions[1].body.ends_with("ret;\n}"));
    }

    #[test]
    fn a_field_is_read_from_the_header_only() {
        let text = "// a: 1\n//\n// b: 2\n\n// c: 3\n";
        assert_eq!(header_field(text, "b: "), Some("2"));
        assert_eq!(header_field(text, "c: "), None);
    }
}
