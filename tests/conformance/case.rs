//! Cases as they are written.

use serde_json::Value;
use std::path::PathBuf;

/// One line of a case file.
#[derive(Clone)]
pub struct Case(pub Value);

impl Case {
    pub fn id(&self) -> &str {
        text(&self.0["id"])
    }
    pub fn op(&self) -> &str {
        text(&self.0["op"])
    }
    pub fn key(&self) -> &str {
        text(&self.0["key"])
    }
    pub fn attr(&self, name: &str) -> &Value {
        &self.0["attrs"][name]
    }
    pub fn input(&self, name: &str) -> &Value {
        &self.0["inputs"][name]
    }
    pub fn error(&self) -> Option<&str> {
        self.0["error"].as_str()
    }
    /// Name and flat expectation of every gradient.
    pub fn grads(&self) -> Vec<(String, Vec<Number>)> {
        let Some(grads) = self.0["grads"].as_object() else { return vec![] };
        grads.iter().map(|(name, value)| (name.clone(), numbers(value))).collect()
    }
    pub fn cotangent(&self) -> Option<Vec<Number>> {
        (!self.0["cotangent"].is_null()).then(|| numbers(&self.0["cotangent"]))
    }
    pub fn cotangent_on_values(&self) -> bool {
        self.0["cotangent_on"] == "values"
    }
}

pub fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

/// A number of a case or of a tensor. Integers beyond 2^53 are no floats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Int(i64),
    Float(f64),
}

impl Number {
    pub fn float(self) -> f64 {
        match self {
            Self::Int(number) => number as f64,
            Self::Float(number) => number,
        }
    }

    pub fn int(self) -> i64 {
        match self {
            Self::Int(number) => number,
            Self::Float(number) => number as i64,
        }
    }
}

/// A number, which may be spelled "nan", "inf", "-inf", or be a bool.
pub fn number(value: &Value) -> Number {
    match value {
        Value::Bool(value) => Number::Int(i64::from(*value)),
        Value::String(word) => Number::Float(match word.as_str() {
            "nan" => f64::NAN,
            "inf" => f64::INFINITY,
            "-inf" => f64::NEG_INFINITY,
            other => panic!("not a number: {other}"),
        }),
        other => match other.as_i64() {
            Some(number) => Number::Int(number),
            None => Number::Float(other.as_f64().expect("a number")),
        },
    }
}

/// All numbers of nested lists, row-major.
pub fn numbers(value: &Value) -> Vec<Number> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        one => vec![number(one)],
    }
}

pub fn usizes(value: &Value) -> Vec<usize> {
    numbers(value).into_iter().map(|number| number.int() as usize).collect()
}

pub fn ints(value: &Value) -> Vec<i64> {
    numbers(value).into_iter().map(Number::int).collect()
}

pub fn load(folders: &[PathBuf]) -> Vec<Case> {
    let mut cases = vec![];
    for folder in folders {
        let entries = std::fs::read_dir(folder).unwrap_or_else(|trouble| panic!("{}: {trouble}", folder.display()));
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder entry").path()).collect();
        files.sort();
        for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "jsonl")) {
            let lines = std::fs::read_to_string(file).unwrap_or_else(|trouble| panic!("{}: {trouble}", file.display()));
            cases.extend(lines.lines().map(|line| Case(serde_json::from_str(line).expect("a JSON object a line"))));
        }
    }
    cases
}
