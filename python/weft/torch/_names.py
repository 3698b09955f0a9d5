"""The table of PyTorch's public names: where each is found here, or why it is not. Documentation, stubs, coverage
figures and tests come from it.

A name of neither `found` nor `left_out` is weft's own of the same name (`same`), or is not written yet. Of methods,
"function" is the function of torch called with the tensor, "in place" the method without the underscore, written into the
tensor.

source: the public names of PyTorch 2.15.
"""

from ._table import Namespace

TRAINING = "weft runs models and does not train them"
INTERNAL = "it is about PyTorch's own compiler, CUDA or build"
QUANTIZED = (
    "quantization of this kind is not weft's: torch.ao.quantization's eager mode and weft.quantization are"
)
DISTRIBUTED = "it is about processes"
DOCUMENTATION = "it is a part of the documentation's text, or torch itself"
SPARSE = "sparse and other layouts; weft's are strided, or sparse in coordinate format, CSR or CSC"

FUNCTIONS = Namespace(
    "torch",
    public="""
        AVG AcceleratorError AggregationType AliasDb AnyType Argument ArgumentSpec AwaitType BFloat16Storage
        BFloat16Tensor BenchmarkConfig BenchmarkExecutionStats Block BoolStorage BoolTensor BoolType
        BufferDict ByteStorage ByteTensor CallStack Capsule CharStorage CharTensor ClassType Code
        CompilationUnit CompleteArgumentSpec ComplexDoubleStorage ComplexFloatStorage ComplexType
        ConcreteModuleType ConcreteModuleTypeBuilder DeepCopyMemoTable DeserializationStorageContext
        DeviceObjType DictType DisableTorchFunction DisableTorchFunctionSubclass DispatchKey DispatchKeySet
        DoubleStorage DoubleTensor EnumType ErrorReport Event ExcludeDispatchKeyGuard ExecutionPlan
        FatalError FileCheck FloatStorage FloatTensor FloatType FunctionSchema Future FutureType Generator
        GradScaler Gradient Graph GraphExecutorState HalfStorage HalfTensor IODescriptor InferredType
        IntStorage IntTensor IntType InterfaceType JITException ListType LiteScriptModule LockingLogger
        LoggerBase LongStorage LongTensor ModuleDict Node NoneType NoopLogger NumberType OperatorInfo
        OptionalType OutOfMemoryError PRIVATE_OPS ParameterDict PyObjectType PyTorchFileReader
        PyTorchFileWriter QInt32Storage QInt8Storage QUInt2x4Storage QUInt4x2Storage QUInt8Storage RRefType
        SUM ScriptClass ScriptClassFunction ScriptDict ScriptDictIterator ScriptDictKeyIterator
        ScriptFunction ScriptList ScriptListIterator ScriptMethod ScriptModule ScriptModuleSerializer
        ScriptObject ScriptObjectProperty SerializationStorageContext ShortStorage ShortTensor Size
        StaticModule Storage StorageBase Stream StreamObjType StringType SymBool SymBoolType SymFloat SymInt
        SymIntType TYPE_CHECKING Tag Tensor TensorType ThroughputBenchmark TracingState TupleType Type
        TypedStorage USE_GLOBAL_DEPS USE_RTLD_GLOBAL_WITH_LIBTORCH UnionType UntypedStorage Use Value abs
        abs_ absolute acos acos_ acosh acosh_ adaptive_avg_pool1d adaptive_max_pool1d add addbmm addcdiv
        addcmul addmm addmv addmv_ addr adjoint affine_grid_generator alias_copy all allclose alpha_dropout
        alpha_dropout_ amax amin aminmax angle any arange arccos arccos_ arccosh arccosh_ arcsin arcsin_
        arcsinh arcsinh_ arctan arctan2 arctan_ arctanh arctanh_ are_deterministic_algorithms_enabled argmax
        argmin argsort argwhere as_strided as_strided_ as_strided_copy as_strided_scatter as_tensor asarray
        asin asin_ asinh asinh_ atan atan2 atan_ atanh atanh_ atleast_1d atleast_2d atleast_3d autocast
        autocast_decrement_nesting autocast_increment_nesting avg_pool1d baddbmm bartlett_window batch_norm
        batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats
        batch_norm_gather_stats_with_counts batch_norm_stats batch_norm_update_stats bcomplex32 bernoulli
        bfloat16 bilinear binary_cross_entropy_with_logits bincount binomial bit bits16 bits1x8 bits2x4
        bits4x2 bits8 bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor
        blackman_window block_diag bmm bool broadcast_shapes broadcast_tensors broadcast_to bucketize
        can_cast cartesian_prod cat ccol_indices_copy cdist cdouble ceil ceil_ celu celu_ cfloat
        chain_matmul chalf channel_shuffle channels_last channels_last_3d cholesky cholesky_inverse
        cholesky_solve choose_qparams_optimized chunk clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_
        classproperty clear_autocast_cache clip clip_ clone col_indices_copy column_stack combinations
        compile compiled_with_cxx11_abi complex complex128 complex32 complex64 concat concatenate cond conj
        conj_physical conj_physical_ constant_pad_nd contiguous_format conv1d conv2d conv3d conv_tbc
        conv_transpose1d conv_transpose2d conv_transpose3d convolution copysign corrcoef cos cos_ cosh cosh_
        cosine_embedding_loss cosine_similarity count_nonzero cov cross crow_indices_copy ctc_loss
        cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution cudnn_convolution_add_relu
        cudnn_convolution_relu cudnn_convolution_transpose cudnn_grid_sampler cudnn_is_acceptable cummax
        cummin cumprod cumsum cumulative_trapezoid default_generator deg2rad deg2rad_ dequantize det detach
        detach_ detach_copy device diag diag_embed diagflat diagonal diagonal_copy diagonal_scatter diff
        digamma dist div divide dot double dropout dropout_ dsmm dsplit dstack dtype e eig einsum embedding
        embedding_bag embedding_renorm_ empty empty_like empty_permuted empty_quantized empty_strided
        enable_grad eq equal erf erf_ erfc erfc_ erfinv exp exp2 exp2_ exp_ expand_copy expm1 expm1_ eye
        fake_quantize_per_channel_affine fake_quantize_per_tensor_affine fbgemm_linear_fp16_weight
        fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight
        fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight fbgemm_pack_gemm_matrix_fp16
        fbgemm_pack_quantized_matrix feature_alpha_dropout feature_alpha_dropout_ feature_dropout
        feature_dropout_ fill fill_ finfo fix fix_ flatten flip fliplr flipud float float16 float32
        float4_e2m1fn_x2 float64 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu
        float_power floor floor_ floor_divide fmax fmin fmod fork frac frac_ frexp frobenius_norm
        from_dlpack from_file from_numpy frombuffer full full_like fused_moving_avg_obs_fake_quant gather
        gcd gcd_ ge geqrf ger get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype
        get_autocast_ipu_dtype get_autocast_xla_dtype get_default_device get_default_dtype
        get_deterministic_debug_mode get_device get_device_module get_file_path get_float32_matmul_precision
        get_num_interop_threads get_num_threads get_rng_state gradient greater greater_equal grid_sampler
        grid_sampler_2d grid_sampler_3d group_norm gru gru_cell gt half hamming_window hann_window
        hardshrink has_lapack has_mkl has_openmp has_spectral hash_tensor heaviside hinge_embedding_loss
        histc histogram histogramdd hsmm hsplit hspmm hstack hypot i0 i0_ igamma igammac iinfo imag
        import_ir_module import_ir_module_from_buffer index_add index_copy index_fill index_put index_put_
        index_reduce index_select indices_copy inf inference_mode init_num_threads initial_seed inner
        instance_norm int int1 int16 int2 int3 int32 int4 int5 int6 int64 int7 int8 int_repr inverse
        is_anomaly_check_nan_enabled is_anomaly_enabled is_autocast_cache_enabled is_autocast_cpu_enabled
        is_autocast_enabled is_autocast_ipu_enabled is_autocast_xla_enabled is_complex is_conj
        is_deterministic_algorithms_warn_only_enabled is_distributed is_floating_point is_grad_enabled
        is_inference is_inference_mode_enabled is_neg is_nonzero is_same_size is_signed is_storage is_tensor
        is_vulkan_available is_warn_always_enabled isclose isfinite isin isinf isnan isneginf isposinf
        isreal istft jagged kaiser_window kl_div kron kthvalue layer_norm layout lcm lcm_ ldexp ldexp_ le
        legacy_contiguous_format lerp less less_equal lgamma linspace load lobpcg log log10 log10_ log1p
        log1p_ log2 log2_ log_ log_softmax logaddexp logaddexp2 logcumsumexp logdet logical_and logical_not
        logical_or logical_xor logit logit_ logspace logsumexp long lstm lstm_cell lstsq lt lu lu_solve
        lu_unpack manual_seed margin_ranking_loss masked_fill masked_scatter masked_select matmul matrix_exp
        matrix_power matrix_rank max max_pool1d max_pool1d_with_indices max_pool2d max_pool3d maximum mean
        median memory_format merge_type_from_type_comment meshgrid min minimum miopen_batch_norm
        miopen_convolution miopen_convolution_add_relu miopen_convolution_relu miopen_convolution_transpose
        miopen_ctc_loss miopen_depthwise_convolution miopen_rnn mkldnn_adaptive_avg_pool2d
        mkldnn_convolution mkldnn_linear_backward_weights mkldnn_max_pool2d mkldnn_max_pool3d
        mkldnn_rnn_layer mm mode moveaxis movedim msort mul multinomial multiply mv mvlgamma nan nan_to_num
        nan_to_num_ nanmean nanmedian nanquantile nansum narrow narrow_copy native_batch_norm
        native_channel_shuffle native_dropout native_group_norm native_layer_norm native_norm ne neg neg_
        negative negative_ newaxis nextafter no_grad nonzero nonzero_static norm norm_except_dim normal
        not_equal nuclear_norm numel ones ones_like orgqr ormqr outer pairwise_distance parse_ir
        parse_schema parse_type_comment pca_lowrank pdist per_channel_affine
        per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine per_tensor_symmetric
        permute permute_copy pi pinverse pixel_shuffle pixel_unshuffle poisson poisson_nll_loss polar
        polygamma positive pow prelu prepare_multiprocessing_environment preserve_format prod
        profiler_allow_cudagraph_cupti_lazy_reinit_cuda12 promote_types put q_per_channel_axis
        q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qint32 qint8 qr qscheme quantile
        quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic quantized_batch_norm
        quantized_gru quantized_gru_cell quantized_lstm quantized_lstm_cell quantized_max_pool1d
        quantized_max_pool2d quantized_max_pool3d quantized_rnn_relu_cell quantized_rnn_tanh_cell quint2x4
        quint4x2 quint8 rad2deg rad2deg_ rand rand_like randint randint_like randn randn_like randperm range
        ravel real reciprocal reciprocal_ relu relu_ remainder renorm repeat_interleave reshape resize_as_
        resize_as_sparse_ resolve_conj resolve_neg result_type rms_norm rnn_relu rnn_relu_cell rnn_tanh
        rnn_tanh_cell roll rot90 round round_ row_indices_copy row_stack rrelu rrelu_ rsqrt rsqrt_ rsub
        saddmm save scalar_tensor scatter scatter_add scatter_reduce searchsorted seed segment_reduce select
        select_copy select_scatter selu selu_ set_anomaly_enabled set_autocast_cache_enabled
        set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled
        set_autocast_gpu_dtype set_autocast_ipu_dtype set_autocast_ipu_enabled set_autocast_xla_dtype
        set_autocast_xla_enabled set_default_device set_default_dtype set_default_tensor_type
        set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal set_grad_enabled
        set_num_interop_threads set_num_threads set_printoptions set_rng_state set_warn_always sgn short
        sigmoid sigmoid_ sign signbit sin sin_ sinc sinc_ sinh sinh_ slice_copy slice_inverse slice_scatter
        slogdet smm softmax solve sort sparse_bsc sparse_bsc_tensor sparse_bsr sparse_bsr_tensor
        sparse_compressed_tensor sparse_coo sparse_coo_tensor sparse_csc sparse_csc_tensor sparse_csr
        sparse_csr_tensor split split_copy split_with_sizes split_with_sizes_copy spmm sqrt sqrt_ square
        square_ squeeze squeeze_copy sspaddmm stack std std_mean stft strided sub subtract sum svd
        svd_lowrank swapaxes swapdims sym_constrain_range sym_constrain_range_for_size sym_float
        sym_fresh_size sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum symeig t t_copy take
        take_along_dim tan tan_ tanh tanh_ tensor tensor_split tensordot thread_safe_generator threshold
        threshold_ tile to_dlpack topk trace transpose transpose_copy trapezoid trapz triangular_solve tril
        tril_indices triplet_margin_loss triu triu_indices true_divide trunc trunc_ typename uint1 uint16
        uint2 uint3 uint32 uint4 uint5 uint6 uint64 uint7 uint8 unbind unbind_copy unflatten unfold_copy
        unify_type_list unique unique_consecutive unravel_index unsafe_chunk unsafe_split
        unsafe_split_with_sizes unsqueeze unsqueeze_copy use_deterministic_algorithms values_copy vander var
        var_mean vdot view_as_complex view_as_complex_copy view_as_real view_as_real_copy view_copy vmap
        vsplit vstack wait where while_loop xlogy xlogy_ zero_ zeros zeros_like""",
    found={
        "weft.torch.autograd": """
            enable_grad inference_mode is_anomaly_check_nan_enabled is_anomaly_enabled is_grad_enabled
            is_inference_mode_enabled no_grad set_anomaly_enabled set_grad_enabled""",
        "weft.torch.amp": """
            GradScaler autocast autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache
            get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype get_autocast_ipu_dtype
            get_autocast_xla_dtype is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled
            is_autocast_ipu_enabled is_autocast_xla_enabled set_autocast_cache_enabled
            set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled
            set_autocast_gpu_dtype set_autocast_ipu_dtype set_autocast_ipu_enabled set_autocast_xla_dtype
            set_autocast_xla_enabled""",
        "weft.torch._functions.factors": """
            cholesky_inverse cholesky_solve geqrf inverse lu_unpack orgqr ormqr triangular_solve""",
        "weft.torch._functions.factors:lu_solve_of": "lu_solve",
        "weft.torch._functions.factors:lu_with_info": "lu",
        "weft.torch._functions.factors:removed_cholesky": "cholesky",
        "weft.torch._functions.factors:removed_eig": "eig",
        "weft.torch._functions.factors:removed_lstsq": "lstsq",
        "weft.torch._functions.factors:removed_matrix_rank": "matrix_rank",
        "weft.torch._functions.factors:removed_qr": "qr",
        "weft.torch._functions.factors:removed_solve": "solve",
        "weft.torch._functions.factors:removed_symeig": "symeig",
        "weft.torch._functions.norms": "frobenius_norm nuclear_norm pinverse renorm",
        "weft.torch._functions.norms:old_norm": "norm",
        "weft.torch._functions.products": "_int_mm chain_matmul matrix_exp matrix_power",
        "weft.torch._functions.spectra": "det lobpcg logdet pca_lowrank svd_lowrank",
        "weft.torch._functions.spectra:old_slogdet": "slogdet",
        "weft.torch._functions.spectra:old_svd": "svd",
        "weft.torch._functions.special": "logit mvlgamma polygamma",
        "weft.torch._functions.spectral": """
            bartlett_window blackman_window hamming_window hann_window kaiser_window""",
        "weft._composed.indexing": "pdist",
        "weft._composed.layers": "embedding_bag native_group_norm",
        "weft._composed.norms": "dist norm_except_dim",
        "weft._composed.spectral": "istft stft",
        "weft._composed.statistics": "corrcoef cov",
        "weft.random": """Generator default_generator get_rng_state initial_seed manual_seed seed set_rng_state""",
        "weft._drawing": """alpha_dropout alpha_dropout_ bernoulli binomial dropout dropout_ feature_alpha_dropout
            feature_alpha_dropout_ feature_dropout feature_dropout_ multinomial native_dropout normal poisson rand rand_like
            randint randint_like randn randn_like randperm rrelu rrelu_ _sample_dirichlet _standard_gamma""",
        "weft.torch": "newaxis",
        "weft.sparse._coo": "sparse_coo_tensor",
        "weft.sparse._csr": "sparse_compressed_tensor sparse_csc_tensor sparse_csr_tensor",
        "weft": "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu",
        "weft.torch._kinds": """
            BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor
            ShortTensor bcomplex32 bits16 bits1x8 bits2x4 bits4x2 bits8 chalf channels_last channels_last_3d complex32
            contiguous_format finfo float4_e2m1fn_x2 iinfo int1 int2 int3 int4 int5 int6 int7 jagged layout legacy_contiguous_format memory_format
            per_channel_affine per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine per_tensor_symmetric qscheme
            preserve_format qint32 qint8 quint2x4 quint4x2 quint8 sparse_bsc sparse_bsr sparse_coo sparse_csc sparse_csr
            strided uint1 uint2 uint3 uint4 uint5 uint6 uint7""",
        "weft.torch.storage": """
            BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage DoubleStorage
            FloatStorage HalfStorage IntStorage LongStorage QInt32Storage QInt8Storage QUInt4x2Storage QUInt8Storage ShortStorage
            StorageBase TypedStorage UntypedStorage""",
        "weft.torch.storage:TypedStorage": "Storage",
        "weft.torch._functions.making": """
            can_cast empty_permuted empty_strided from_file frombuffer range result_type scalar_tensor set_default_device
            set_default_tensor_type set_printoptions""",
        "weft.torch._functions.reductions": """
            all aminmax any count_nonzero cumulative_trapezoid diff gradient hash_tensor kthvalue
            logcumsumexp logsumexp max median min mode nanmedian nanquantile quantile sort
            std_mean trapezoid trapz var_mean""",
        "weft.torch._functions.product_sums": "einsum",
        "weft.torch._functions.shapes": """
            adjoint alias_copy as_strided_copy as_strided_scatter atleast_1d atleast_2d atleast_3d
            block_diag broadcast_shapes broadcast_tensors cartesian_prod clone combinations detach
            detach_copy diag diag_embed diagflat diagonal_copy diagonal_scatter expand_copy flip
            fliplr flipud meshgrid narrow_copy permute_copy roll rot90 select_copy select_scatter
            slice_copy slice_inverse slice_scatter squeeze_copy swapaxes swapdims t_copy tensordot
            transpose_copy tril_indices triu_indices unflatten unfold_copy unsqueeze_copy
            view_as_complex view_as_complex_copy view_as_real view_as_real_copy view_copy""",
        "weft.torch._functions.splitting": """
            dsplit hsplit split split_copy split_with_sizes split_with_sizes_copy tensor_split
            unbind_copy unsafe_chunk unsafe_split unsafe_split_with_sizes vsplit""",
        "weft.torch._functions.indexing": """
            argwhere gather index_add index_copy index_fill index_put index_reduce index_select masked_fill
            masked_scatter masked_select nonzero nonzero_static put scatter scatter_add scatter_reduce take
            take_along_dim where""",
        "weft.torch._functions.searching": """
            bincount bucketize histc histogram histogramdd isin msort repeat_interleave searchsorted unique
            unique_consecutive unravel_index""",
        "weft.torch._functions.arithmetic": """
            add addcdiv addcmul allclose angle clamp clamp_max clamp_min clip complex conj conj_physical frexp
            heaviside imag is_complex is_conj is_distributed is_floating_point is_inference is_neg is_nonzero
            is_same_size is_signed isclose isreal ldexp lerp logaddexp nan_to_num nextafter numel polar real
            resolve_conj resolve_neg rsub sgn sign square sub subtract""",
        "weft.torch._functions.matrix_products": """
            addbmm addmm addmv addr baddbmm bmm cdist dot dsmm ger inner mm mv outer spmm vander vdot""",
        "weft.torch._functions.layers": """
            adaptive_avg_pool1d adaptive_max_pool1d affine_grid_generator avg_pool1d batch_norm
            batch_norm_update_stats binary_cross_entropy_with_logits celu_ constant_pad_nd conv_tbc
            cosine_embedding_loss ctc_loss embedding embedding_renorm_ fill grid_sampler
            grid_sampler_2d grid_sampler_3d group_norm gru hinge_embedding_loss instance_norm kl_div
            layer_norm log_softmax lstm margin_ranking_loss max_pool1d_with_indices
            native_batch_norm native_channel_shuffle native_layer_norm poisson_nll_loss relu_ rnn_relu
            rnn_tanh segment_reduce selu_ softmax threshold threshold_ triplet_margin_loss""",
        "weft.torch._functions.settings": """
            _assert _assert_async are_deterministic_algorithms_enabled compile compiled_with_cxx11_abi cond
            get_deterministic_debug_mode get_device get_float32_matmul_precision has_lapack has_mkl
            has_openmp has_spectral is_deterministic_algorithms_warn_only_enabled is_storage thread_safe_generator
            is_vulkan_available is_warn_always_enabled prepare_multiprocessing_environment
            set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal set_warn_always
            sym_constrain_range sym_constrain_range_for_size sym_float sym_fresh_size sym_int sym_ite
            sym_max sym_min sym_not sym_sqrt sym_sum to_dlpack typename use_deterministic_algorithms
            while_loop""",
        "weft.torch._aten": "_chunk_cat _native_batch_norm_legit _unsafe_masked_index _unsafe_masked_index_put_accumulate",
        "weft.torch._functions.layers:segment_reduce": "_segment_reduce",
        "weft.torch._functions.quantized": """
            _empty_affine_quantized _make_per_channel_quantized_tensor _make_per_tensor_quantized_tensor dequantize
            fake_quantize_per_channel_affine fake_quantize_per_tensor_affine int_repr q_per_channel_axis
            q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point quantize_per_channel
            quantize_per_tensor quantize_per_tensor_dynamic quantized_max_pool2d""",
        "weft.torch._wrapper": "_has_compatible_shallow_copy_type",
        "weft.torch._tags": "Tag",
        "weft.torch._functions.checks": """
            SymBool SymFloat SymInt _check _check_index _check_is_size _check_not_implemented _check_tensor_all
            _check_tensor_all_with _check_type _check_value _check_with""",
        "weft.torch._functions.vmap": """
            vmap""",
        "weft.nn.functional:grouped_mm": "_grouped_mm",
        "weft.torch._functions.in_place": """
            abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ asin_
            asinh_ atan_ atanh_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ deg2rad_
            detach_ erf_ erfc_ exp2_ exp_ expm1_ fill_ fix_ floor_ frac_ gcd_ i0_ index_put_ lcm_ ldexp_
            log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ resize_as_
            round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ xlogy_ zero_""",
        "math": "e inf nan pi",
        "weft.jit": "fork wait Future",
        "weft.torch._overriding": "DisableTorchFunction DisableTorchFunctionSubclass",
        "weft.torch.serialization": "load save",
        "weft.torch._devices": "AcceleratorError Event OutOfMemoryError Stream get_device_module",
    },
    left_out={
        TRAINING: """
            batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats
            batch_norm_gather_stats_with_counts batch_norm_stats""",
        INTERNAL: """
            AVG AggregationType AliasDb AnyType Argument ArgumentSpec AwaitType BenchmarkConfig
            BenchmarkExecutionStats Block BoolType BufferDict CallStack Capsule ClassType Code
            CompilationUnit CompleteArgumentSpec ComplexType ConcreteModuleType ConcreteModuleTypeBuilder
            DeepCopyMemoTable DeserializationStorageContext DeviceObjType DictType DispatchKey DispatchKeySet EnumType ErrorReport
            ExcludeDispatchKeyGuard ExecutionPlan FatalError FileCheck FloatType FunctionSchema FutureType
            Gradient Graph GraphExecutorState IODescriptor InferredType IntType InterfaceType JITException
            ListType LiteScriptModule LockingLogger LoggerBase ModuleDict Node NoneType NoopLogger
            NumberType OperatorInfo OptionalType PRIVATE_OPS ParameterDict PyObjectType PyTorchFileReader
            PyTorchFileWriter RRefType SUM ScriptClass ScriptClassFunction ScriptDict ScriptDictIterator
            ScriptDictKeyIterator ScriptFunction ScriptList ScriptListIterator ScriptMethod ScriptModule
            ScriptModuleSerializer ScriptObject ScriptObjectProperty SerializationStorageContext
            StaticModule StreamObjType StringType SymBoolType SymIntType TYPE_CHECKING TensorType ThroughputBenchmark TracingState TupleType Type USE_GLOBAL_DEPS
            USE_RTLD_GLOBAL_WITH_LIBTORCH UnionType Use Value classproperty cudnn_affine_grid_generator
            cudnn_batch_norm cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu
            cudnn_convolution_transpose cudnn_grid_sampler cudnn_is_acceptable get_file_path
            import_ir_module import_ir_module_from_buffer init_num_threads merge_type_from_type_comment
            miopen_batch_norm miopen_convolution miopen_convolution_add_relu miopen_convolution_relu
            miopen_convolution_transpose miopen_ctc_loss miopen_depthwise_convolution miopen_rnn
            mkldnn_adaptive_avg_pool2d mkldnn_convolution mkldnn_linear_backward_weights mkldnn_max_pool2d
            mkldnn_max_pool3d mkldnn_rnn_layer native_norm parse_ir parse_schema parse_type_comment
            profiler_allow_cudagraph_cupti_lazy_reinit_cuda12 unify_type_list""",
        QUANTIZED: """
            QUInt2x4Storage bit
            choose_qparams_optimized empty_quantized fbgemm_linear_fp16_weight
            fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight
            fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight
            fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix fused_moving_avg_obs_fake_quant
            quantized_batch_norm quantized_gru quantized_gru_cell quantized_lstm quantized_lstm_cell
            quantized_max_pool1d quantized_max_pool3d quantized_rnn_relu_cell quantized_rnn_tanh_cell""",
        SPARSE: """
            ccol_indices_copy col_indices_copy crow_indices_copy hsmm hspmm indices_copy resize_as_sparse_
            row_indices_copy saddmm smm sparse_bsc_tensor sparse_bsr_tensor sspaddmm values_copy""",
    },
    same="weft",
)

