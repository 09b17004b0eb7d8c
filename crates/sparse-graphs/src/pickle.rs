//! Python's pickles, as far as the raw files of graphs need them: numbers, strings, lists, dictionaries, and what
//! objects were made from.
//!
//! Nothing is executed: an object stays the name of its class, its arguments and its state. All values lie in one list
//! and refer to each other by their numbers there. So a hostile file cannot nest or copy values without end: each of
//! its bytes adds at most one value, and values are kept small. (The crate `serde-pickle` drops the name of a NumPy
//! dtype when it reads its state, and copies what a pickle refers to.)
//!
//! Source: Python's `pickletools`, protocols 0 to 4.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// A value: a number, or the place of something larger.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    None,
    Bool(bool),
    Int(i64),
    /// Its value is not needed.
    Float,
    At(usize),
}

/// Something larger than a number.
#[derive(Clone, Debug)]
pub(super) enum Node<'a> {
    Bytes(Cow<'a, [u8]>),
    Text(Cow<'a, str>),
    /// A list, a tuple or a set.
    List(Vec<Value>),
    Dict(Vec<(Value, Value)>),
    /// `module name`.
    Global(String),
    Object(Box<Object>),
    /// What lies outside the pickle, by its name there.
    #[cfg_attr(not(feature = "npz"), expect(dead_code))]
    Outside(Value),
}

/// An object: what was called with which arguments, the state that it was given later, and the items that were set.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) class: Value,
    pub(super) args: Value,
    pub(super) state: Option<Value>,
    pub(super) items: Vec<(Value, Value)>,
}

/// A pickle that was read: its value, and all that it refers to.
pub(super) struct Pickle<'a> {
    pub(super) top: Value,
    /// Its bytes, of those that were given.
    #[cfg_attr(not(feature = "npz"), expect(dead_code))]
    pub(super) length: usize,
    nodes: Vec<Node<'a>>,
}

impl<'a> Pickle<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, String> {
        let mut machine = Machine { rest: bytes, nodes: vec![], stack: vec![], marks: vec![], memo: BTreeMap::new() };
        loop {
            let at = bytes.len() - machine.rest.len();
            match machine.step() {
                Ok(None) => {}
                Ok(Some(top)) => {
                    let length = bytes.len() - machine.rest.len();
                    return Ok(Self { top, length, nodes: machine.nodes });
                }
                Err(trouble) => return Err(format!("the pickle is wrong at byte {at}: {trouble}")),
            }
        }
    }

    pub(super) fn node(&self, value: Value) -> Option<&Node<'a>> {
        match value {
            Value::At(at) => self.nodes.get(at),
            _ => None,
        }
    }

    /// The names of what lies outside.
    #[cfg(feature = "npz")]
    pub(super) fn outside(&self) -> impl Iterator<Item = Value> {
        self.nodes.iter().filter_map(|node| match node {
            Node::Outside(name) => Some(*name),
            _ => None,
        })
    }

    /// A string, of either kind.
    pub(super) fn text(&self, value: Value) -> Option<&str> {
        match self.node(value)? {
            Node::Text(text) => Some(text),
            // Names and keys are short. To check a long array again for each use would take too long.
            Node::Bytes(bytes) if bytes.len() < 256 => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// Bytes, also those that Python 3 writes as text for Python 2.
    pub(super) fn bytes(&self, value: Value) -> Option<Cow<'_, [u8]>> {
        let latin =
            |text: &str| text.chars().map(|mark| u8::try_from(u32::from(mark)).ok()).collect::<Option<Vec<u8>>>();
        match self.node(value)? {
            Node::Bytes(bytes) => Some(Cow::Borrowed(bytes)),
            Node::Text(text) => latin(text).map(Cow::Owned),
            Node::Object(object) if self.class(value)? == "_codecs encode" => {
                let &[text, ..] = &self.list(object.args)?[..] else { return None };
                latin(self.text(text)?).map(Cow::Owned)
            }
            // `bytes()`: the empty ones.
            Node::Object(_) if self.class(value)?.ends_with(" bytes") => Some(Cow::Borrowed(&[])),
            _ => None,
        }
    }

    pub(super) fn list(&self, value: Value) -> Option<&Vec<Value>> {
        match self.node(value)? {
            Node::List(items) => Some(items),
            _ => None,
        }
    }

    /// The entries of a dictionary, or of an object that is one.
    pub(super) fn entries(&self, value: Value) -> Option<&[(Value, Value)]> {
        match self.node(value)? {
            Node::Dict(entries) => Some(entries),
            Node::Object(object) => Some(&object.items),
            _ => None,
        }
    }

    pub(super) fn object(&self, value: Value) -> Option<&Object> {
        match self.node(value)? {
            Node::Object(object) => Some(object),
            _ => None,
        }
    }

    /// `module name` of the class of an object, or of what made it.
    pub(super) fn class(&self, value: Value) -> Option<&str> {
        let object = self.object(value)?;
        let Node::Global(name) = self.node(object.class)? else { return None };
        if !matches!(name.as_str(), "copy_reg _reconstructor" | "copyreg _reconstructor") {
            return Some(name);
        }
        match self.node(*self.list(object.args)?.first()?)? {
            Node::Global(name) => Some(name),
            _ => None,
        }
    }
}

