//! The header of an array: its element type, order and shape.

use burn::tensor::{BoolStore, DType};
use std::io::Read;

/// The bytes that every file starts with.
pub(crate) const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// NumPy itself refuses longer headers unless it is told to trust the file.
const LONGEST: u64 = 1 << 16;

/// What an element is, apart from the order of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
    /// Characters of one byte.
    Bytes(usize),
    /// Characters of four bytes.
    Text(usize),
}

impl Element {
    /// Bytes of an element.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
            Self::Bytes(length) => length,
            Self::Text(length) => 4 * length,
        }
    }
}

/// What stands before the elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) element: Element,
    pub(crate) big_endian: bool,
    pub(crate) fortran: bool,
    pub(crate) shape: Vec<usize>,
    /// Number of elements.
    pub(crate) count: usize,
    /// Length of the header itself.
    pub(crate) length: u64,
}

impl Header {
    /// Reads a header, and nothing after it.
    pub(crate) fn read(source: &mut impl Read) -> Result<Self, String> {
        let mut start = [0; 8];
        source.read_exact(&mut start).map_err(|trouble| format!("an array must start with a header, {trouble}"))?;
        if !start.starts_with(MAGIC) {
            return Err(format!("an array must start with {:?}, got {:?}", MAGIC.escape_ascii().to_string(), &start));
        }
        let digits = match start[6] {
            1 => 2,
            2 | 3 => 4,
            version => return Err(format!("the version of an array must be 1, 2 or 3, got {version}")),
        };
        let mut length = [0; 4];
        source.read_exact(&mut length[..digits]).map_err(|trouble| format!("the header is cut off, {trouble}"))?;
        let length = u64::from(u32::from_le_bytes(length));
        if length > LONGEST {
            return Err(format!("a header must have at most {LONGEST} bytes, got {length}"));
        }
        let mut text = Vec::new();
        let got = source.by_ref().take(length).read_to_end(&mut text).map_err(|trouble| trouble.to_string())?;
        if (got as u64) < length {
            return Err(format!("the header must have {length} bytes, got {got} before the end"));
        }
        let text = std::str::from_utf8(&text).map_err(|_| "the header must be text, got other bytes".to_string())?;
        let mut header = parse(text).map_err(|trouble| {
            format!("the header must be {{'descr': .., 'fortran_order': .., 'shape': ..}}, {trouble}")
        })?;
        header.length = 8 + digits as u64 + length;
        Ok(header)
    }

    /// The dtype of a tensor that holds the elements as their bytes are, if there is one.
    pub(crate) fn dtype(&self) -> Option<DType> {
        let own = !self.big_endian || self.element.size() == 1;
        let dtype = match self.element {
            Element::Bool => DType::Bool(BoolStore::Native),
            Element::I32 => DType::I32,
            Element::I64 => DType::I64,
            Element::U8 => DType::U8,
            Element::F16 => DType::F16,
            Element::F32 => DType::F32,
            Element::F64 => DType::F64,
            _ => return None,
        };
        (own && cfg!(target_endian = "little")).then_some(dtype)
    }

    /// Bytes of all elements.
    #[cfg(feature = "npz")]
    pub(crate) fn bytes(&self) -> u64 {
        self.count as u64 * self.element.size() as u64
    }
}

/// A dictionary of Python with the three entries of a header.
fn parse(text: &str) -> Result<Header, String> {
    let mut rest = Literal(text.trim());
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    rest.expect('{')?;
    while !rest.skip('}') {
        let key = rest.string()?;
        rest.expect(':')?;
        match key {
            "descr" => descr = Some(rest.string().map_err(|got| format!("a dtype must be a plain one, {got}"))?),
            "fortran_order" => fortran = Some(rest.truth()?),
            "shape" => shape = Some(rest.tuple()?),
            other => return Err(format!("got the entry {:?}", shown(other))),
        }
        if !rest.skip(',') {
            rest.expect('}')?;
            break;
        }
    }
    if !rest.0.is_empty() {
        return Err(format!("got {:?} after it", shown(rest.0)));
    }
    let (Some(descr), Some(fortran), Some(shape)) = (descr, fortran, shape) else {
        return Err(format!("got {:?}", shown(text)));
    };
    let (element, big_endian) = dtype(descr)?;
    // Empty dims count as one here: strides must fit, too.
    let padded = shape.iter().try_fold(element.size().max(1), |all, &size| all.checked_mul(size.max(1)));
    if padded.is_none_or(|bytes| bytes > i64::MAX as usize) {
        return Err(format!("the bytes of an array must fit 63 bits, got the shape {shape:?}"));
    }
    let count = shape.iter().product();
    Ok(Header { element, big_endian, fortran, shape, count, length: 0 })
}

