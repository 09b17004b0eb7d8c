//! Sorts, scans and segments on the device against plain loops, and coalescing against Flex: exactly, on lengths around
//! those of tiles, with every tile and grid forced. Launches are counted.

use crate::common::{Data, TURN, gpu};
use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use sparse_burn::forced::{Forced, forced, launches};
use sparse_burn::kernel;
use sparse_tensor::{device_reads, host_fallbacks};
use std::io::Write;

fn ints<const D: usize>(list: &[i64], shape: [usize; D], device: &Device, dtype: DType) -> Tensor<D, Int> {
    Tensor::from_data(TensorData::new(list.to_vec(), shape), (&device.clone().inner(), dtype))
}

fn list<const D: usize>(tensor: Tensor<D, Int>) -> Vec<i64> {
    tensor.into_data().iter::<i64>().collect()
}

/// The index dtypes that the device has.
fn dtypes() -> Vec<DType> {
    let (all, device) = ([DType::I32, DType::I64], gpu());
    let has: Vec<DType> = all.into_iter().filter(|&dtype| device.supports_dtype(dtype)).collect();
    if has.len() < all.len() {
        // Not captured, unlike what a passing test prints.
        let _ = writeln!(std::io::stderr(), "skipped: the device has no i64");
    }
    has
}

/// Pointers of groups from their sizes.
fn pointers(sizes: &[i64]) -> Vec<i64> {
    let mut ptr = vec![0];
    sizes.iter().for_each(|size| ptr.push(ptr.last().unwrap() + size));
    ptr
}

/// Groups keys on the device with settings forced. The order must be that of a stable sort, and the pointers exact.
/// Returns what was launched, and how many times.
fn check_groups(keys: &[i64], groups: usize, dtype: DType, force: Forced) -> (Vec<&'static str>, usize) {
    let mut order: Vec<i64> = (0..keys.len() as i64).collect();
    order.sort_by_key(|&k| keys[k as usize]);
    let mut sizes = vec![0; groups];
    keys.iter().for_each(|&key| sizes[key as usize] += 1);
    let keys = ints(keys, [keys.len()], &gpu(), dtype);
    let ((got, count), launched) = forced(force, || (kernel::group_by(&keys, groups), launches()));
    let what = format!("{} keys below {groups}, {dtype:?}, {force:?}", order.len());
    assert!(list(got.0) == order, "{what}: another order");
    assert!(list(got.1) == pointers(&sizes), "{what}: other pointers");
    (launched.into_iter().collect(), count)
}

fn items(items: usize) -> Forced {
    Forced { items: Some(items), ..Forced::default() }
}

const LENGTHS: [usize; 13] = [0, 1, 2, 255, 256, 257, 3071, 3072, 3073, 4095, 4096, 4097, 100_000];

#[test]
fn extremes_of_every_length() {
    let _turn = TURN.lock();
    for dtype in dtypes() {
        for length in LENGTHS.into_iter().filter(|&length| length > 0) {
            let numbers: Vec<i64> = (0..length as i64).map(|k| (k * 7919 + 13) % 100_003 - 50_000).collect();
            let want = [*numbers.iter().min().unwrap(), *numbers.iter().max().unwrap()];
            let tensor = ints(&numbers, [length], &gpu(), dtype);
            let ((got, count), _) = forced(Forced::default(), || (kernel::extremes(&tensor), launches()));
            assert_eq!(list(got), want, "{length} numbers, {dtype:?}");
            // Each launch leaves a 64th.
            let most = [64, 4096, usize::MAX].iter().position(|&most| length <= most).unwrap() + 1;
            assert_eq!(count, most, "launches for {length} numbers");
        }
    }
}

#[test]
fn keys_of_every_length() {
    let _turn = TURN.lock();
    let (mut data, hosted) = (Data::new(60), host_fallbacks());
    for dtype in dtypes() {
        for length in LENGTHS {
            for bound in [1, 70_000] {
                let keys: Vec<i64> = data.ints(length, bound).into_iter().map(i64::from).collect();
                check_groups(&keys, bound as usize, dtype, Forced::default());
            }
        }
    }
    assert_eq!(host_fallbacks(), hosted, "all on the device");
}

/// Keys that are equal, sorted, reversed, of few values, and of all values of two digits.
#[test]
fn keys_of_every_order() {
    let _turn = TURN.lock();
    let length = 20_000i64;
    let orders: [&dyn Fn(i64) -> i64; 6] = [
        &|_| 65_535,
        &|k| k * 3,
        &|k| (length - 1 - k) * 3,
        &|k| 256 * (k % 3) + 255 * (k % 2),
        &|k| k * 40_503 % 65_536,
        // Runs that end inside tiles.
        &|k| k / 700 % 7 * 9_000,
    ];
    for dtype in dtypes() {
        for (name, order) in orders.iter().enumerate() {
            let keys: Vec<i64> = (0..length).map(order).collect();
            let (launched, count) = check_groups(&keys, 1 << 16, dtype, Forced::default());
            assert_eq!(count, 2 * 3 + 1, "order {name}: three launches in each of two passes, and the pointers");
            assert!(launched.contains(&"count_digits"), "order {name}");
        }
    }
}

