//! What must be the same on all ranks, as text and as a number.

use burn::module::{Module, ModuleVisitor, Param, ParamId};
use burn::tensor::{Bool, DType, Int, Shape, Tensor};
use sparse_ops::dtype_name;
use sparse_ops::extend::{is_sparse_param, read_data};
use std::collections::HashMap;

/// A line for each thing that must agree.
#[derive(Default)]
pub(super) struct Description(Vec<String>);

impl From<Vec<String>> for Description {
    fn from(lines: Vec<String>) -> Self {
        Self(lines)
    }
}

impl Description {
    pub(super) fn push(&mut self, line: String) {
        self.0.push(line);
    }

    /// The parameters of a module: names, shapes, dtypes, and digests of the patterns of sparse parameters.
    pub(super) fn of<M: Module>(module: &M) -> Self {
        let mut visitor = Names::default();
        module.visit(&mut visitor);
        visitor.lines
    }

    pub(super) fn text(&self) -> String {
        self.0.join("\n")
    }

    pub(super) fn digest(&self) -> u64 {
        digest(self.text().as_bytes())
    }
}

/// FNV-1a over words of 8 bytes, with the high bits mixed in. Not against an adversary.
fn digest(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ bytes.len() as u64;
    let mut add = |word: u64| {
        hash = (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        hash ^= hash >> 29;
    };
    let (words, rest) = bytes.as_chunks::<8>();
    words.iter().for_each(|word| add(u64::from_le_bytes(*word)));
    rest.iter().for_each(|byte| add(u64::from(*byte)));
    hash
}

/// The path of the parameter that is visited, and the lines so far.
#[derive(Default)]
struct Names {
    path: Vec<String>,
    /// The float parameters so far. One that stands in two places is one parameter.
    seen: HashMap<ParamId, usize>,
    /// How deep inside of sparse parameters.
    sparse: usize,
    lines: Description,
}

impl Names {
    fn line(&mut self, shape: Shape, dtype: DType, digest: Option<u64>) {
        let name = self.path.join(".");
        let pattern = digest.map_or(String::new(), |digest| format!(", digest {digest:016x}"));
        self.lines.push(format!("{name} {:?} {}{pattern}", shape.as_slice(), dtype_name(dtype)));
    }
}

impl ModuleVisitor for Names {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.path.push(name.into());
        self.sparse += usize::from(is_sparse_param(container));
    }

    fn exit_module(&mut self, _name: &str, container: &str) {
        self.path.pop();
        self.sparse -= usize::from(is_sparse_param(container));
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let next = self.seen.len();
        let first = *self.seen.entry(param.id).or_insert(next);
        if first < next {
            let name = self.path.join(".");
            return self.lines.push(format!("{name} is parameter {first}"));
        }
        self.line(param.lazy_shape(), param.dtype(), None);
    }

    fn visit_int<const D: usize>(&mut self, param: &Param<Tensor<D, Int>>) {
        let tensor = param.val();
        let (shape, dtype) = (tensor.shape(), tensor.dtype());
        // Other integers of a module, such as counters, may differ.
        let digest = (self.sparse > 0).then(|| digest(read_data(tensor).as_bytes()));
        self.line(shape, dtype, digest);
    }

    fn visit_bool<const D: usize>(&mut self, param: &Param<Tensor<D, Bool>>) {
        self.line(param.lazy_shape(), param.val().dtype(), None);
    }
}
