//! Pictures as SVG, text and PNG.
#![allow(deprecated)] // NdArray is, and is tested all the same.

mod plot;