/// Tiles of every size, a pass of one launch, and more cubes than one axis of a grid allows.
#[test]
fn tiles_of_every_size() {
    let _turn = TURN.lock();
    let mut data = Data::new(61);
    for dtype in dtypes() {
        for each in [1, 3, 8] {
            let tile = 256 * each;
            for length in [tile - 1, tile, tile + 1, 5 * tile + 100] {
                let keys: Vec<i64> = data.ints(length, 1000).into_iter().map(i64::from).collect();
                let (launched, count) = check_groups(&keys, 1000, dtype, items(each));
                let single = length <= tile;
                assert_eq!((launched.contains(&"count_digits"), count), (!single, if single { 3 } else { 7 }));
            }
        }
        let keys: Vec<i64> = data.ints(30_000, 300).into_iter().map(i64::from).collect();
        let force = Forced { cubes: Some(2), items: Some(1), ..Forced::default() };
        for wide in [false, true] {
            let (launched, _) = check_groups(&keys, 300, dtype, Forced { wide, ..force });
            assert!(launched.contains(&"move_digits on two axes"));
        }
    }
}

/// Scans of one part, of parts of one tile, and of parts of several.
#[test]
fn sums_of_every_length() {
    let _turn = TURN.lock();
    let mut data = Data::new(62);
    let all = LENGTHS.map(|length| (length, Forced::default()));
    // With tiles of 256 a part of 300,000 elements has two.
    let forced_lengths = [256, 257, 5000, 300_000].map(|length| (length, items(1)));
    let axes = Forced { cubes: Some(3), ..items(2) };
    for dtype in dtypes() {
        for (length, force) in all.into_iter().chain(forced_lengths).chain([(40_000, axes)]) {
            // 64-bit sums exceed 2^32.
            let scale = if dtype == DType::I64 { 1 << 31 } else { 1 };
            let counts: Vec<i64> = data.ints(length, 9).into_iter().map(|x| i64::from(x) * scale).collect();
            let tensor = ints(&counts, [length], &gpu(), dtype);
            let ((got, count), launched) = forced(force, || (kernel::scan(&tensor), launches()));
            assert!(list(got) == pointers(&counts), "{length}, {dtype:?}, {force:?}: {launched:?}");
            let tile = 256 * force.items.unwrap_or(16);
            if force.items.is_some() {
                assert_eq!(count, if length < tile { 1 } else { 2 }, "{length}: {launched:?}");
            }
            assert!(count <= 2);
        }
    }
}

/// Pointers from ids and ids from pointers, with long runs of empty groups, long groups, and more groups than elements.
#[test]
fn segments_of_every_length() {
    let _turn = TURN.lock();
    let mut data = Data::new(63);
    let mut drawn = |groups: usize, most: i32, one_of: usize| -> Vec<i64> {
        let sizes = data.ints(groups, most + 1);
        sizes.into_iter().enumerate().map(|(g, size)| if g % one_of == 0 { i64::from(size) } else { 0 }).collect()
    };
    let mut all = vec![
        vec![1],
        vec![5],
        vec![9000],
        drawn(3000, 3, 1),
        drawn(5000, 9000, 700),
        drawn(20_000, 2, 31),
        drawn(20_000, 40, 33),
        drawn(9000, 1, 200),
    ];
    // Empty groups before, between and after.
    let at = |groups: usize, full: &[(usize, i64)]| {
        let mut sizes = vec![0; groups];
        full.iter().for_each(|&(group, size)| sizes[group] = size);
        sizes
    };
    all.extend([at(10_000, &[(9999, 3)]), at(10_000, &[(0, 3)]), at(10_000, &[(5000, 9000), (5001, 1)])]);
    all.extend([at(66, &[(33, 1)]), at(97, &[(31, 1), (32, 1), (64, 300), (96, 1)])]);
    let axes = Forced { cubes: Some(2), ..items(2) };
    for dtype in dtypes() {
        for sizes in &all {
            for force in [Forced::default(), items(1), axes, Forced { wide: true, ..Forced::default() }] {
                let (ptr, groups) = (pointers(sizes), sizes.len());
                let ids: Vec<i64> = (0..).zip(sizes).flat_map(|(g, &size)| vec![g; size as usize]).collect();
                let what = format!("{} elements in {groups} groups, {dtype:?}, {force:?}", ids.len());
                let device = gpu();
                let (of_ptr, of_ids) =
                    (ints(&ptr, [groups + 1], &device, dtype), ints(&ids, [ids.len()], &device, dtype));
                let run = || (kernel::expand_ptr(&of_ptr, ids.len()), kernel::compress(&of_ids, groups), launches());
                let ((expanded, compressed, count), _) = forced(force, run);
                assert!(list(expanded) == ids, "{what}: other ids");
                assert!(list(compressed) == ptr, "{what}: other pointers");
                assert!(count <= 2, "{what}: {count} launches");
            }
        }
    }
}

