//! Every module of the library imports from lower floors only, by the table "Floors of the library" in `ARCHITECTURE.md`.
//!
//! Files are read as the compiler reads them: from `lib.rs` by `mod` to `mod`, as tokens, so that comments and texts are no imports. What is
//! `#[cfg(test)]` may import anything (tests compare with the definition) and is left out, and so are the files of such modules.
//!
//! ```text
//! cargo test -p halotile --test floors -- --nocapture      prints every module, its floor and what it imports
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A module of the library's root that another one names, and where.
#[derive(Debug, PartialEq, Eq)]
struct Import {
    file: String,
    line: usize,
    importer: String,
    imported: String,
}

/// What a file says of others: the modules of the root that it names, with lines, and the modules in files of their own that it declares.
#[derive(Debug, Default)]
struct Found {
    imports: Vec<(usize, String)>,
    modules: Vec<Vec<String>>,
}

impl Found {
    /// Reads the source of the module whose path from the root is `path`.
    fn of(source: &str, path: &[String]) -> Self {
        let tokens: TokenStream = source.parse().expect("what compiles has tokens");
        let mut found = Self::default();
        found.read(tokens, path);
        found
    }

    fn read(&mut self, tokens: TokenStream, path: &[String]) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            let rest = &tokens[at..];
            at += match rest {
                [hash, TokenTree::Group(attribute), ..] if is(hash, '#') && is_for_tests(attribute.stream()) => {
                    2 + item(&rest[2..])
                }
                [TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Punct(end), ..]
                    if word == "mod" && end.as_char() == ';' =>
                {
                    self.modules.push(inside(path, name.to_string()));
                    3
                }
                [TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Group(body), ..] if word == "mod" => {
                    self.read(body.stream(), &inside(path, name.to_string()));
                    3
                }
                [TokenTree::Ident(word), ..] if word == "crate" => 1 + self.name(&rest[1..]),
                [TokenTree::Ident(word), ..] if word == "super" => {
                    // As many times as the module lies deep leads to the root.
                    let times = 1 + rest[1..].chunks(3).take_while(|next| is_path(next, |w| w == "super")).count();
                    let read = 3 * times - 2;
                    if times == path.len() { read + self.name(&rest[read..]) } else { read }
                }
                [TokenTree::Group(group), ..] => {
                    self.read(group.stream(), path);
                    1
                }
                _ => 1,
            };
        }
    }

    /// Notes what follows the root: `::name` or `::{name.., name..}`. How many tokens that were.
    fn name(&mut self, rest: &[TokenTree]) -> usize {
        match rest {
            [_, _, TokenTree::Ident(name)] | [_, _, TokenTree::Ident(name), ..] if is_path(&rest[..3], |_| true) => {
                self.imports.push((name.span().start().line, name.to_string()));
                3
            }
            [a, b, TokenTree::Group(group), ..] if is(a, ':') && is(b, ':') => {
                let mut first = true;
                for token in group.stream() {
                    if let (true, TokenTree::Ident(name)) = (first, &token) {
                        self.imports.push((name.span().start().line, name.to_string()));
                    }
                    first = is(&token, ',');
                }
                3
            }
            _ => 0,
        }
    }
}

fn inside(path: &[String], name: String) -> Vec<String> {
    path.iter().cloned().chain([name]).collect()
}

fn is(token: &TokenTree, what: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == what)
}

/// `::word`.
fn is_path(tokens: &[TokenTree], is_it: impl Fn(&str) -> bool) -> bool {
    matches!(tokens, [a, b, TokenTree::Ident(word)] if is(a, ':') && is(b, ':') && is_it(&word.to_string()))
}

/// `cfg(test)`.
fn is_for_tests(attribute: TokenStream) -> bool {
    attribute.to_string().replace(' ', "") == "cfg(test)"
}

/// Tokens of the item that comes next: up to a semicolon, or the braces of its body.
fn item(tokens: &[TokenTree]) -> usize {
    let is_import = tokens.iter().take(3).any(|token| matches!(token, TokenTree::Ident(word) if word == "use"));
    let ends = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace && !is_import,
        token => is(token, ';'),
    };
    tokens.iter().position(ends).map_or(tokens.len(), |last| last + 1)
}

/// Modules of the root, and what they import.
fn library(sources: &Path) -> (BTreeSet<String>, Vec<Import>) {
    let (mut all, mut imports) = (BTreeSet::new(), Vec::new());
    let mut left = vec![Vec::new()];
    while let Some(path) = left.pop() {
        let file = file_of(sources, &path);
        let source = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let found = Found::of(&source, &path);
        left.extend(found.modules);
        let Some(importer) = path.first() else { continue };
        all.insert(importer.clone());
        let file = format!("host/src/{}", file.strip_prefix(sources).expect("it is inside").display());
        let others = found.imports.into_iter().filter(|(_, imported)| imported != importer);
        imports.extend(others.map(|(line, imported)| Import {
            file: file.clone(),
            line,
            importer: importer.clone(),
            imported,
        }));
    }
    imports.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    (all, imports)
}

fn file_of(sources: &Path, path: &[String]) -> PathBuf {
    let Some((last, above)) = path.split_last() else { return sources.join("lib.rs") };
    let folder = above.iter().fold(sources.to_owned(), |folder, name| folder.join(name));
    let file = folder.join(format!("{last}.rs"));
    if file.exists() { file } else { folder.join(last).join("mod.rs") }
}

