//! NdArray (deprecated upstream): the default bodies are enough.

use crate::{HostAccess, SparseBackend};
use burn::backend::NdArray;

impl SparseBackend for NdArray {}
impl HostAccess for NdArray {}
