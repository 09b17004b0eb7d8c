//! Public functions that have no entry in the registry, by type ("fn" of none), each with its reason. `try_x` is
//! covered by `x`.

/// `(type, reason, names)`. Reasons name tests of the crates by `ops/tests/suite` for `crates/sparse-ops/tests/suite`.
pub const EXEMPT: &[(&str, &str, &str)] = &[
    (
        "SparseTensor",
        "reads what the tensor holds; the equivalence test's structure check and its inputs go through it",
        "dims nnz sparse_dims dense_dims num_elements pattern is_coalesced fill device dtype row_ptr col_idx indices",
    ),
    (
        "SparseTensor",
        "construction: every input of this test is made by it, and gives errors that the conformance cases name",
        "new new_inferred from_pattern zeros",
    ),
    (
        "SparseTensor",
        "other values on a pattern, as from_pattern makes them: ops/tests/suite/heads/mod.rs",
        "with_head_values",
    ),
    ("SparseTensor", "construction without a check: ops/tests/suite/answers/hostile.rs", "new_unchecked"),
    (
        "SparseTensor",
        "lists and back: ops/tests/suite/entry.rs, tests/equivalence/oversized/shapes.rs",
        "from_edges from_triplets from_rows to_triplets from_csc_parts",
    ),
    ("SparseTensor", "a view: every entry of Stored goes through it", "stored"),
    (
        "SparseTensor",
        "of other semirings, whose empty results are infinite, against loops: ops/tests/suite/semiring.rs",
        "matmul_semiring spgemm_masked spgemm_semiring",
    ),
    ("SparseTensor", "of duplicates, which dense tensors do not have: graphs/tests/suite/sampling.rs", "coalesce_with"),
    ("SparseTensor", "the order of elements: ops/tests/suite/gradients/structure.rs", "coalesce_plan"),
    (
        "SparseTensor",
        "the tape itself: every gradient that the equivalence test compares passes through leaves and their gradients",
        "require_grad is_tracked grad fill_grad detach",
    ),
    ("SparseTensor", "a copy: no second device in a run of the equivalence test", "to_device"),
    (
        "ops::IndexPlan",
        "made and read, not an operation; the equivalence test's IndexPlan::select and IndexPlan::put make one each",
        "new from_list len is_empty size index",
    ),
    ("nn::GcnConv", "a layer: nn/tests/suite/nn.rs, tests/equivalence/oversized/shapes.rs", "forward forward_sparse"),
    (
        "fn",
        "of graphs: nn/tests/suite/nn.rs, and tests/equivalence/oversized/shapes.rs",
        "row_normalization symmetric_normalization",
    ),
    ("fn", "of ids, which have no values: ops/tests/suite/entry.rs", "unique"),
    ("fn", "random: nn/tests/suite/nn.rs", "dropout sparse_dropout"),
    ("fn", "of dense tensors, against Burn's: nn/tests/suite/nn.rs", "elu leaky_relu"),
    ("fn", "a layer of Burn: nn/tests/suite/nn.rs", "sparse_input_linear"),
    (
        "fn",
        "parts of models: nn/tests/suite/layers",
        "bipartite_normalization coarsen diff_pool dmon_pool dot_decoder gcn_normalization global_add_pool \
         global_attention_pool global_max_pool global_mean_pool graclus graph_softmax memory_loss mincut_pool \
         negative_sampling voxel_grid",
    ),
    ("fn", "one product with a sparse matrix, against a loop: nn/tests/suite/group_mm.rs", "gather_mm segment_mm"),
    ("fn", "of the gradients of a module: nn/tests/suite/clip.rs", "clip_grad_norm"),
    ("fn", "a limit of the process, not an operation", "dense_limit set_dense_limit"),
    (
        "fn",
        "memory: tests/allocations.rs, ops/tests/suite/aligned.rs",
        "aligned memory_report release_pool set_pool_limit",
    ),
    ("fn", "the name of a dtype", "dtype_name"),
    ("fn", "counters of a GPU run: tests/gpu", "device_reads host_fallbacks"),
    ("fn", "awaits what other operations read: tests/gpu/asynchronous.rs", "without_blocking"),
];