METHODS = Namespace(
    "torch.Tensor",
    public="""
        H T abs abs_ absolute absolute_ acos acos_ acosh acosh_ add add_ addbmm addbmm_ addcdiv addcdiv_
        addcmul addcmul_ addmm addmm_ addmv addmv_ addr addr_ adjoint all allclose amax amin aminmax angle
        any apply_ arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan2 arctan2_
        arctan_ arctanh arctanh_ argmax argmin argsort argwhere as_strided as_strided_ as_strided_scatter
        as_subclass asin asin_ asinh asinh_ atan atan2 atan2_ atan_ atanh atanh_ backward baddbmm baddbmm_
        bernoulli bernoulli_ bfloat16 bincount bitwise_and bitwise_and_ bitwise_left_shift
        bitwise_left_shift_ bitwise_not bitwise_not_ bitwise_or bitwise_or_ bitwise_right_shift
        bitwise_right_shift_ bitwise_xor bitwise_xor_ bmm bool broadcast_to byte cauchy_ ccol_indices
        cdouble ceil ceil_ cfloat chalf char cholesky cholesky_inverse cholesky_solve chunk clamp clamp_
        clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ clone coalesce col_indices conj conj_physical
        conj_physical_ const_data_ptr contiguous copy_ copysign copysign_ corrcoef cos cos_ cosh cosh_
        count_nonzero cov cpu cross crow_indices cuda cummax cummin cumprod cumprod_ cumsum cumsum_ data
        data_ptr deg2rad deg2rad_ dense_dim dequantize det detach detach_ device diag diag_embed diagflat
        diagonal diagonal_scatter diff digamma digamma_ dim dim_order dist div div_ divide divide_ dot
        double dsplit dtype eig element_size eq eq_ equal erf erf_ erfc erfc_ erfinv erfinv_ exp exp2 exp2_
        exp_ expand expand_as expm1 expm1_ exponential_ fill_ fill_diagonal_ fix fix_ flatten flip fliplr
        flipud float float_power float_power_ floor floor_ floor_divide floor_divide_ fmax fmin fmod fmod_
        frac frac_ frexp gather gcd gcd_ ge ge_ geometric_ geqrf ger get_device grad grad_dtype grad_fn
        greater greater_ greater_equal greater_equal_ gt gt_ half hardshrink hash_tensor heaviside
        heaviside_ histc histogram hsplit hypot hypot_ i0 i0_ igamma igamma_ igammac igammac_ imag index
        index_add index_add_ index_copy index_copy_ index_fill index_fill_ index_put index_put_ index_reduce
        index_reduce_ index_select indices inner int int_repr inverse ipu is_coalesced is_complex is_conj
        is_contiguous is_cpu is_cuda is_distributed is_floating_point is_inference is_ipu is_leaf is_maia
        is_meta is_mkldnn is_mps is_mtia is_neg is_nested is_nonzero is_pinned is_quantized is_same_size
        is_set_to is_shared is_signed is_sparse is_sparse_csr is_vulkan is_xla is_xpu isclose isfinite isinf
        isnan isneginf isposinf isreal istft item itemsize kron kthvalue layout lcm lcm_ ldexp ldexp_ le le_
        lerp lerp_ less less_ less_equal less_equal_ lgamma lgamma_ log log10 log10_ log1p log1p_ log2 log2_
        log_ log_normal_ log_softmax logaddexp logaddexp2 logcumsumexp logdet logical_and logical_and_
        logical_not logical_not_ logical_or logical_or_ logical_xor logical_xor_ logit logit_ logsumexp long
        lstsq lt lt_ lu lu_solve mH mT map2_ map_ masked_fill masked_fill_ masked_scatter masked_scatter_
        masked_select matmul matrix_exp matrix_power max maximum mean median min minimum mm mode module_load
        moveaxis movedim msort mtia mul mul_ multinomial multiply multiply_ mv mvlgamma mvlgamma_ name
        nan_to_num nan_to_num_ nanmean nanmedian nanquantile nansum narrow narrow_copy nbytes ndim
        ndimension ne ne_ neg neg_ negative negative_ nelement new new_empty new_empty_strided new_full
        new_ones new_tensor new_zeros nextafter nextafter_ nonzero nonzero_static norm normal_ not_equal
        not_equal_ numel numpy orgqr ormqr outer output_nr permute pin_memory pinverse polygamma polygamma_
        positive pow pow_ prelu prod put put_ q_per_channel_axis q_per_channel_scales
        q_per_channel_zero_points q_scale q_zero_point qr qscheme quantile rad2deg rad2deg_ random_ ravel
        real reciprocal reciprocal_ record_stream register_hook register_post_accumulate_grad_hook reinforce
        relu relu_ remainder remainder_ renorm renorm_ repeat repeat_interleave requires_grad requires_grad_
        reshape reshape_as resize resize_ resize_as resize_as_ resize_as_sparse_ resolve_conj resolve_neg
        retain_grad retains_grad roll rot90 round round_ row_indices rsqrt rsqrt_ scatter scatter_
        scatter_add scatter_add_ scatter_reduce scatter_reduce_ select select_scatter set_ sgn sgn_ shape
        share_memory_ short sigmoid sigmoid_ sign sign_ signbit sin sin_ sinc sinc_ sinh sinh_ size
        slice_inverse slice_scatter slogdet smm softmax solve sort sparse_dim sparse_mask sparse_resize_
        sparse_resize_and_clear_ split split_with_sizes sqrt sqrt_ square square_ squeeze squeeze_ sspaddmm
        std stft storage storage_offset storage_type stride sub sub_ subtract subtract_ sum sum_to_size svd
        swapaxes swapaxes_ swapdims swapdims_ symeig t t_ take take_along_dim tan tan_ tanh tanh_
        tensor_split tile to to_dense to_mkldnn to_padded_tensor to_sparse to_sparse_bsc to_sparse_bsr
        to_sparse_coo to_sparse_csc to_sparse_csr tolist topk trace transpose transpose_ triangular_solve
        tril tril_ triu triu_ true_divide true_divide_ trunc trunc_ type type_as unbind unflatten unfold
        uniform_ unique unique_consecutive unsafe_chunk unsafe_split unsafe_split_with_sizes unsqueeze
        unsqueeze_ untyped_storage values var vdot view view_as volatile vsplit where xlogy xlogy_ xpu zero_""",
    found={
        "weft.torch._functions.factors:lu_method": "lu",
        "weft.torch._functions.norms:norm_of": "norm",
        "weft.torch._functions.norms:renorm_into": "renorm_",
        "weft.torch._functions.special:logit_into": "logit_",
        "weft.torch._functions.special:mvlgamma_into": "mvlgamma_",
        "weft.torch._functions.special:polygamma_of": "polygamma",
        "weft.torch._functions.special:polygamma_into": "polygamma_",
        "weft._drawing": """bernoulli bernoulli_ cauchy_ exponential_ geometric_ log_normal_ multinomial normal_ random_
            uniform_""",
        # The function of torch, called with the tensor, where torch has one that is not weft's operator itself.
        "function": """
            dequantize int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point
            add addbmm addcdiv addcmul addmm addmv addr adjoint all allclose amax amin aminmax angle any
            argmax argmin argsort argwhere as_strided_scatter baddbmm bincount bmm cholesky_inverse
            cholesky_solve chunk clamp clamp_max clamp_min clip conj conj_physical corrcoef count_nonzero
            cov cross cummax cummin cumprod cumsum det diag diag_embed diagflat diagonal diagonal_scatter
            diff dist dot equal erfinv flip fliplr flipud float_power frexp gather gcd geqrf ger
            get_device hardshrink hash_tensor heaviside histc histogram igamma igammac index_add
            index_copy index_fill index_put index_reduce index_select inner inverse is_conj is_distributed
            is_inference is_neg is_nonzero is_same_size isclose isreal istft kron kthvalue lcm ldexp lerp
            log_softmax logaddexp logaddexp2 logcumsumexp logdet logit logsumexp lu_solve masked_fill
            masked_scatter masked_select matmul matrix_exp matrix_power max mean median min mm mode msort mv
            mvlgamma nan_to_num nanmean nanmedian nanquantile nansum narrow narrow_copy nextafter nonzero
            nonzero_static orgqr ormqr outer pinverse prelu prod put quantile renorm repeat_interleave
            resolve_conj resolve_neg roll rot90 scatter scatter_add scatter_reduce select_scatter sgn sign
            slice_inverse slice_scatter slogdet softmax sort split split_with_sizes square std stft sub
            subtract sum svd swapaxes swapdims symeig take take_along_dim tensor_split tile topk trace
            triangular_solve unflatten unique unique_consecutive unsafe_chunk unsafe_split
            unsafe_split_with_sizes var vdot """,
        # The method without the underscore, written into the tensor.
        "in place": """
            addbmm_ addcdiv_ addcmul_ addmm_ addmv_ addr_ baddbmm_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cumprod_ cumsum_ div_
            divide_ float_power_ heaviside_ igamma_ igammac_ index_add_ index_copy_ index_fill_ index_put_ index_reduce_
            ldexp_ lerp_ masked_fill_ masked_scatter_ nan_to_num_ nextafter_ put_ reciprocal_ scatter_ scatter_add_ scatter_reduce_ sgn_ sign_
            tril_ triu_""",
        "weft.torch._functions.tensor_methods": """
            H _make_wrapper_subclass _version apply_ as_strided_ as_subclass backward chalf coalesce const_data_ptr dense_dim
            detach_ dim_order expand_as fill_diagonal_ grad grad_dtype grad_fn index is_coalesced is_cpu
            is_ipu is_leaf is_maia is_mkldnn is_mps is_mtia is_nested is_quantized is_set_to
            is_shared is_sparse is_sparse_csr is_vulkan is_xla is_xpu layout mH map2_ map_ name ndimension
            new new_empty new_empty_strided new_full new_ones new_tensor new_zeros output_nr
            record_stream register_hook register_post_accumulate_grad_hook requires_grad_ reshape_as resize
            resize_ resize_as resize_as_ retain_grad retains_grad set_ share_memory_ sparse_dim squeeze_
            storage storage_type sum_to_size swapaxes_ swapdims_ t_ to_dense to_sparse to_sparse_csc to_sparse_csr
            transpose_ type_as unsqueeze_ untyped_storage view_as volatile dsplit hsplit vsplit""",
        "weft.torch._functions.quantized": "qscheme",
        "weft.torch._functions.tensor_methods:to_sparse": "to_sparse_coo",
        "weft.torch._functions.tensor_methods:contains": "__contains__",
        "weft.torch._functions.tensor_methods:backwards": "__reversed__",
        "weft.torch._functions.tensor_methods:array_wrap": "__array_wrap__",
        "weft:Tensor.__rtruediv__": "__rdiv__",
    },
    left_out={
        TRAINING: "module_load reinforce",
        INTERNAL: "ipu mtia xpu to_mkldnn",
        SPARSE: """
            ccol_indices col_indices crow_indices indices resize_as_sparse_ row_indices smm sparse_mask sparse_resize_
            sparse_resize_and_clear_ sspaddmm to_padded_tensor to_sparse_bsc to_sparse_bsr values""",
    },
    same="weft:Tensor",
    functions=FUNCTIONS,
)

