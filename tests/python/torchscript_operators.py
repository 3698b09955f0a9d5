"""Which of PyTorch's operators TorchScript archives can call: the table behind docs/TORCHSCRIPT_OPERATORS.md.

aten_operators.txt has the names and overloads of PyTorch 2.15; weft._C._builtin_schemas() those that are here. REASONS says
of the others why they are not: the first line whose expression matches NAME.OVERLOAD.
"""

import collections
import pathlib
import re

LIST = pathlib.Path(__file__).with_name("aten_operators.txt")

# (what the page says, expression). Those of the first group are not wanted for inference of dense tensors on the CPU.
NOT_WANTED = [
    (
        "gradients, training and automatic differentiation's own bookkeeping",
        r"(.*backward.*|_?foreach_.*|_fused_(ada|sgd|moving).*|_amp_.*|grad|.*_jvp|_fw_primal|_make_dual|_unpack_dual|get_gradients|"
        r"retains?_grad|output_nr|set_data|_version|_use_cudnn_rnn_flatten_weight|_batch_norm_(impl_index|no_update|with_update).*|"
        r"batch_norm_(elemt|gather|stats|update).*|_native_batch_norm_legit(_functional|\.|$).*|fake_quant.*|_fake_quant.*|fused_moving.*|"
        r"_no_grad_.*|_grad_sum_to_size|_size_if_not_equal|_dirichlet_grad|_standard_gamma_grad|rrelu_with_noise.*|_masked_scale|"
        r"_weight_norm_interface|_(cummax|cummin)_helper|.*_forward|_ctc_loss|_thnn_.*|"
        r"_fill_mem_eff_dropout_mask_|_pdist_forward|segment_reduce|_compute_linear_combination|_cholesky_solve_helper|"
        r"_linalg_(check_errors|det|slogdet|solve_ex))(\..*)?",
    ),
    (
        "CUDA, cuDNN, MIOpen, Metal, Vulkan, XLA and other devices",
        r"_?(cudnn|miopen|mps|cuda|cufft|cslt|triton|xla|nnpack|vulkan|hip).*|.*(_cudnn|_miopen|_mps|_xla_|cufft|vulkan|efficient_attention|"
        r"flash_attention(_forward.*|_no_dropout.*)?|fused_attention_overrideable|math_for_mps).*|_use_.*|record_stream|_?pin_memory|"
        r"is_pinned|_to_cpu|_scaled_.*mm.*|_grouped_mm|_lstm_mps|convolution_overrideable|_get_cpu_capability|_mixed_dtypes_linear",
    ),
    (
        "oneDNN's layouts: torch.jit.optimize_for_inference saves none of the constants it converts, so that PyTorch "
        "does not load such archives either",
        r"_?mkldnn.*|to_mkldnn.*|_to_mkldnn.*",
    ),
    (
        "quantized dtypes as models do not use them: training, QNNPACK, and packed weights of before torch.ao",
        r".*(quantiz|qparams|fbgemm|_dyn_quant|q_per_|q_scale|q_zero|int_repr|qscheme|wrapped_linear|_saturate|int4pack_mm_with).*|"
        r"empty_quantized",
    ),
    (
        "sparse and nested layouts, but for the nested tensors of nn.TransformerEncoder",
        r".*(sparse|nested|jagged|coalesce|_indices|_values|_nnz|_dimI|_dimV|_coo_|_csr|_csc|_bsr|_bsc|spsolve|spdiags|sspaddmm|hspmm|smm).*|"
        r"(indices|values|dense_dim|_?to_dense|_rowwise_prune|_validate_.*|_convert_indices.*)(\..*)?",
    ),
    ("names of dimensions", r".*(name|names|dimname|Dimname).*|align_.*|rename.*|refine_.*"),
    (
        "copies of views, functional forms of in-place operators and symbolic sizes: what torch.export's graphs call",
        r".*_copy(\..*)?|_?functional.*|.*_functional(\..*)?|_?sym_.*|.*constrain_range.*|lift.*|_lazy_clone|_efficientzerotensor|_make_dep_token|"
        r"slice_inverse|(resize|resize_as|set|copy|uniform|cauchy|log_normal|exponential|geometric|random|embedding_renorm|"
        r"_index_put_impl|_coalesced|_resize_output)(\..*)?|_unsafe_masked.*|_new_zeros_with_same.*|_assert_scalar|_assert_async.*|"
        r"shallow_copy_data_|_chunk_cat|_print|_add_batch_dim|_remove_batch_dim|_is_zerotensor|_trilinear|hash_tensor",
    ),
    ("tests of PyTorch's own", r"_test_.*|_foobar"),
    (
        "processes that talk to one another",
        r"(owner|owner_name|is_owner|confirmed_by_owner|local_value|to_here|is_distributed|_propagate_xla_data).*",
    ),
    (
        "storages, files, and how memory is laid out",
        r"(set_|_resize_output_|from_file|save|is_set_to|_copy_from.*|_has_same_storage_numel|_has_compatible_shallow.*|is_non_overlapping.*|"
        r"_debug_has_internal_overlap|is_strides_like_format|empty_permuted|new_empty_strided|_reshape_from_tensor|_ncf_.*|_assert_tensor_metadata)(\..*)?",
    ),
    (
        "random numbers of a Generator that the script has, or of distributions nobody traces",
        r"(.*generator.*|Generator|seed|initial_seed|manual_seed|random_|_philox.*|_sobol.*|_sample_dirichlet|_standard_gamma|binomial|"
        r"bernoulli_|normal|randint_like)(\..*)?",
    ),
]
NOT_WRITTEN = [
    ("weft's resizing has no Lanczos filter", r"_upsample_lanczos.*"),
    ("a second name of an operator that scripts call by the first", r"__upsample.*|_(aminmax|stack|addmm_activation|add_relu_?|pad_enum|tensor_to_list|"
     r"list_to_tensor|histogramdd.*|grid_sampler_2d_cpu_fallback|transform_bias.*|masked_softmax|pack_sequence)(\..*)?|"
     r"(native_norm|log_sigmoid_forward|matrix_H|mH|slow_conv_transpose.*|xlogy_|squeeze_|swapdims_|ldexp_|polygamma_|copy_|device|get_autocast_dtype|chalf|_is_tracing|sorted|remove|count|index|eq|ne|Complex|ComplexImplicit|log|result_type|dict|einsum|dequantize|baddbmm|addmm|isin|unflatten_dense_tensors|flatten_dense_tensors)(\..*)?"),
    ("not written yet", r".*"),
]  # fmt: skip


