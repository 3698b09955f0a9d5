"""Operators of weft that PyTorch 2.15's default decompositions take apart: those that have no rule are refused."""

COMPOSITE = {
    f"aten::{name}"
    for name in """
__and__.Scalar __and__.Tensor __iand__.Scalar __iand__.Tensor __ior__.Scalar __ior__.Tensor __ixor__.Scalar
__ixor__.Tensor __or__.Scalar __or__.Tensor __xor__.Scalar __xor__.Tensor _autocast_to_full_precision
_autocast_to_reduced_precision _cast_Byte _cast_Char _cast_Double _cast_Float _cast_Half _cast_Int _cast_Long
_cast_Short _chunk_cat _convolution.deprecated _convolution_mode _dim_arange _euclidean_dist _lu_with_info
_pad_circular _pad_packed_sequence _prelu_kernel _reshape_alias _safe_softmax _scaled_dot_product_attention_math
_scaled_dot_product_flash_attention_for_cpu _shape_as_tensor _unsafe_index.Tensor _unsafe_index_put _unsafe_view
_upsample_bicubic2d_aa.vec _upsample_bilinear2d_aa.vec _upsample_nearest_exact1d _upsample_nearest_exact1d.vec
_upsample_nearest_exact2d _upsample_nearest_exact2d.vec _upsample_nearest_exact3d _upsample_nearest_exact3d.vec
_weight_norm _weight_norm_interface absolute adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d
adaptive_max_pool1d addcdiv addcmul addr adjoint affine_grid_generator all all.dim all.dims alpha_dropout aminmax
arange arange.start arccos arccosh arcsin arcsinh arctan arctan2 arctanh argsort argsort.stable argwhere atleast_1d
atleast_1d.Sequence atleast_2d atleast_2d.Sequence atleast_3d atleast_3d.Sequence avg_pool1d baddbmm batch_norm
bernoulli bilinear binary_cross_entropy binary_cross_entropy_with_logits block_diag broadcast_tensors broadcast_to
can_cast cartesian_prod cdist celu chain_matmul channel_shuffle chunk clamp_max clamp_max.Tensor clamp_min
clamp_min.Tensor clip clip.Tensor column_stack combinations concat concatenate conj conj_physical contiguous conv1d
conv1d.padding conv2d conv2d.padding conv3d conv3d.padding conv_transpose1d conv_transpose2d.input
conv_transpose3d.input corrcoef cosine_embedding_loss cosine_similarity count_nonzero count_nonzero.dim_IntList cov
cross cross_entropy_loss ctc_loss.IntList ctc_loss.Tensor cumulative_trapezoid.dx cumulative_trapezoid.x data deg2rad
det detach diag diag_embed diagflat diff dim divide.Scalar divide.Scalar_mode divide.Tensor divide.Tensor_mode dot
dropout dsplit.array dsplit.int dstack einsum embedding_bag embedding_bag.padding_idx empty_like expand_as eye eye.m
fake_quantize_per_channel_affine fake_quantize_per_tensor_affine fake_quantize_per_tensor_affine.tensor_qparams
feature_alpha_dropout feature_dropout fft_fft fft_fft2 fft_fftn fft_fftshift fft_hfft fft_hfft2 fft_hfftn fft_ifft
fft_ifft2 fft_ifftn fft_ifftshift fft_ihfft fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2
fft_rfftn fill.Tensor fix flatten.using_ints fliplr flipud float_power.Scalar float_power.Tensor_Scalar
float_power.Tensor_Tensor floor_divide floor_divide.Scalar frac frobenius_norm.dim ger get_device glu greater.Scalar
greater.Tensor greater_equal.Scalar greater_equal.Tensor grid_sampler group_norm gru.data gru.input gru_cell
hann_window hann_window.periodic hardshrink hardsigmoid hardswish heaviside hinge_embedding_loss hsplit.array
hsplit.int hstack huber_loss im2col imag index_add index_copy index_fill.int_Scalar index_fill.int_Tensor inner
instance_norm inverse is_complex is_conj is_contiguous is_contiguous.memory_format is_floating_point is_inference
is_leaf is_neg is_nonzero is_signed isclose isfinite isin.Scalar_Tensor isin.Tensor_Scalar isin.Tensor_Tensor isneginf
isposinf isreal istft kl_div kron l1_loss layer_norm lerp.Scalar lerp.Tensor less.Scalar less.Tensor less_equal.Scalar
less_equal.Tensor linalg_cholesky linalg_cond linalg_cond.p_str linalg_cross linalg_det linalg_diagonal linalg_eigh
linalg_eigvals linalg_eigvalsh linalg_inv linalg_ldl_factor linalg_lu_factor linalg_matmul linalg_matrix_norm
linalg_matrix_norm.str_ord linalg_matrix_power linalg_matrix_rank linalg_matrix_rank.atol_rtol_float
linalg_matrix_rank.atol_rtol_tensor linalg_multi_dot linalg_norm linalg_norm.ord_str linalg_pinv
linalg_pinv.atol_rtol_float linalg_slogdet linalg_solve linalg_solve_ex linalg_svd linalg_svdvals linalg_vander
linalg_vecdot linalg_vector_norm linear linspace linspace.Scalar_Tensor linspace.Tensor_Scalar linspace.Tensor_Tensor
log_sigmoid log_sigmoid_forward log_softmax.int logaddexp logaddexp2 logdet logit logspace logspace.Scalar_Tensor
logspace.Tensor_Scalar logspace.Tensor_Tensor logsumexp lstm.data lstm.input lstm_cell lu_solve mH mT
margin_ranking_loss masked_fill.Scalar masked_fill.Tensor matmul matrix_H matrix_exp matrix_power max.other max_pool1d
max_pool1d_with_indices max_pool2d max_pool3d max_unpool2d max_unpool3d meshgrid meshgrid.indexing min.other mish
moveaxis.int moveaxis.intlist movedim.int movedim.intlist mse_loss msort multi_margin_loss multilabel_margin_loss
multiply.Scalar multiply.Tensor mv mvlgamma nan_to_num nanmean nanquantile nanquantile.scalar nansum narrow
narrow.Tensor native_channel_shuffle negative new_empty new_full new_ones new_zeros nll_loss nll_loss2d nll_loss_nd
nonzero_numpy norm.Scalar norm.ScalarOpt_dim norm.ScalarOpt_dim_dtype norm.ScalarOpt_dtype norm_except_dim
not_equal.Scalar not_equal.Tensor nuclear_norm nuclear_norm.dim numel numpy_T one_hot ones ones_like orgqr outer pad
pad_sequence pairwise_distance pdist pin_memory pinverse pixel_shuffle pixel_unshuffle poisson_nll_loss positive prelu
promote_types quantile quantile.scalar rad2deg ravel real relu6 renorm repeat_interleave.self_Tensor
repeat_interleave.self_int replication_pad1d reshape reshape_as resolve_conj resolve_neg result_type.Scalar
result_type.Scalar_Tensor result_type.Tensor rms_norm rnn_relu.data rnn_relu.input rnn_relu_cell rnn_tanh.data
rnn_tanh.input rnn_tanh_cell roll rot90 row_stack rrelu rsub.Scalar rsub.Tensor scaled_dot_product_attention selu sgn
silu sinc slogdet slow_conv3d smooth_l1_loss soft_margin_loss softmax.int softplus softshrink special_digamma
special_entr special_erf special_erfc special_erfinv special_exp2 special_expit special_expm1 special_gammainc
special_gammaincc special_gammaln special_i0 special_log1p special_log_ndtr special_log_softmax special_logit
special_logsumexp special_multigammaln special_ndtr special_polygamma special_psi special_round special_sinc
special_softmax special_xlog1py special_xlog1py.other_scalar special_xlog1py.self_scalar special_xlogy
special_xlogy.other_scalar special_xlogy.self_scalar split.Tensor split.sizes square squeeze stack std std.correction
std.dim std_mean std_mean.correction std_mean.dim stft stft.center storage_offset subtract.Scalar subtract.Tensor sum
sum_to_size svd swapaxes swapdims t take take_along_dim tensor_split.indices tensor_split.sections
tensor_split.tensor_indices_or_sections tensordot thnn_conv2d threshold tile to.device to.dtype to.dtype_layout
to.other to_dense trace transpose.int trapezoid.dx trapezoid.x trapz.dx trapz.x tril triplet_margin_loss triu
true_divide.Scalar true_divide.Tensor type_as unbind.int unflatten.int unsafe_chunk unsafe_split.Tensor
unsafe_split_with_sizes upsample_bicubic2d.vec upsample_linear1d upsample_linear1d.vec upsample_nearest1d
upsample_nearest1d.vec upsample_nearest2d upsample_nearest3d upsample_nearest3d.vec upsample_trilinear3d.vec vander
var var_mean var_mean.dim vdot view_as vsplit.array vsplit.int vstack where where.Scalar where.ScalarOther
where.ScalarSelf xlogy.Scalar_Other xlogy.Scalar_Self xlogy.Tensor zero zeros zeros_like
""".split()
}
