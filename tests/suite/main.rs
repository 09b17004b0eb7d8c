//! The facade: its public list, the book, mistakes of beginners and Burn's defaults, and training.
#![allow(deprecated)] // NdArray is, and is tested all the same.

mod api;
mod book;
mod defaults;
mod mistakes;
mod training;