NN = Namespace(
    "torch.nn",
    public="""
        AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveLogSoftmaxWithLoss AdaptiveMaxPool1d
        AdaptiveMaxPool2d AdaptiveMaxPool3d AlphaDropout AvgPool1d AvgPool2d AvgPool3d BCELoss
        BCEWithLogitsLoss BatchNorm1d BatchNorm2d BatchNorm3d Bilinear Buffer CELU CTCLoss ChannelShuffle
        CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d Container Conv1d
        Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d CosineEmbeddingLoss CosineSimilarity
        CrossEntropyLoss CrossMapLRN2d DataParallel Dropout Dropout1d Dropout2d Dropout3d ELU Embedding
        EmbeddingBag FeatureAlphaDropout Flatten Fold FractionalMaxPool2d FractionalMaxPool3d GELU GLU GRU
        GRUCell GaussianNLLLoss GroupNorm Hardshrink Hardsigmoid Hardswish Hardtanh HingeEmbeddingLoss
        HuberLoss Identity InstanceNorm1d InstanceNorm2d InstanceNorm3d KLDivLoss L1Loss LPPool1d LPPool2d
        LPPool3d LSTM LSTMCell LayerNorm LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d
        LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d
        LazyInstanceNorm2d LazyInstanceNorm3d LazyLinear LeakyReLU Linear LinearCrossEntropyLoss
        LinearCrossEntropyOptions LocalResponseNorm LogSigmoid LogSoftmax MSELoss MarginRankingLoss
        MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d Mish Module ModuleDict ModuleList
        MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss MultiheadAttention NLLLoss NLLLoss2d
        PReLU PairwiseDistance Parameter ParameterDict ParameterList PixelShuffle PixelUnshuffle
        PoissonNLLLoss RMSNorm RNN RNNBase RNNCell RNNCellBase RReLU ReLU ReLU6 ReflectionPad1d
        ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d SELU Sequential
        SiLU Sigmoid SmoothL1Loss SoftMarginLoss Softmax Softmax2d Softmin Softplus Softshrink Softsign
        SyncBatchNorm Tanh Tanhshrink Threshold Transformer TransformerDecoder TransformerDecoderLayer
        TransformerEncoder TransformerEncoderLayer TripletMarginLoss TripletMarginWithDistanceLoss Unflatten
        Unfold UninitializedBuffer UninitializedParameter Upsample UpsamplingBilinear2d UpsamplingNearest2d
        ZeroPad1d ZeroPad2d ZeroPad3d attention common_types factory_kwargs functional grad init intrinsic
        modules parallel parameter qat quantizable quantized utils""",
    found={},
    left_out={QUANTIZED: "intrinsic qat quantizable quantized"},
    same="weft.nn",
)