/// Python's unpickling machine: a stack, marks on it, and a memo.
struct Machine<'a> {
    rest: &'a [u8],
    nodes: Vec<Node<'a>>,
    stack: Vec<Value>,
    marks: Vec<usize>,
    /// A tree: a hash table doubles, and so takes more memory for a byte of the file.
    memo: BTreeMap<u64, Value>,
}

/// Names of classes and of their modules are shorter. A file can use a name again and again.
const LONGEST_NAME: usize = 64;

const UNDERFLOW: &str = "the stack has too few values";

impl<'a> Machine<'a> {
    /// One instruction; the value of the pickle after the last one.
    fn step(&mut self) -> Result<Option<Value>, String> {
        let value = match self.byte()? {
            b'.' => return self.pop().map(Some),
            b'(' => {
                add(&mut self.marks, self.stack.len());
                return Ok(None);
            }
            // Protocol and frames say nothing that is needed.
            0x80 => return self.take(1).map(|_| None),
            0x95 => return self.take(8).map(|_| None),
            b'0' => return self.pop().map(|_| None),
            b'1' => return self.marked().map(|_| None),
            b'2' => self.top()?,
            b'N' => Value::None,
            0x88 => Value::Bool(true),
            0x89 => Value::Bool(false),
            b'I' => match self.line()? {
                b"00" => Value::Bool(false),
                b"01" => Value::Bool(true),
                line => Value::Int(decimal(line)?),
            },
            b'L' => {
                let line = self.line()?;
                Value::Int(decimal(line.strip_suffix(b"L").unwrap_or(line))?)
            }
            b'J' => Value::Int(i32::from_le_bytes(self.array()?).into()),
            b'K' => Value::Int(self.byte()?.into()),
            b'M' => Value::Int(u16::from_le_bytes(self.array()?).into()),
            0x8a => {
                let length = self.byte()?.into();
                self.long(length)?
            }
            0x8b => {
                let length = self.length(4)?;
                self.long(length)?
            }
            b'F' => {
                let line = self.line()?;
                let number = std::str::from_utf8(line).ok().and_then(|text| text.parse::<f64>().ok());
                number.map(|_| Value::Float).ok_or("a float must be a number")?
            }
            b'G' => self.take(8).map(|_| Value::Float)?,
            b'S' => {
                let line = self.line()?;
                self.put(Node::Bytes(Cow::Owned(unescaped(line)?)))
            }
            b'U' | b'C' => self.counted(1, Node::bytes)?,
            b'T' | b'B' => self.counted(4, Node::bytes)?,
            0x8e => self.counted(8, Node::bytes)?,
            0x8c => self.counted(1, Node::text)?,
            b'X' => self.counted(4, Node::text)?,
            0x8d => self.counted(8, Node::text)?,
            b'V' => {
                let line = std::str::from_utf8(self.line()?).map_err(|_| "a string must be text")?;
                if line.contains('\\') {
                    return Err("escapes in a Unicode string are not supported".into());
                }
                self.put(Node::Text(Cow::Borrowed(line)))
            }
            b']' | b')' | 0x8f => self.put(Node::List(vec![])),
            b'l' | b't' | 0x91 => {
                let items = self.marked()?;
                self.put(Node::List(items))
            }
            count @ 0x85..=0x87 => {
                let from = self.stack.len().checked_sub(usize::from(count - 0x84)).ok_or(UNDERFLOW)?;
                let items = self.stack.split_off(from);
                self.put(Node::List(items))
            }
            b'}' => self.put(Node::Dict(vec![])),
            b'd' => {
                let items = pairs(self.marked()?)?;
                self.put(Node::Dict(items))
            }
            b'a' => {
                let item = self.pop()?;
                return self.extend(vec![item]);
            }
            b'e' | 0x90 => {
                let items = self.marked()?;
                return self.extend(items);
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                return self.set(vec![(key, value)]);
            }
            b'u' => {
                let items = pairs(self.marked()?)?;
                return self.set(items);
            }
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                let name = format!("{} {}", String::from_utf8_lossy(module), String::from_utf8_lossy(name));
                self.put(Node::Global(name))
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                let text = |value| match value {
                    Value::At(at) => match &self.nodes[at] {
                        Node::Text(text) if text.len() < LONGEST_NAME => Some(text.to_string()),
                        _ => None,
                    },
                    _ => None,
                };
                let name = text(module).zip(text(name)).ok_or("a class must have a short name")?;
                self.put(Node::Global(format!("{} {}", name.0, name.1)))
            }
            b'R' | 0x81 => {
                let (args, class) = (self.pop()?, self.pop()?);
                self.put(Node::Object(Box::new(Object { class, args, state: None, items: vec![] })))
            }
            b'b' => {
                let state = self.pop()?;
                let object = self.top()?;
                match self.at(object) {
                    Some(Node::Object(object)) => object.state = Some(state),
                    _ => return Err("a state must belong to an object".into()),
                }
                return Ok(None);
            }
            b'Q' => {
                let name = self.pop()?;
                self.put(Node::Outside(name))
            }
            b'p' => {
                let key = decimal(self.line()?)?;
                return self.keep(key as u64);
            }
            b'q' => {
                let key = self.byte()?;
                return self.keep(key.into());
            }
            b'r' => {
                let key = u32::from_le_bytes(self.array()?);
                return self.keep(key.into());
            }
            0x94 => return self.keep(self.memo.len() as u64),
            b'g' => {
                let key = decimal(self.line()?)?;
                self.kept(key as u64)?
            }
            b'h' => {
                let key = self.byte()?;
                self.kept(key.into())?
            }
            b'j' => {
                let key = u32::from_le_bytes(self.array()?);
                self.kept(key.into())?
            }
            code => {
                return Err(format!(
                    "got the instruction {:?}, which is not supported",
                    code.escape_ascii().to_string()
                ));
            }
        };
        add(&mut self.stack, value);
        Ok(None)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            return Err(format!("{length} bytes must follow, got {} before the end", self.rest.len()));
        };
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, String> {
        self.take(1).map(|byte| byte[0])
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        self.take(N).map(|bytes| bytes.try_into().expect("so many bytes"))
    }

    /// A length in so many bytes.
    fn length(&mut self, digits: usize) -> Result<usize, String> {
        let mut bytes = [0; 8];
        bytes[..digits].copy_from_slice(self.take(digits)?);
        usize::try_from(u64::from_le_bytes(bytes)).map_err(|_| "a length must fit this machine".into())
    }

    fn line(&mut self) -> Result<&'a [u8], String> {
        let end = self.rest.iter().position(|&byte| byte == b'\n').ok_or("a line must end")?;
        let line = self.take(end)?;
        self.take(1)?;
        Ok(line)
    }

    fn long(&mut self, length: usize) -> Result<Value, String> {
        let bytes = self.take(length)?;
        if length > 8 {
            return Err(format!("an integer must fit 64 bits, got {length} bytes"));
        }
        let negative = bytes.last().is_some_and(|last| last & 0x80 != 0);
        let mut all = if negative { [0xff; 8] } else { [0; 8] };
        all[..length].copy_from_slice(bytes);
        Ok(Value::Int(i64::from_le_bytes(all)))
    }

    fn counted(
        &mut self,
        digits: usize,
        node: impl FnOnce(&'a [u8]) -> Result<Node<'a>, String>,
    ) -> Result<Value, String> {
        let length = self.length(digits)?;
        let node = node(self.take(length)?)?;
        Ok(self.put(node))
    }

    fn put(&mut self, node: Node<'a>) -> Value {
        add(&mut self.nodes, node);
        Value::At(self.nodes.len() - 1)
    }

    fn at(&mut self, value: Value) -> Option<&mut Node<'a>> {
        match value {
            Value::At(at) => self.nodes.get_mut(at),
            _ => None,
        }
    }

    fn top(&self) -> Result<Value, String> {
        self.stack.last().copied().ok_or_else(|| UNDERFLOW.into())
    }

    fn pop(&mut self) -> Result<Value, String> {
        self.stack.pop().ok_or_else(|| UNDERFLOW.into())
    }

    /// All values since the last mark.
    fn marked(&mut self) -> Result<Vec<Value>, String> {
        let mark = self.marks.pop().filter(|&mark| mark <= self.stack.len()).ok_or("a mark must come first")?;
        Ok(self.stack.split_off(mark))
    }

    fn extend(&mut self, items: Vec<Value>) -> Result<Option<Value>, String> {
        let list = self.top()?;
        match self.at(list) {
            Some(Node::List(list)) => list.extend(items),
            _ => return Err("items must belong to a list".into()),
        }
        Ok(None)
    }

    fn set(&mut self, items: Vec<(Value, Value)>) -> Result<Option<Value>, String> {
        let dict = self.top()?;
        match self.at(dict) {
            Some(Node::Dict(entries)) => entries.extend(items),
            Some(Node::Object(object)) => object.items.extend(items),
            _ => return Err("entries must belong to a dictionary".into()),
        }
        Ok(None)
    }

    fn keep(&mut self, key: u64) -> Result<Option<Value>, String> {
        let value = self.top()?;
        self.memo.insert(key, value);
        Ok(None)
    }

    fn kept(&self, key: u64) -> Result<Value, String> {
        self.memo.get(&key).copied().ok_or_else(|| format!("the memo has no entry {key}"))
    }
}

