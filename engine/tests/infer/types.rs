//! Columns and the types they come to.

use fastcsv_engine::convert::Settings;
use fastcsv_engine::dialect::{Dialect, LineEnd};
use fastcsv_engine::infer::{Doubt, Findings, Reading, Surveyor, Type, Verdict};
use fastcsv_engine::scan::Level;

fn found(text: &str, fields: usize) -> Findings {
    let settings = Settings { default_words: true, utf8: true, ..Settings::default() };
    let dialect = Dialect::copy_csv(LineEnd::Lf);
    let surveyor = Surveyor::new(&dialect, Level::detect(), fields, b"", false, &settings);
    let mut surveyor = surveyor.expect("there is memory");
    assert_eq!(surveyor.take(text.as_bytes(), text.len(), u64::MAX), Ok(text.len()));
    surveyor.into_findings()
}

/// The only column of a file with these fields.
fn column(fields: &[&str]) -> Verdict {
    found(&(fields.join("\n") + "\n"), 1).verdicts().remove(0)
}

fn kind(fields: &[&str]) -> Type {
    column(fields).kind
}

#[test]
fn a_column_has_the_narrowest_type_that_holds_all_of_its_values() {
    assert_eq!(kind(&["1", "-2", "32767"]), Type::SmallInt);
    assert_eq!(kind(&["1", "32768"]), Type::Integer);
    assert_eq!(kind(&["2147483648", "1"]), Type::BigInt);
    assert_eq!(kind(&["1", "2.5", "99999999999999999999"]), Type::Numeric);
    assert_eq!(kind(&["1", "2.5", "1e-3"]), Type::Double);
    assert_eq!(kind(&["1", "NaN"]), Type::Double);
    assert_eq!(kind(&["1.2345678901234567890", "1e-3"]), Type::Numeric);
    assert_eq!(kind(&["NaN", "inf"]), Type::Text);
    assert_eq!(kind(&["2024-01-31", "1999-12-31"]), Type::Date);
    assert_eq!(kind(&["2024-01-31", "1999-12-31 10:00"]), Type::Timestamp);
    assert_eq!(kind(&["2024-01-31 10:00+01", "1999-12-31T10:00:00Z"]), Type::Timestamptz);
    assert_eq!(kind(&["2024-01-31 10:00+01", "1999-12-31 10:00:00"]), Type::Text);
    assert_eq!(kind(&["2024-01-31", "1999"]), Type::Text);
    assert_eq!(kind(&["10:00", "23:59:59.5"]), Type::Time);
    assert_eq!(kind(&["{}", "[1]"]), Type::Json);
    assert_eq!(kind(&["{}", "x"]), Type::Text);
    assert_eq!(kind(&["1", "x"]), Type::Text);
}

#[test]
fn quotes_do_not_make_a_number_text_but_a_leading_zero_does() {
    assert_eq!(kind(&["\"1\"", "2", "\"3\""]), Type::SmallInt);
    assert_eq!(kind(&["\"12345\"", "\"01234\""]), Type::Text);
    assert_eq!(kind(&["\"0\"", "\"0.5\""]), Type::Numeric);
}

#[test]
fn truth_words_are_of_one_kind_and_short_ones_come_in_both() {
    assert_eq!(kind(&["true", "True"]), Type::Boolean);
    assert_eq!(kind(&["t", "f"]), Type::Boolean);
    assert_eq!(kind(&["Yes", "no"]), Type::Boolean);
    assert_eq!(kind(&["true", "f"]), Type::Text);
    assert_eq!(kind(&["1", "0"]), Type::SmallInt);
    let lonely = column(&["F", "F"]);
    assert_eq!((lonely.kind, lonely.doubt), (Type::Text, Some(Doubt::OneTruthWord)));
}

#[test]
fn the_first_value_that_ruled_out_the_narrower_type_is_the_evidence() {
    let evidence = |fields: &[&str]| {
        let evidence = column(fields).evidence?;
        Some((evidence.ruled_out, evidence.line, String::from_utf8(evidence.value).expect("ASCII")))
    };
    assert_eq!(evidence(&["1", "40000", "50000"]), Some((Some(Type::SmallInt), 1, "40000".into())));
    assert_eq!(evidence(&["1", "40000", "x"]), Some((Some(Type::Integer), 2, "x".into())));
    assert_eq!(evidence(&["1", "\"a\nb\"", "x"]), Some((Some(Type::SmallInt), 1, "a\nb".into())));
    assert_eq!(evidence(&["\"a\nb\"", "1"]), Some((None, 0, "a\nb".into())));
    assert_eq!(evidence(&["2024-01-01", "\"\n\"", "7"]), Some((Some(Type::Date), 1, "\n".into())));
    assert_eq!(evidence(&["2024-01-01", "2024-01-01 10:00", "2024"]), Some((Some(Type::Timestamp), 2, "2024".into())));
    assert_eq!(evidence(&["1", "2"]), None);
}