/// A dtype by its name in a header.
pub(crate) fn dtype(descr: &str) -> Result<(Element, bool), String> {
    let wrong = || format!("a dtype must be bool, a number of at most 64 bits or a string, got {:?}", shown(descr));
    let (order, rest) = match descr.as_bytes() {
        [order @ (b'<' | b'>' | b'|' | b'='), ..] => (*order, &descr[1..]),
        _ => (b'=', descr),
    };
    let big_endian = match order {
        b'>' => true,
        b'=' => cfg!(target_endian = "big"),
        _ => false,
    };
    let element = match rest {
        "b1" | "?" => Element::Bool,
        "i1" => Element::I8,
        "i2" => Element::I16,
        "i4" => Element::I32,
        "i8" => Element::I64,
        "u1" => Element::U8,
        "u2" => Element::U16,
        "u4" => Element::U32,
        "u8" => Element::U64,
        "f2" => Element::F16,
        "f4" => Element::F32,
        "f8" => Element::F64,
        _ => {
            // Longer than any name of a format; the limit keeps the sizes far from overflow.
            let length = |digits: &str| digits.parse().ok().filter(|&length: &usize| length <= 1 << 20);
            match rest.chars().next() {
                Some('S') => Element::Bytes(length(&rest[1..]).ok_or_else(wrong)?),
                Some('U') => Element::Text(length(&rest[1..]).ok_or_else(wrong)?),
                _ => return Err(wrong()),
            }
        }
    };
    Ok((element, big_endian))
}

/// The rest of a literal of Python.
struct Literal<'a>(&'a str);

impl<'a> Literal<'a> {
    fn trim(&mut self) {
        self.0 = self.0.trim_ascii_start();
    }

    fn skip(&mut self, mark: char) -> bool {
        self.trim();
        let rest = self.0.strip_prefix(mark);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn expect(&mut self, mark: char) -> Result<(), String> {
        if self.skip(mark) { Ok(()) } else { Err(self.trouble(&format!("{mark:?}"))) }
    }

    fn trouble(&self, what: &str) -> String {
        format!("got {:?} where {what} is due", shown(self.0))
    }

    fn string(&mut self) -> Result<&'a str, String> {
        self.trim();
        let quote = self.0.chars().next().filter(|mark| matches!(mark, '\'' | '"'));
        let closed = quote.and_then(|quote| self.0[1..].split_once(quote));
        let (text, rest) = closed.ok_or_else(|| self.trouble("a string"))?;
        self.0 = rest;
        Ok(text)
    }

    fn truth(&mut self) -> Result<bool, String> {
        self.trim();
        for (name, truth) in [("True", true), ("False", false)] {
            if let Some(rest) = self.0.strip_prefix(name) {
                self.0 = rest;
                return Ok(truth);
            }
        }
        Err(self.trouble("True or False"))
    }

    fn tuple(&mut self) -> Result<Vec<usize>, String> {
        self.expect('(')?;
        let mut sizes = Vec::new();
        while !self.skip(')') {
            self.trim();
            let end = self.0.find(|mark: char| !mark.is_ascii_digit()).unwrap_or(self.0.len());
            let size = self.0[..end].parse().map_err(|_| self.trouble("a size"))?;
            // Python 2 wrote a long integer with a letter.
            let rest = &self.0[end..];
            self.0 = rest.strip_prefix('L').unwrap_or(rest);
            sizes.push(size);
            if !self.skip(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(sizes)
    }
}

fn shown(text: &str) -> &str {
    text.char_indices().nth(60).map_or(text, |(end, _)| &text[..end])
}