def listed():
    """{name: overloads} of PyTorch 2.15; "-" is the overload without a name."""
    lines = [line.split() for line in LIST.read_text().splitlines() if not line.startswith("#")]
    return {name: overloads for name, *overloads in lines}


def here():
    """The schemas' names that weft has: "add.Tensor"."""
    import weft

    names = (re.split(r"\(", schema)[0] for schema in weft._C._builtin_schemas())
    return {name.removeprefix("aten::") for name in names if name.startswith("aten::")}


def is_out(overload):
    """Overloads that write to tensors given by keyword; each is another overload with that keyword."""
    return bool(re.search(r"(^|_)(out|values|indices|grad_input|output|sign|max|min|U|L|X|LU|hist|bin_edges|result|solution|"
                          r"eigenvalues|inverse|Q|a|e|out_mode|TensorList_out|fill_out|tensor_out|Scalar_out|names_out)$", overload))  # fmt: skip


def survey():
    """{reason: [names]} of what is not here, wanted and not, and the numbers of overloads here."""
    known = here()
    not_wanted, wanted = collections.OrderedDict(), collections.OrderedDict()
    counts = collections.Counter()
    for name, overloads in listed().items():
        full = [name if overload == "-" else f"{name}.{overload}" for overload in overloads]
        bases = [one for one in full if one in known]
        for one in full:
            overload = one.partition(".")[2]
            if one in known:
                counts["here"] += 1
            elif bases and is_out(overload):
                counts["out"] += 1
            else:
                tables = ((NOT_WANTED, not_wanted), (NOT_WRITTEN, wanted))
                found = next(
                    (reason, into)
                    for table, into in tables
                    for reason, test in table
                    if re.fullmatch(test, one)
                )
                found[1].setdefault(found[0], []).append(one)
    return counts, not_wanted, wanted


def _wrapped(names):
    lines, line = [], ""
    for name in names:
        if len(line) + len(name) > 116:
            lines.append(line.rstrip())
            line = ""
        line += name + ", "
    return lines + [line.rstrip(", ")]


def page():
    counts, not_wanted, wanted = survey()
    total = sum(len(overloads) for overloads in listed().values())
    absent = {
        group: sum(len(names) for names in table.values())
        for group, table in (("no", not_wanted), ("yes", wanted))
    }
    lines = [
        "# TorchScript's operators", "",
        "Generated by `make docs` from `tests/python/torchscript_operators.py`; do not edit. Operators of PyTorch 2.15's `aten`"
        " namespace that an archive's code can call. One that is not here raises NotImplementedError when the program reaches it;"
        " what does not reach it runs.", "",
        "| overloads | |", "|---|---|",
        f"| of PyTorch 2.15 | {total} |",
        f"| here | {counts['here']} |",
        f"| here by the keyword `out`: computed, then written to the tensors given | {counts['out']} |",
        f"| wanted for inference of dense tensors on the CPU, not here | {absent['yes']} |",
        f"| not wanted for it | {absent['no']} |", "",
        "Other namespaces: `prim` has what archives print; `quantized` what torch.ao's modules call (QUANTIZATION.md); `torchvision` has nms, roi_align, roi_pool,"
        " ps_roi_align, ps_roi_pool and deform_conv2d; `torchaudio` the loops of its filters; the others raise.", "",
        "## Not here", "",
    ]  # fmt: skip
    for reason, names in sorted(wanted.items()):
        lines += [f"### {reason}", "", *_wrapped(sorted(names)), ""]
    lines += ["## Not wanted for inference", ""]
    for reason, names in not_wanted.items():
        lines += [f"### {reason}", "", *_wrapped(sorted(names)), ""]
    return "\n".join(lines).rstrip() + "\n"
