//! What every target asks of an error.

use std::fmt::Display;

/// Characters that an error's text must not have beside the control characters: those that change the direction of text or are not seen.
const UNSEEN: [std::ops::RangeInclusive<char>; 5] = [
    '\u{200b}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{2069}',
    '\u{feff}'..='\u{feff}',
    '\u{fff9}'..='\u{fffb}',
];

/// Panics unless the text of an error is one line that a terminal shows as it is: not empty, of bounded length, without control characters.
pub fn one_line(error: &dyn Display) {
    let text = error.to_string();
    assert!(!text.is_empty(), "an error says nothing");
    assert!(text.len() <= 4096, "an error says too much: {} bytes", text.len());
    if let Some(c) = text.chars().find(|c| c.is_control() || UNSEEN.iter().any(|range| range.contains(c))) {
        panic!("an error has {c:?} in it: {text:?}");
    }
}

/// The value, or nothing where there is an error, the text of which is checked.
pub fn value<T, E: Display>(result: Result<T, E>) -> Option<T> {
    result.inspect_err(|error| one_line(error)).ok()
}