FUNCTIONAL = Namespace(
    "torch.nn.functional",
    public="""
        BroadcastingList1 BroadcastingList2 BroadcastingList3 DType GRID_SAMPLE_INTERPOLATION_MODES
        GRID_SAMPLE_PADDING_MODES ScalingType SwizzleType Tensor adaptive_avg_pool1d adaptive_avg_pool2d
        adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool1d_with_indices adaptive_max_pool2d
        adaptive_max_pool2d_with_indices adaptive_max_pool3d adaptive_max_pool3d_with_indices affine_grid
        alpha_dropout assert_int_or_pair avg_pool1d avg_pool2d avg_pool3d batch_norm bilinear
        binary_cross_entropy binary_cross_entropy_with_logits boolean_dispatch celu celu_ channel_shuffle
        conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d
        cosine_embedding_loss cosine_similarity cross_entropy ctc_loss dataclasses dropout dropout1d
        dropout2d dropout3d elu elu_ embedding embedding_bag feature_alpha_dropout fold
        fractional_max_pool2d fractional_max_pool2d_with_indices fractional_max_pool3d
        fractional_max_pool3d_with_indices gaussian_nll_loss gelu glu grad grid_sample group_norm grouped_mm
        gumbel_softmax handle_torch_function hardshrink hardsigmoid hardswish hardtanh hardtanh_
        has_torch_function has_torch_function_unary has_torch_function_variadic hinge_embedding_loss
        huber_loss instance_norm interpolate kl_div l1_loss layer_norm leaky_relu leaky_relu_ linear
        linear_cross_entropy local_response_norm log_softmax logsigmoid lp_pool1d lp_pool2d lp_pool3d
        margin_ranking_loss max_pool1d max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d
        max_pool3d_with_indices max_unpool1d max_unpool2d max_unpool3d mish mse_loss
        multi_head_attention_forward multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss
        native_channel_shuffle nll_loss normalize np one_hot pad pairwise_distance pdist pixel_shuffle
        pixel_unshuffle poisson_nll_loss prelu relu relu6 relu_ reproducibility_notes rms_norm rrelu rrelu_
        scaled_addmm scaled_addmm_ scaled_dot_product_attention scaled_grouped_mm scaled_mm selu selu_
        sigmoid silu smooth_l1_loss soft_margin_loss softmax softmin softplus softshrink softsign
        sparse_support_notes tanh tanhshrink tf32_notes threshold threshold_ torch triplet_margin_loss
        triplet_margin_with_distance_loss unfold upsample upsample_bilinear upsample_nearest""",
    found={},
    left_out={
        QUANTIZED: "scaled_addmm scaled_addmm_ scaled_grouped_mm scaled_mm",
        "it is part of PyTorch's documentation": "reproducibility_notes sparse_support_notes tf32_notes",
        "it is a module that PyTorch's file imports": "dataclasses np torch",
    },
    same="weft.nn.functional",
)