/// Coordinates of elements drawn from few cells, some of them at the ends of every dim.
fn coordinates(data: &mut Data, shape: &[usize], nnz: usize) -> Vec<i64> {
    let cells = (nnz / 3).max(1);
    let pool: Vec<Vec<i64>> = (0..cells)
        .map(|cell| {
            let draw = |&size: &usize| match cell {
                0 => 0,
                1 => size as i64 - 1,
                _ => (data.ints(1, i32::MAX)[0] as i64 * 0x1_0000_0001 + cell as i64) % size as i64,
            };
            shape.iter().map(draw).collect()
        })
        .collect();
    let drawn = data.ints(nnz, cells as i32);
    (0..shape.len()).flat_map(|d| drawn.iter().map(|&cell| pool[cell as usize][d]).collect::<Vec<_>>()).collect()
}

/// Coalesces on the device, as on Flex, with one read. Returns the number of launches.
fn check_coalesce(shape: &[usize], at: &[i64], dtype: DType, force: Forced) -> usize {
    let nnz = at.len() / shape.len();
    let on = |device: &Device| {
        let indices = ints(at, [shape.len(), nnz], device, dtype);
        let (reads, hosted) = (device_reads(), host_fallbacks());
        let (indices, order, ptr) = kernel::coalesce(&indices, shape);
        let count = launches();
        (vec![list(indices), list(order), list(ptr)], count, device_reads() - reads, host_fallbacks() == hosted)
    };
    let want = on(&Device::flex()).0;
    let (got, count, reads, native) = forced(force, || on(&gpu())).0;
    assert!(got == want, "{nnz} elements of {shape:?}, {dtype:?}, {force:?}");
    assert!(native && (nnz == 0 || reads == 1), "{nnz} elements of {shape:?}: {reads} reads");
    count
}

#[test]
fn coordinates_of_every_shape() {
    let _turn = TURN.lock();
    let mut data = Data::new(64);
    let max = i32::MAX as usize;
    let shapes: [&[usize]; 13] = [
        &[1],
        &[7],
        &[max],
        &[300, 200],
        &[1, 90, 1],
        &[1 << 16, 1 << 16],
        &[(1 << 16) + 1, 1 << 16],
        &[1 << 20, 1 << 20],
        &[max, max],
        &[40, 50, 60],
        &[70_000, 3, 100_000],
        &[9, max, max],
        &[max, 5, max, 70_000],
    ];
    for dtype in dtypes() {
        for shape in shapes {
            for nnz in [1, 300, 9000] {
                let at = coordinates(&mut data, shape, nnz);
                check_coalesce(shape, &at, dtype, Forced::default());
            }
            let at = coordinates(&mut data, shape, 3000);
            let axes = Forced { cubes: Some(2), ..items(1) };
            check_coalesce(shape, &at, dtype, axes);
            check_coalesce(shape, &at, dtype, Forced { wide: true, ..Forced::default() });
        }
        if dtype == DType::I64 {
            for shape in
                [&[1 << 40][..], &[5, 1 << 40, 3], &[1 << 32], &[1, 1 << 32, 1], &[1 << 32, 1 << 31], &[1 << 62, 7]]
            {
                let at = coordinates(&mut data, shape, 9000);
                check_coalesce(shape, &at, dtype, Forced::default());
            }
        }
    }
}

/// The keys of this size have 32 bits, or as many as the shape needs: three launches for each eight bits, one for the
/// keys, two to number the groups, and one to write them. The number does not depend on the length.
#[test]
fn launches_of_a_coalesce() {
    let _turn = TURN.lock();
    let mut data = Data::new(65);
    let mut of = |shape: &[usize], nnz: usize| {
        let at = coordinates(&mut data, shape, nnz);
        check_coalesce(shape, &at, DType::I32, Forced::default())
    };
    for nnz in [5000, 50_000] {
        assert_eq!(of(&[1 << 16, 1 << 16], nnz), 16);
        assert_eq!(of(&[1000, 1000], nnz), 13);
        assert_eq!(of(&[256], nnz), 7);
        // Another word has its own key, and flags are written before they are scanned.
        assert_eq!(of(&[1 << 20, 1 << 20], nnz), 2 + 3 * 5 + 4);
    }
    assert_eq!(of(&[1 << 16, 1 << 16], 2000), 1 + 4 + 3);
}
