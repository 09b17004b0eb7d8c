//! NdArray (deprecated by Burn). The default bodies are enough.

use crate::backend::SparseBackend;
use crate::host_tensor::HostAccess;
use burn::backend::NdArray;

impl SparseBackend for NdArray {}
impl HostAccess for NdArray {}
