//! What client and server write to each other beside the arguments.

use crate::codec::{Encoder, Meta};
use crate::kernel::DECLARATIONS;
use burn::tensor::{BoolStore, DType, TensorData};
use burn_ir::ScalarIr;

/// The name of a kernel's custom operation.
pub(crate) fn operation(kernel: &str) -> String {
    format!("sparse-tensor/{kernel}")
}

/// The operation that tells about the server. It has no arguments.
pub(crate) const ABOUT: &str = "sparse-tensor/about";

/// The most tensors in a result that is not inferred.
pub(crate) const MOST: usize = 6;

/// Numbers in a report, and in what the server tells about itself: enough for [`MOST`] matrices.
const LENGTH: usize = 40;

/// Entries of the tensor that has these numbers: two for each.
pub(crate) const ENTRIES: usize = 2 * LENGTH;

/// The element types of kernels' results. A dtype is sent as its place.
const DTYPES: [DType; 10] = [
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::F64,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::Bool(BoolStore::Native),
    DType::Bool(BoolStore::U8),
    DType::Bool(BoolStore::U32),
];

/// Numbers as elements of a dtype that every device has.
fn entries(mut numbers: Vec<u64>) -> TensorData {
    assert!(numbers.len() <= LENGTH, "remote: a report must have at most {LENGTH} numbers, got {}", numbers.len());
    numbers.resize(LENGTH, 0);
    let halves: Vec<i32> = numbers.iter().flat_map(|&number| [number as i32, (number >> 32) as i32]).collect();
    TensorData::new(halves, [ENTRIES])
}

fn numbers(data: &TensorData) -> Vec<u64> {
    let halves: Vec<i32> = data.iter::<i32>().collect();
    halves.chunks_exact(2).map(|half| u64::from(half[0] as u32) | u64::from(half[1] as u32) << 32).collect()
}

/// What the server tells of a result that the client did not infer.
#[derive(Debug, PartialEq)]
pub(crate) struct Report {
    /// What is known of its tensors.
    pub(crate) metas: Vec<Meta>,
    /// All but the tensors.
    pub(crate) numbers: Vec<ScalarIr>,
}

impl Report {
    /// The report on a result that is encoded, or on an error.
    pub(crate) fn write(metas: &[Meta], encoder: Encoder) -> TensorData {
        if encoder.failed {
            return entries(vec![1]);
        }
        let mut list = vec![0, metas.len() as u64];
        for Meta { dims, dtype } in metas {
            let place = DTYPES.iter().position(|known| known == dtype).expect("a dtype that kernels give");
            list.extend([place as u64, dims.len() as u64]);
            list.extend(dims.iter().map(|&size| size as u64));
        }
        list.push(encoder.numbers.len() as u64);
        list.extend(encoder.numbers.iter().map(|number| match number {
            ScalarIr::UInt(number) => *number,
            other => unreachable!("an encoder has numbers without a sign, got {other:?}"),
        }));
        entries(list)
    }

    /// The report, or `None` for an error.
    pub(crate) fn read(data: &TensorData) -> Option<Self> {
        let mut list = numbers(data).into_iter();
        let mut next = || list.next().expect("a report has the numbers that it announces") as usize;
        if next() != 0 {
            return None;
        }
        let metas = (0..next())
            .map(|_| {
                let dtype = DTYPES[next()];
                Meta { dtype, dims: (0..next()).map(|_| next()).collect() }
            })
            .collect();
        let count = next();
        Some(Self { metas, numbers: list.take(count).map(ScalarIr::UInt).collect() })
    }
}

/// What a server tells about itself, and what a client knows of its own kernels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct About {
    /// Whether the server's devices are GPUs.
    pub(crate) gpu: bool,
    /// The release.
    version: [u64; 3],
    /// A digest of the kernels' declarations.
    kernels: u64,
}

impl About {
    /// This program, with devices of this kind.
    pub(crate) fn own(gpu: bool) -> Self {
        let mut parts = env!("CARGO_PKG_VERSION").split(['.', '-', '+']).map(|part| part.parse().unwrap_or(0));
        Self { gpu, version: std::array::from_fn(|_| parts.next().unwrap_or(0)), kernels: digest(DECLARATIONS) }
    }

    pub(crate) fn write(self) -> TensorData {
        let [major, minor, patch] = self.version;
        entries(vec![u64::from(self.gpu), major, minor, patch, self.kernels])
    }

    pub(crate) fn read(data: &TensorData) -> Self {
        let list = numbers(data);
        Self { gpu: list[0] != 0, version: [list[1], list[2], list[3]], kernels: list[4] }
    }

    /// Fails if the server has other kernels than this program.
    pub(crate) fn check(&self) -> Result<(), String> {
        let own = Self::own(self.gpu);
        if *self == own {
            return Ok(());
        }
        let text = |about: &Self| {
            let [major, minor, patch] = about.version;
            format!("{major}.{minor}.{patch} (kernels {:08x})", about.kernels as u32)
        };
        let (own, other) = (text(&own), text(self));
        Err(format!("client and server must be built with the same sparse-tensor, got {own} and {other}"))
    }
}

/// FNV-1a over all but white space, which compilers print differently.
fn digest(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0]));
    bytes
        .filter(|byte| !byte.is_ascii_whitespace())
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let metas: Vec<Meta> = DTYPES
            .iter()
            .take(MOST)
            .enumerate()
            .map(|(at, &dtype)| Meta { dims: vec![at << 33, 7][..1 + at % 2].to_vec(), dtype })
            .collect();
        let encoder = || Encoder { numbers: [0, 1, u64::MAX].map(ScalarIr::UInt).to_vec(), failed: false };
        let report = Report::read(&Report::write(&metas, encoder())).unwrap();
        assert_eq!(report, Report { metas, numbers: encoder().numbers });
        assert_eq!(Report::read(&Report::write(&[], Encoder { failed: true, ..encoder() })), None);
    }

    #[test]
    fn servers_with_other_kernels_are_errors() {
        for gpu in [false, true] {
            let own = About::read(&About::own(gpu).write());
            assert_eq!((own.gpu, own.check()), (gpu, Ok(())));
        }
        let own = About::own(false);
        let other = About { version: [0, 0, 9], ..own }.check().unwrap_err();
        assert!(other.contains("same sparse-tensor, got 0.1.0 (") && other.contains(" and 0.0.9 ("), "{other}");
        assert!(About { kernels: own.kernels ^ 1, ..own }.check().is_err());
        // A server without the operation's report: zeros.
        assert!(About::read(&entries(vec![])).check().is_err());
        assert_ne!(digest(&["a", "b"]), digest(&["ab"]));
        assert_eq!(digest(&["a < b >"]), digest(&["a<b>"]));
    }
}