/// The floor of every module that the table names: rows of a number and of names in backquotes.
fn floors(page: &str) -> BTreeMap<String, usize> {
    let section = page.split("\n## ").find(|section| section.starts_with("Floors of the library"));
    let mut floors = BTreeMap::new();
    for row in section.expect("the page has a section \"Floors of the library\"").lines() {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        if let [_, floor, modules, ..] = cells[..]
            && let Ok(floor) = floor.parse::<usize>()
        {
            for module in modules.split('`').skip(1).step_by(2) {
                let before = floors.insert(module.to_owned(), floor);
                assert_eq!(before, None, "{module} is on two floors");
            }
        }
    }
    floors
}

/// A line for everything that is wrong.
fn faults(floors: &BTreeMap<String, usize>, modules: &BTreeSet<String>, imports: &[Import]) -> Vec<String> {
    let unlisted = modules.iter().filter(|&module| !floors.contains_key(module));
    let unlisted = unlisted.map(|module| format!("ARCHITECTURE.md: the module {module} is on no floor"));
    let removed = floors.keys().filter(|&module| !modules.contains(module));
    let removed = removed.map(|module| format!("ARCHITECTURE.md: {module} is on a floor, and there is no such module"));
    let upward = imports.iter().filter_map(|Import { file, line, importer, imported }| {
        let (from, to) = (floors.get(importer)?, floors.get(imported)?);
        (to >= from).then(|| format!("{file}:{line}: {importer} (floor {from}) imports {imported} (floor {to})"))
    });
    unlisted.chain(removed).chain(upward).collect()
}

#[test]
fn modules_import_from_lower_floors_only() {
    let host = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = host.join("../ARCHITECTURE.md");
    let page = std::fs::read_to_string(&page).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
    let floors = floors(&page);
    let (modules, imports) = library(&host.join("src"));

    let mut drawing: Vec<_> = floors.iter().map(|(module, floor)| (floor, module)).collect();
    drawing.sort();
    for (floor, module) in drawing.iter().rev() {
        let mut imported: Vec<_> = imports.iter().filter(|import| &import.importer == *module).collect();
        imported.sort_by_key(|import| (floors.get(&import.imported), &import.imported));
        imported.dedup_by_key(|import| &import.imported);
        let names: Vec<&str> = imported.iter().rev().map(|import| &*import.imported).collect();
        println!("{floor:>3}  {module:<10} {}", names.join(" "));
    }

    let faults = faults(&floors, &modules, &imports);
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

const SAMPLE: &str = r##"
//! No import: use crate::comment;
use crate::grid::Grid;
use crate::{
    codes::{self, Code},
    entropy,
};
use super::super::cpu::Task;
use super::sibling;

/// Nor this: [`crate::linked`].
pub(in crate::measure) fn area<'a>(cells: &'a str) -> usize {
    let text = ("crate::text", r#"crate::raw"#, 'c');
    vec![crate::io::Place { line: 1 }].len()
}

#[cfg(test)]
use crate::{tested, too};

mod inner {
    use super::super::super::part;
    use super::super::logs;

    #[cfg(test)]
    mod tests {
        use crate::reference;
    }
}

macro_rules! each {
    ($values:expr) => { $crate::raster::cell::of_type!($values) };
}

#[cfg(test)]
#[allow(dead_code)]
mod tests;
pub(crate) mod below;
"##;

#[test]
fn imports_are_found_wherever_they_are_written() {
    let path = ["measure", "window"].map(String::from);
    let found = Found::of(SAMPLE, &path);
    let imports: Vec<(usize, &str)> = found.imports.iter().map(|(line, name)| (*line, &**name)).collect();
    let expected = [
        (3, "grid"),
        (5, "codes"),
        (6, "entropy"),
        (8, "cpu"),
        (12, "measure"),
        (14, "io"),
        (21, "part"),
        (31, "raster"),
    ];
    assert_eq!(imports, expected);
    assert_eq!(found.modules, [["measure", "window", "below"].map(String::from)]);
}

#[test]
fn what_is_wrong_is_told_line_by_line() {
    let page = "# Map\n\n## Floors of the library\nText.\n| floor | modules | why |\n|---|---|---|\n| 0 | `grid`, `gone` | |\n| 1 | `measure`, `logs` | |\n| 2 | `entropy` | `no_module` |\n\n## Next\n| 9 | `elsewhere` |\n";
    let floors = floors(page);
    assert_eq!(floors.keys().collect::<Vec<_>>(), ["entropy", "gone", "grid", "logs", "measure"]);
    let modules = ["entropy", "grid", "logs", "measure", "new"].map(String::from).into();
    let import = |line, importer: &str, imported: &str| Import {
        file: format!("host/src/{importer}.rs"),
        line,
        importer: importer.to_owned(),
        imported: imported.to_owned(),
    };
    let imports = [
        import(1, "measure", "grid"),
        import(2, "measure", "entropy"),
        import(3, "measure", "logs"),
        import(4, "grid", "entropy"),
    ];
    assert_eq!(
        faults(&floors, &modules, &imports),
        [
            "ARCHITECTURE.md: the module new is on no floor",
            "ARCHITECTURE.md: gone is on a floor, and there is no such module",
            "host/src/measure.rs:2: measure (floor 1) imports entropy (floor 2)",
            "host/src/measure.rs:3: measure (floor 1) imports logs (floor 1)",
            "host/src/grid.rs:4: grid (floor 0) imports entropy (floor 2)",
        ]
    );
}