LINALG = Namespace(
    "torch.linalg",
    public="""
        LinAlgError cholesky cholesky_ex common_notes cond cross det diagonal eig eigh eigvals eigvalsh
        householder_product inv inv_ex ldl_factor ldl_factor_ex ldl_solve lstsq lu lu_factor lu_factor_ex
        lu_solve matmul matrix_exp matrix_norm matrix_power matrix_rank matrix_sqrth multi_dot norm pinv
        polar qr slogdet solve solve_ex solve_triangular svd svdvals tensorinv tensorsolve vander vecdot
        vector_norm""",
    found={},
    left_out={
        DOCUMENTATION: "common_notes",
    },
    same="weft.torch.linalg",
)

FFT = Namespace(
    "torch.fft",
    public="""
        Tensor common_args factory_common_args fft fft2 fftfreq fftn fftshift hfft hfft2 hfftn ifft ifft2
        ifftn ifftshift ihfft ihfft2 ihfftn irfft irfft2 irfftn rfft rfft2 rfftfreq rfftn torch""",
    found={},
    left_out={
        DOCUMENTATION: "common_args factory_common_args torch",
    },
    same="weft.torch.fft",
)

SPECIAL = Namespace(
    "torch.special",
    public="""
        Tensor airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u
        chebyshev_polynomial_v chebyshev_polynomial_w common_args digamma entr erf erfc erfcx erfinv exp2
        expit expm1 gammainc gammaincc gammaln hermite_polynomial_h hermite_polynomial_he i0 i0e i1 i1e
        laguerre_polynomial_l legendre_polynomial_p log1p log_ndtr log_softmax logit logsumexp
        modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 multi_dim_common
        multigammaln ndtr ndtri polygamma psi round scaled_modified_bessel_k0 scaled_modified_bessel_k1
        shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v
        shifted_chebyshev_polynomial_w sinc softmax spherical_bessel_j0 torch xlog1py xlogy zeta""",
    found={},
    left_out={
        DOCUMENTATION: "common_args multi_dim_common torch",
    },
    same="weft.torch.special",
)

NAMESPACES = (FUNCTIONS, METHODS, NN, FUNCTIONAL, LINALG, FFT, SPECIAL)
