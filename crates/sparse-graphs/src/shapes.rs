//! Shapes in space: meshes of ModelNet, and points of ShapeNet whose parts are known.

use super::labels::Labels;
use super::sources::{Sources, check_dtype, listed};
use burn::tensor::{Device, Int, Tensor, TensorCreationOptions, TensorData};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use sparse_files::io::Progress;
use sparse_files::io::source::silent;
use sparse_ops::extend::Allowed;
use sparse_ops::{Result, SparseError};
use std::path::{Path, PathBuf};

/// A surface of triangles, on the host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// The corners.
    pub points: Vec<[f32; 3]>,
    /// The corners of each triangle: numbers of points, which are there.
    pub triangles: Vec<[u32; 3]>,
}

/// The meshes of ModelNet. [`read_model_net`] reads them.
#[derive(Clone, Debug)]
pub struct ModelNet {
    /// By class, and in the order of file names.
    pub meshes: Vec<Mesh>,
    /// The class of each.
    pub labels: Labels,
    /// The names of the classes, in order.
    pub classes: Vec<String>,
}

/// Points of one shape of ShapeNet. [`read_shape_net`] reads them.
#[derive(Clone, Debug)]
pub struct PartPoints {
    /// `[points, 3]`.
    pub points: Tensor<2>,
    /// `[points, 3]`: the normal of the surface at each point.
    pub normals: Tensor<2>,
    /// `[points]`: the part of each point, a number from 0 over all categories.
    pub parts: Tensor<1, Int>,
    /// The place of its category among those that were asked for.
    pub category: usize,
}

impl Mesh {
    /// `count` random points `[count, 3]` on the surface, with the same density everywhere. The same seed gives the
    /// same points on every machine. Cost: `O(triangles + count log(triangles))`. (PyG's `SamplePoints`.)
    ///
    /// # Errors
    ///
    /// `invalid` if no triangle has an area that is above 0 and finite, and for a triangle that names a point that is
    /// not there.
    pub fn sample(&self, count: usize, seed: u64, options: impl Into<TensorCreationOptions>) -> Result<Tensor<2>> {
        const OP: &str = "Mesh::sample";
        let mut total = 0.0;
        let mut sums = Vec::with_capacity(self.triangles.len());
        for corners in &self.triangles {
            let Some([_, u, v]) = self.sides(corners) else {
                let message = format!("a corner must be in [0, {}), got {corners:?}", self.points.len());
                return Err(SparseError::invalid(OP, message));
            };
            let cross = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
            total += cross.iter().map(|side| side * side).sum::<f64>().sqrt();
            sums.push(total);
        }
        if !(total > 0.0 && total.is_finite()) {
            let message = format!("a mesh must have an area above 0, got {} for {} triangles", total / 2.0, sums.len());
            return Err(SparseError::invalid(OP, message));
        }
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut values = Vec::with_capacity(3 * count);
        for _ in 0..count {
            let drawn = rng.random::<f64>() * total;
            let at = sums.partition_point(|&sum| sum <= drawn).min(sums.len() - 1);
            let (mut a, mut b) = (rng.random::<f64>(), rng.random::<f64>());
            // The other half of the parallelogram is turned over.
            if a + b > 1.0 {
                (a, b) = (1.0 - a, 1.0 - b);
            }
            let [corner, u, v] = self.sides(&self.triangles[at]).expect("checked above");
            values.extend((0..3).map(|axis| (corner[axis] + a * u[axis] + b * v[axis]) as f32));
        }
        Ok(Tensor::from_data(TensorData::new(values, [count, 3]), options.into()))
    }

    /// The first corner, and the sides from it to the two others.
    fn sides(&self, corners: &[u32; 3]) -> Option<[[f64; 3]; 3]> {
        let point = |at: u32| self.points.get(at as usize).map(|point| point.map(f64::from));
        let [a, b, c] = [point(corners[0])?, point(corners[1])?, point(corners[2])?];
        let from = |to: [f64; 3]| std::array::from_fn(|axis| to[axis] - a[axis]);
        Some([a, from(b), from(c)])
    }
}

/// Reads ModelNet10 or ModelNet40 as it is unpacked. `set` is `train` or `test`.
///
/// The files are `{class}/{set}/{class}_{k}.off`: `OFF`, the numbers of corners and faces, a corner a line, then a
/// face a line: the number of its corners, and those. Lines that start with `#` are left out. A face of more than three
/// corners becomes a fan of triangles. The word `OFF` may stand before the numbers on one line, as in some of these
/// files. (PyG's `ModelNet`, which leaves out faces of five corners and more, and takes files in the order of the
/// disk.)
///
/// Source: Wu et al., *3D ShapeNets: a deep representation for volumetric shapes*, CVPR 2015;
/// [the files](https://modelnet.cs.princeton.edu).
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::read_model_net;
///
/// let folder = std::env::temp_dir().join(format!("meshes-{}", std::process::id()));
/// std::fs::create_dir_all(folder.join("bed/train")).unwrap();
/// let square = "OFF\n4 1 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n";
/// std::fs::write(folder.join("bed/train/bed_0001.off"), square).unwrap();
/// let set = read_model_net(&folder, "train", &Device::flex()).unwrap();
/// assert_eq!((set.classes[0].as_str(), set.meshes[0].triangles.len()), ("bed", 2));
/// assert_eq!(set.meshes[0].sample(100, 7, &Device::flex()).unwrap().dims(), [100, 3]);
/// # std::fs::remove_dir_all(folder).unwrap();
/// ```
///
/// # Errors
///
/// `invalid` for a folder without classes, and a file that cannot be read or breaks its format; it names the file and
/// the line.
pub fn read_model_net(folder: impl AsRef<Path>, set: &str, device: &Device) -> Result<ModelNet> {
    read_model_net_with(folder, set, device, &mut silent())
}