impl<'a> Node<'a> {
    fn bytes(bytes: &'a [u8]) -> Result<Self, String> {
        Ok(Self::Bytes(Cow::Borrowed(bytes)))
    }

    fn text(bytes: &'a [u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "a string must be UTF-8 text")?;
        Ok(Self::Text(Cow::Borrowed(text)))
    }
}

/// Adds to a list that keeps little room to spare: one byte of a file can add to several lists.
fn add<T>(list: &mut Vec<T>, item: T) {
    if list.len() == list.capacity() {
        list.reserve_exact(list.len() / 8 + 16);
    }
    list.push(item);
}

fn decimal(line: &[u8]) -> Result<i64, String> {
    let number = std::str::from_utf8(line).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| "an integer of 64 bits must follow".into())
}

fn pairs(items: Vec<Value>) -> Result<Vec<(Value, Value)>, String> {
    if items.len() % 2 == 1 {
        return Err("a key must have a value".into());
    }
    Ok(items.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}

/// The bytes of a string literal of Python 2.
fn unescaped(line: &[u8]) -> Result<Vec<u8>, String> {
    const RULE: &str = "a string must be a literal in quotes";
    let quote = *line.first().filter(|quote| matches!(quote, b'\'' | b'"')).ok_or(RULE)?;
    let text = line[1..].strip_suffix(&[quote]).ok_or(RULE)?;
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter().copied();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next() {
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(mark @ (b'\\' | b'\'' | b'"')) => mark,
            Some(b'x') => {
                let digits =
                    [rest.next(), rest.next()].map(|digit| digit.and_then(|digit| (digit as char).to_digit(16)));
                let [Some(high), Some(low)] = digits else { return Err(RULE.into()) };
                (high * 16 + low) as u8
            }
            _ => return Err(RULE.into()),
        });
    }
    Ok(bytes)
}
