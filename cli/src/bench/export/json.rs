//! JSON: the record as it is. Its fields are described where they are declared, in `halotile_lab::bench`.

use std::io::Write;

use serde::Serialize;

use super::Exporter;

/// One object, indented, with a line feed at the end.
pub struct Json;

impl<R: Serialize> Exporter<R> for Json {
    fn write(&self, record: &R, out: &mut dyn Write) -> anyhow::Result<()> {
        serde_json::to_writer_pretty(&mut *out, record)?;
        Ok(writeln!(out)?)
    }
}

#[cfg(test)]
mod tests {
    use halotile_lab::bench::Record;

    use super::super::sample;
    use super::*;

    #[test]
    fn a_record_comes_back_as_it_was() {
        let record = sample::record();
        let mut json = Vec::new();
        Json.write(&record, &mut json).unwrap();
        assert!(serde_json::from_slice::<Record>(&json).unwrap() == record);
        let value: serde_json::Value = serde_json::from_slice(&json).unwrap();
        let mut fields: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
        fields.sort_unstable();
        // The help lists them.
        let told =
            ["ceilings", "commit", "devices", "halotile", "machine", "options", "results", "schema", "time", "what"];
        assert_eq!(fields, told);
    }
}