/// [`read_model_net`], which reports its progress over all files.
///
/// # Errors
///
/// As [`read_model_net`].
pub fn read_model_net_with(
    folder: impl AsRef<Path>,
    set: &str,
    device: &Device,
    progress: &mut Progress<'_>,
) -> Result<ModelNet> {
    const OP: &str = "read_model_net";
    let folder = folder.as_ref();
    let (mut classes, mut paths, mut labels) = (vec![], vec![], vec![]);
    for (class, path) in listed(OP, folder)? {
        let own = path.join(set);
        if !own.is_dir() {
            continue;
        }
        let prefix = format!("{class}_");
        let files = listed(OP, &own)?.into_iter();
        let files = files.filter(|(name, _)| name.starts_with(&prefix) && name.ends_with(".off"));
        paths.extend(files.map(|(_, path)| path));
        labels.resize(paths.len(), classes.len() as i64);
        classes.push(class);
    }
    if classes.is_empty() {
        let message = format!("there must be a folder of a class with a folder {set:?}, got none");
        return Err(SparseError::invalid(OP, message).in_file(folder));
    }
    let mut files = Sources::new(OP, folder, &paths, progress)?;
    let meshes = paths.iter().map(|path| read_off(&mut files, path)).collect::<Result<_>>()?;
    files.finish();
    Ok(ModelNet { meshes, labels: Labels::from_list(&labels, classes.len(), device)?, classes })
}

fn read_off(files: &mut Sources<'_, '_>, path: &Path) -> Result<Mesh> {
    let (mut mesh, mut begun, mut counts, mut faces) = (Mesh::default(), false, None, 0);
    let allowed = Allowed::now();
    files.lines(path, b' ', |_, fields| {
        let mut text = fields.text()?.trim();
        if !begun {
            text = text.strip_prefix("OFF").ok_or_else(|| format!("a file must start with OFF, got {text:?}"))?.trim();
            begun = true;
        }
        if text.is_empty() || text.starts_with('#') {
            return Ok(());
        }
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let whole = |word: &str| word.parse::<u32>().map_err(|_| format!("a whole number must follow, got {word:?}"));
        match counts {
            None => {
                let [points, triangles, ..] = words[..] else {
                    return Err(format!("two numbers, of corners and faces, must follow, got {text:?}"));
                };
                counts = Some((whole(points)?, whole(triangles)?));
            }
            Some((points, _)) if mesh.points.len() < points as usize => {
                mesh.points.push(place(&words)?);
            }
            Some((points, count)) => {
                if faces == count {
                    return Err(format!("there must be {count} faces, got more"));
                }
                faces += 1;
                let numbers = words.iter().map(|word| whole(word)).collect::<Result<Vec<u32>, String>>()?;
                let (size, corners) = (numbers[0], &numbers[1..]);
                if size < 3 || corners.len() != size as usize {
                    return Err(format!("a face must have 3 corners or more, and so many, got {size} and {corners:?}"));
                }
                if let Some(corner) = corners.iter().find(|&&corner| corner >= points) {
                    return Err(format!("a corner must be in [0, {points}), got {corner}"));
                }
                mesh.triangles.extend(corners[1..].windows(2).map(|side| [corners[0], side[0], side[1]]));
            }
        }
        allowed.check_elements(mesh.points.len() + mesh.triangles.len())
    })?;
    let (points, count) = counts.unwrap_or_default();
    if counts.is_none() || mesh.points.len() < points as usize || faces < count {
        let got = format!("got {} and {faces}", mesh.points.len());
        return Err(files.at(path, format!("there must be {points} corners and {count} faces, {got}")));
    }
    Ok(mesh)
}

/// Three finite numbers.
fn place(words: &[&str]) -> Result<[f32; 3], String> {
    let number = |word: &&str| word.parse::<f32>().ok().filter(|number| number.is_finite());
    let numbers: Option<Vec<f32>> = words.iter().map(number).collect();
    let place = numbers.and_then(|numbers| <[f32; 3]>::try_from(numbers).ok());
    place.ok_or_else(|| format!("three finite numbers must follow, got {:?}", words.join(" ")))
}

