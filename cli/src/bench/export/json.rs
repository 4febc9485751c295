//! JSON: the record as it is. Its fields are described where they are declared, in `halotile_lab::bench`.

use std::io::Write;

use halotile_lab::bench::Record;

use super::Exporter;

/// One object, indented, with a line feed at the end.
pub struct Json;

impl Exporter for Json {
    fn write(&self, record: &Record, out: &mut dyn Write) -> anyhow::Result<()> {
        serde_json::to_writer_pretty(&mut *out, record)?;
        Ok(writeln!(out)?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{sample, written};
    use super::*;

    #[test]
    fn a_record_comes_back_as_it_was() {
        let record = sample::record();
        let json = written(&Json, &record);
        assert!(Record::read(json.as_bytes()).unwrap() == record);
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        let mut fields: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
        fields.sort_unstable();
        // The help lists them.
        let told =
            ["ceilings", "commit", "devices", "halotile", "machine", "options", "results", "schema", "time", "what"];
        assert_eq!(fields, told);
    }
}
