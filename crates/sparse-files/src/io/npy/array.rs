//! The elements of an array, read straight into the memory that they stay in.

use super::header::{Element, Header};
use burn::tensor::{BoolStore, DType, TensorData};
use bytemuck::Pod;
use half::f16;
use sparse_ops::extend::Allowed;

/// What the elements of an array come from.
pub(crate) trait Input {
    /// Reads the next bytes: exactly so many, or an error.
    fn fill(&mut self, target: &mut [u8]) -> Result<(), String>;

    /// How many bytes are there for certain. More than that is not allocated before it is read.
    fn sure(&self) -> u64;
}

/// How much is allocated at first if the length of the input is not known.
const FIRST: usize = 1 << 16;

/// `count` elements, in the byte order of this machine.
fn read<T: Pod + Default>(input: &mut dyn Input, count: usize, swap: bool) -> Result<Vec<T>, String> {
    Allowed::now().check_elements(count)?;
    let mut values = Vec::new();
    if (count as u64).saturating_mul(size_of::<T>() as u64) <= input.sure() {
        // Not on huge pages: the system clears each of them before it copies the file there, which took three times as
        // long in all (400 MB, Linux 6 in a virtual machine of 2 cores).
        values = vec![T::default(); count];
        input.fill(bytemuck::cast_slice_mut(&mut values))?;
    }
    while values.len() < count {
        let start = values.len();
        values.resize(count.min((2 * start).max(FIRST / size_of::<T>())), T::default());
        input.fill(bytemuck::cast_slice_mut(&mut values[start..]))?;
    }
    if swap {
        bytemuck::cast_slice_mut::<T, u8>(&mut values).chunks_exact_mut(size_of::<T>()).for_each(<[u8]>::reverse);
    }
    Ok(values)
}

impl Header {
    /// Whether the bytes of an element are in another order than those of this machine.
    fn swap(&self) -> bool {
        self.big_endian != cfg!(target_endian = "big")
    }

    /// The elements as tensor data of this shape. Integer types that tensors lack become the next wider one.
    pub(crate) fn numbers(&self, input: &mut dyn Input, shape: Vec<usize>) -> Result<TensorData, String> {
        let (count, swap) = (self.count, self.swap());
        Ok(match self.element {
            Element::Bool => {
                let bytes = read::<u8>(input, count, false)?;
                if let Some(at) = bytes.iter().position(|&byte| byte > 1) {
                    return Err(format!("a bool must be 0 or 1, got {} at position {at}", bytes[at]));
                }
                TensorData::from_bytes_vec(bytes, shape, DType::Bool(BoolStore::Native))
            }
            Element::F16 => TensorData::new(read::<f16>(input, count, swap)?, shape),
            Element::F32 => TensorData::new(read::<f32>(input, count, swap)?, shape),
            Element::F64 => TensorData::new(read::<f64>(input, count, swap)?, shape),
            Element::U8 => TensorData::new(read::<u8>(input, count, false)?, shape),
            _ => match self.ints(input)? {
                Ints::Narrow(values) => TensorData::new(values, shape),
                Ints::Wide(values) => TensorData::new(values, shape),
            },
        })
    }

    /// The elements as indices.
    pub(crate) fn ints(&self, input: &mut dyn Input) -> Result<Ints, String> {
        let (count, swap) = (self.count, self.swap());
        fn wider<T: Into<i32>>(values: Vec<T>) -> Ints {
            Ints::Narrow(values.into_iter().map(T::into).collect())
        }
        Ok(match self.element {
            Element::I8 => wider(read::<i8>(input, count, false)?),
            Element::I16 => wider(read::<i16>(input, count, swap)?),
            Element::U8 => wider(read::<u8>(input, count, false)?),
            Element::U16 => wider(read::<u16>(input, count, swap)?),
            Element::I32 => Ints::Narrow(read(input, count, swap)?),
            Element::I64 => Ints::Wide(read(input, count, swap)?),
            Element::U32 => Ints::Wide(read::<u32>(input, count, swap)?.into_iter().map(i64::from).collect()),
            Element::U64 => {
                let values = read::<u64>(input, count, swap)?.into_iter();
                let number =
                    |value| i64::try_from(value).map_err(|_| format!("an integer must fit 63 bits, got {value}"));
                Ints::Wide(values.map(number).collect::<Result<_, String>>()?)
            }
            other => return Err(format!("an array of integers is due, got {other:?}")),
        })
    }

    /// The one string of an array.
    #[cfg(feature = "npz")]
    pub(crate) fn text(&self, input: &mut dyn Input) -> Result<String, String> {
        let wide = match self.element {
            Element::Bytes(_) => false,
            Element::Text(_) => true,
            other => return Err(format!("a string is due, got {other:?}")),
        };
        if self.count != 1 {
            return Err(format!("one string is due, got {}", self.count));
        }
        let text: Option<String> = if wide {
            read::<u32>(input, self.element.size() / 4, self.swap())?.into_iter().map(char::from_u32).collect()
        } else {
            String::from_utf8(read::<u8>(input, self.element.size(), false)?).ok()
        };
        let text = text.ok_or_else(|| "a string must be text, got other bytes".to_string())?;
        Ok(text.trim_end_matches('\0').to_string())
    }
}

/// Integers of an array.
#[derive(Clone, Debug)]
pub(crate) enum Ints {
    Narrow(Vec<i32>),
    Wide(Vec<i64>),
}
