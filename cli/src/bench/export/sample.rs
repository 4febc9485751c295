//! A record for tests, and for looking at the page (the test of `html` writes it to the file that `HALOTILE_SAMPLE_HTML` names): both ladders
//! and the kernels for use on a GPU at three sizes, as they were measured, with a row made wrong and another skipped, and texts that have to be escaped.

use halotile_lab::bench::{Outcome, Record};

pub fn record() -> Record {
    let json = include_bytes!("../../../../benches/record/2026-11-21-ladder/ladders.json");
    let mut record = Record::read(json).unwrap();
    record.results[4].outcome = Outcome::Wrong { reason: "row 3, column 5: 1.2, and 1.3 was expected".into() };
    record.results[9].outcome = Outcome::Skipped { reason: "it is <too> slow & \"old\"".into() };
    record.results[5].idea = Some("counters in \"shared\" memory & fewer <barriers>".into());
    record.head.machine.cpu = Some("Intel(R) Xeon(R) <Platinum> 8480+".into());
    record
}