#[test]
fn the_order_of_day_and_month_is_told_by_the_values_or_by_other_columns() {
    let reading = |fields: &[&str]| (kind(fields), column(fields).reading);
    assert_eq!(reading(&["2024-01-02"]), (Type::Date, Reading::Plain));
    assert_eq!(reading(&["01/02/2024", "13/02/2024"]), (Type::Date, Reading::DayFirst));
    assert_eq!(reading(&["01/02/2024", "02/13/2024"]), (Type::Date, Reading::MonthFirst));
    assert_eq!(reading(&["01/02/2024", "2024-01-02"]), (Type::Date, Reading::DayOrMonth));
    assert_eq!(reading(&["13/02/2024", "02/13/2024"]), (Type::Text, Reading::Plain));
    let verdicts = found("01/02/2024,13/02/2024 10:00\n", 2).verdicts();
    assert_eq!(verdicts[0].reading, Reading::DayFirst, "as in the other column");
    let order = column(&["01/02/2024", "13/02/2024"]).order.expect("there is evidence");
    assert_eq!((order.line, &order.value[..]), (1, &b"13/02/2024"[..]));
}

#[test]
fn commas_in_numbers_are_decided_by_the_column_or_by_others() {
    let numbers = |fields: &[&str]| {
        let verdict = column(
            &fields
                .iter()
                .map(|field| format!("\"{field}\""))
                .collect::<Vec<_>>()
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>(),
        );
        (verdict.kind, verdict.reading, verdict.doubt)
    };
    assert_eq!(numbers(&["1,5", "2"]), (Type::Numeric, Reading::DecimalComma, None));
    assert_eq!(numbers(&["1.234,5", "1.234"]), (Type::Numeric, Reading::DecimalComma, None));
    assert_eq!(numbers(&["1,234,567", "1"]), (Type::Numeric, Reading::ThousandsComma, None));
    assert_eq!(numbers(&["1,234.5", "1.5"]), (Type::Numeric, Reading::ThousandsComma, None));
    assert_eq!(numbers(&["1,234", "5,678"]), (Type::Text, Reading::Plain, Some(Doubt::PointOrThousands)));
    assert_eq!(numbers(&["0,234", "5,678"]), (Type::Numeric, Reading::DecimalComma, None));
    assert_eq!(numbers(&["1,5", "1.5"]), (Type::Text, Reading::Plain, None));
    let verdicts = found("\"1,234\",\"1,5\"\n", 2).verdicts();
    assert_eq!((verdicts[0].kind, verdicts[0].reading), (Type::Numeric, Reading::DecimalComma));
}

#[test]
fn nulls_are_counted_and_rule_nothing_out() {
    let verdict = column(&["1", "", "3", "\"\""]);
    assert_eq!((verdict.kind, verdict.nulls, verdict.has_quoted_nulls), (Type::SmallInt, 2, true));
    let verdict = column(&["x", "", "3", "\"\""]);
    assert_eq!((verdict.kind, verdict.nulls, verdict.has_quoted_nulls), (Type::Text, 1, false));
    let verdict = column(&["", "", ""]);
    assert_eq!((verdict.kind, verdict.nulls, verdict.doubt), (Type::Text, 3, Some(Doubt::NoValues)));
}

#[test]
fn what_else_is_wrong_is_noted_with_its_line() {
    let findings = found("1,2\n\"a\nb\",2,3\n1\n1,2\n", 2);
    assert_eq!((findings.records, findings.lines, findings.ragged), (4, 5, 2));
    assert_eq!(findings.first_ragged.map(|first| (first.line, first.fields)), Some((1, 3)));
    let findings = found("1,2\nx\r,2\n3,\u{0}\n", 2);
    assert_eq!((findings.stray, findings.nul, findings.not_utf8), (Some(1), Some(2), None));
}
