//! Numbers on a command line.
#![allow(dead_code)] // An example may need some of them only.

fn number(text: &str, rule: &str, holds: impl Fn(f64) -> bool) -> Result<f64, String> {
    let value = text.parse::<f64>().map_err(|_| format!("must be a number {rule}"))?;
    if holds(value) { Ok(value) } else { Err(format!("must be {rule}")) }
}

pub(crate) fn above_zero(text: &str) -> Result<f64, String> {
    number(text, "above 0 and finite", |value| value > 0.0 && value.is_finite())
}

pub(crate) fn not_negative(text: &str) -> Result<f64, String> {
    number(text, "0 or more and finite", |value| value >= 0.0 && value.is_finite())
}

pub(crate) fn probability(text: &str) -> Result<f64, String> {
    number(text, "in [0, 1)", |value| (0.0..1.0).contains(&value))
}