/// Reads the part annotations of ShapeNet as they are unpacked
/// (`shapenetcore_partanno_segmentation_benchmark_v0_normal/`). `set` is `train`, `val` or `test`.
///
/// | file | content |
/// |---|---|
/// | `synsetoffset2category.txt` | the name of a category and that of its folder a line, with a tab between |
/// | `train_test_split/shuffled_{set}_file_list.json` | the shapes, such as `"shape_data/02691156/1021a0"` |
/// | `02691156/1021a0.txt` | a point a line: its place, the normal there, and its part |
///
/// Only shapes of these categories (`"Airplane"`, ..) are read, in the order of the list; of all 16 if none is named. A
/// batch of them is [`GraphBatch`](super::GraphBatch)'s. Takes `&device`, or `(&device, dtype)` for the dtype of places
/// and normals. (PyG's `ShapeNet`.)
///
/// Source: Yi et al., *A scalable active framework for region annotation in 3D shape collections*, 2016.
///
/// ```no_run
/// use burn::tensor::Device;
/// use sparse_tensor::data::read_shape_net;
///
/// let shapes = read_shape_net("shapenet", "test", &["Airplane", "Cap"], &Device::flex()).unwrap();
/// assert_eq!(shapes[0].points.dims()[1], 3);
/// ```
///
/// # Errors
///
/// `invalid` for an unknown category, and for a file that cannot be read or breaks its format; it names the file, and
/// the line of a text. `unsupported_dtype`.
pub fn read_shape_net(
    folder: impl AsRef<Path>,
    set: &str,
    categories: &[&str],
    options: impl Into<TensorCreationOptions>,
) -> Result<Vec<PartPoints>> {
    read_shape_net_with(folder, set, categories, options, &mut silent())
}

/// [`read_shape_net`], which reports its progress over all files but the first two.
///
/// # Errors
///
/// As [`read_shape_net`].
pub fn read_shape_net_with(
    folder: impl AsRef<Path>,
    set: &str,
    categories: &[&str],
    options: impl Into<TensorCreationOptions>,
    progress: &mut Progress<'_>,
) -> Result<Vec<PartPoints>> {
    const OP: &str = "read_shape_net";
    let (folder, options) = (folder.as_ref(), options.into());
    check_dtype(OP, &options)?;
    let named = folder.join("synsetoffset2category.txt");
    let list = folder.join("train_test_split").join(format!("shuffled_{set}_file_list.json"));
    let mut unheard = silent();
    let mut files = Sources::new(OP, folder, [&named, &list], &mut unheard)?;
    let mut all = vec![];
    files.lines(&named, b'\t', |_, fields| {
        all.push((fields.name("a category")?.to_string(), fields.name("a folder")?.to_string()));
        fields.end()
    })?;
    let wanted: Vec<String> = match categories {
        [] => all.iter().map(|(_, place)| place.clone()).collect(),
        names => {
            let place = |name: &&str| {
                let found = all.iter().find(|(other, _)| other == name).map(|(_, place)| place.clone());
                found.ok_or_else(|| files.at(&named, format!("a category must be in this file, got {name:?}")))
            };
            names.iter().map(place).collect::<Result<_>>()?
        }
    };
    let shapes: Vec<String> = files.json(&list)?;
    let mut paths: Vec<(usize, PathBuf)> = vec![];
    for shape in &shapes {
        let parts: Vec<&str> = shape.split('/').collect();
        let &[_, place, name] = &parts[..] else {
            return Err(files.at(&list, format!("a shape must be named folder/category/name, got {shape:?}")));
        };
        // A name leads into its own folder only.
        if let Some(category) = wanted.iter().position(|own| own == place) {
            if [place, name].iter().any(|part| part.contains('\\') || ["", ".", ".."].contains(part)) {
                return Err(files.at(&list, format!("a shape must be named folder/category/name, got {shape:?}")));
            }
            paths.push((category, folder.join(place).join(format!("{name}.txt"))));
        }
    }
    let mut files = Sources::new(OP, folder, paths.iter().map(|(_, path)| path), progress)?;
    let mut found = vec![];
    for (category, path) in &paths {
        let (mut places, mut normals, mut parts, allowed) = (vec![], vec![], vec![], Allowed::now());
        files.lines(path, b' ', |_, fields| {
            let line = fields.text()?;
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let &[.., part] = &words[..] else { return Ok(()) };
            if words.len() != 7 {
                return Err(format!("a point must have 7 numbers, got {}", words.len()));
            }
            places.extend(place(&words[..3])?);
            normals.extend(place(&words[3..6])?);
            // Written as `12.000000`.
            let whole = part.parse::<f64>().ok().filter(|part| part.fract() == 0.0 && (0.0..1e6).contains(part));
            parts.push(whole.ok_or_else(|| format!("a part must be a whole number from 0, got {part:?}"))? as i64);
            allowed.check_elements(places.len())
        })?;
        let count = parts.len();
        let matrix = |values| Tensor::from_data(TensorData::new(values, [count, 3]), options.clone());
        found.push(PartPoints {
            points: matrix(places),
            normals: matrix(normals),
            parts: Tensor::from_data(TensorData::new(parts, [count]), &options.device),
            category: *category,
        });
    }
    files.finish();
    Ok(found)
}
