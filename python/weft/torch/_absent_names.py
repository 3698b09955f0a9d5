"""The modules of PyTorch that programs import and weft does not have: their public names, by the reason.

Importing them succeeds, so that a program that only uses them elsewhere runs; using a name raises with the reason.

source: the public names of PyTorch 2.15.
"""

from ._names import DISTRIBUTED, INTERNAL, QUANTIZED, SPARSE, TRAINING

GRAPHS = "it makes graphs of PyTorch's own; use weft.compile, or weft.jit.trace for a graph to keep"

MODULES = {
    TRAINING: {
        "optim": """
            ASGD Adadelta Adafactor Adagrad Adam AdamW Adamax LBFGS Muon NAdam Optimizer RAdam
            RMSprop Rprop SGD SparseAdam swap_in_optimizer_params_and_state""",
        "optim.lr_scheduler": """
            ChainedScheduler ConstantLR CosineAnnealingLR CosineAnnealingWarmRestarts CyclicLR
            ExponentialLR LRScheduler _LRScheduler LambdaLR LinearLR MultiStepLR MultiplicativeLR OneCycleLR
            PolynomialLR ReduceLROnPlateau SequentialLR StepLR""",
        "optim.optimizer": """
            Optimizer ParamsT _default_to_fused_or_foreach _get_capturable_supported_devices
            _use_grad_for_differentiable register_optimizer_step_post_hook
            register_optimizer_step_pre_hook required""",
        "optim.swa_utils": """
            AveragedModel SWALR get_ema_avg_fn get_ema_multi_avg_fn get_swa_avg_fn
            get_swa_multi_avg_fn update_bn""",
        "optim.adam": "Adam adam",
        "optim.adamw": "AdamW adamw",
        "optim.sgd": "SGD sgd",
        "optim._functional": """
            adadelta adagrad adam adamax adamw asgd nadam radam rmsprop rprop sgd sparse_adam""",
        "optim._multi_tensor": """
            ASGD Adadelta Adagrad Adam AdamW Adamax NAdam RAdam RMSprop Rprop SGD partialclass""",
        "autograd.functional": "hessian hvp jacobian jvp vhp vjp",
        "autograd.forward_ad": """
            dual_level enter_dual_level exit_dual_level make_dual""",
        "autograd.gradcheck": """
            GradcheckError get_analytical_jacobian get_numerical_jacobian
            get_numerical_jacobian_wrt_specific_input gradcheck gradgradcheck""",
        "autograd.anomaly_mode": "detect_anomaly set_detect_anomaly",
        "autograd.graph": """
            GradientEdge Node allow_mutation_on_saved_tensors disable_saved_tensors_hooks
            get_gradient_edge increment_version node_creation_hook queue_callback
            region_activation_memory_budget register_multi_grad_hook save_on_cpu saved_tensors_hooks
            set_override_stale_capture_stream set_warn_on_accumulate_grad_stream_mismatch""",
        "distributed.optim": """
            DistributedOptimizer PostLocalSGDOptimizer ZeroRedundancyOptimizer as_functional_optim""",
        "ao.pruning": "BaseScheduler CubicSL LambdaSL NearlyDiagonalSparsifier",
    },
    QUANTIZED: {
        "ao.quantization": """
            AffineQuantizedObserverBase FakeQuantize FakeQuantizeBase FixedQParamsFakeQuantize
            FusedMovingAvgObsFakeQuantize Granularity MappingType ObserverOrFakeQuantize PerAxis
            PerBlock PerGroup PerRow PerTensor PerToken QConfigAny QuantType
            ReuseInputObserver TorchAODType ZeroPointDomain convert_dynamic_jit convert_jit
            default_affine_fixed_qparams_fake_quant default_dynamic_fake_quant
            default_embedding_fake_quant default_embedding_fake_quant_4bit default_fake_quant
            default_fixed_qparams_range_0to1_fake_quant
            default_fixed_qparams_range_neg1to1_fake_quant default_fused_act_fake_quant
            default_fused_per_channel_wt_fake_quant default_fused_wt_fake_quant
            default_histogram_fake_quant default_per_channel_weight_fake_quant
            default_symmetric_fixed_qparams_fake_quant default_weight_fake_quant disable_fake_quant
            disable_observer enable_fake_quant enable_observer fuse_conv_bn fuse_conv_bn_jit
            fuse_conv_bn_relu fuse_convtranspose_bn fuse_linear_bn
            fused_per_channel_wt_fake_quant_range_neg_127_to_127
            fused_wt_fake_quant_range_neg_127_to_127 get_block_size
            get_default_compare_output_module_list get_default_custom_config_dict
            get_default_dynamic_sparse_quant_module_mappings
            get_default_float_to_quantized_operator_mappings get_default_qat_module_mappings
            get_default_qat_qconfig get_default_qat_qconfig_dict get_default_qat_qconfig_mapping
            get_default_qconfig_dict get_default_qconfig_mapping
            get_default_static_quant_reference_module_mappings
            get_default_static_sparse_quant_module_mappings get_dynamic_quant_module_class
            get_embedding_qat_module_mappings get_embedding_static_quant_module_mappings
            get_fuser_method get_fuser_method_new get_quantized_operator
            get_static_quant_module_class load_observer_state_dict no_observer_set
            prepare_dynamic_jit prepare_jit qconfig_equals quantize_dynamic_jit quantize_jit
            script_qconfig script_qconfig_dict""",
        "ao.nn": "",
        "ao.nn.quantized": "LSTM MultiheadAttention",
        "ao.nn.intrinsic": "ConvAdd2d ConvAddReLU2d LinearLeakyReLU LinearTanh",
        "ao.nn.qat": "Conv1d Conv2d Conv3d Embedding EmbeddingBag Linear",
        "ao.nn.quantized.dynamic": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
        "ao.quantization.quantize_fx": """
            BackendConfig ConvertCustomConfig FuseCustomConfig ObservedGraphModule PrepareCustomConfig QuantizationTracer
            ScopeContextManager attach_preserved_attrs_to_model convert convert_to_reference_fx fuse
            get_custom_module_class_keys get_skipped_module_name_and_classes
            get_tensorrt_backend_config prepare prepare_qat_fx""",
        "ao.quantization.observer": """
            AffineQuantizedObserverBase Granularity MappingType PerAxis PerBlock PerGroup PerRow
            PerTensor PerToken ReuseInputObserver TorchAODType ZeroPointDomain get_block_size
            load_observer_state_dict""",
        "ao.quantization.fake_quantize": """
            FakeQuantize FakeQuantizeBase FixedQParamsFakeQuantize FusedMovingAvgObsFakeQuantize
            default_affine_fixed_qparams_fake_quant default_dynamic_fake_quant
            default_embedding_fake_quant default_embedding_fake_quant_4bit default_fake_quant
            default_fixed_qparams_range_0to1_fake_quant
            default_fixed_qparams_range_neg1to1_fake_quant default_fused_act_fake_quant
            default_fused_per_channel_wt_fake_quant default_fused_wt_fake_quant
            default_histogram_fake_quant default_per_channel_weight_fake_quant
            default_symmetric_fixed_qparams_fake_quant default_weight_fake_quant disable_fake_quant
            disable_observer enable_fake_quant enable_observer
            fused_per_channel_wt_fake_quant_range_neg_127_to_127
            fused_wt_fake_quant_range_neg_127_to_127""",
        "ao.quantization.qconfig": """
            QConfigAny get_default_qat_qconfig get_default_qat_qconfig_dict get_default_qconfig_dict
            qconfig_equals""",
        "ao.ns": "",
        "quantization": """
            QuantType default_fake_quant default_fixed_qparams_range_0to1_fake_quant
            default_fixed_qparams_range_neg1to1_fake_quant default_histogram_fake_quant
            default_per_channel_weight_fake_quant default_weight_fake_quant
            get_default_compare_output_module_list get_default_qat_module_mappings get_fuser_method
            get_quantized_operator get_static_quant_module_class quantize_dynamic_jit quantize_jit""",
        "quantization.observer": "",
        "quantization.quantize_fx": "",
        "nn.intrinsic": "",
        "nn.intrinsic.quantized": "",
        "nn.qat": "Conv1d Conv2d Conv3d Embedding EmbeddingBag Linear",
        "nn.quantized": "LSTM MultiheadAttention",
        "nn.quantizable": "",
        "nn.quantized.dynamic": "",
        "jit": "_get_trace_graph",
        "jit.quantized": """
            QuantizedGRU QuantizedGRUCell QuantizedLSTM QuantizedLSTMCell QuantizedLinear
            QuantizedLinearFP16 QuantizedRNNBase QuantizedRNNCell QuantizedRNNCellBase
            quantize_linear_modules quantize_rnn_cell_modules quantize_rnn_modules""",
    },
    DISTRIBUTED: {
        "utils.data.dataloader": """
            _BaseDataLoaderIter _MultiProcessingDataLoaderIter _SingleProcessDataLoaderIter""",
        "distributed.nn": """
            ReduceOp RemoteModule all_gather all_reduce all_to_all all_to_all_single broadcast
            gather group reduce reduce_scatter scatter""",
        "distributed.nn.functional": """
            ReduceOp all_gather all_reduce all_to_all all_to_all_single broadcast gather group
            reduce reduce_scatter scatter""",
        "distributed.fsdp": """
            BackwardPrefetch CPUOffload CPUOffloadPolicy DataParallelMeshDims FSDPModule
            FlatParameter FullOptimStateDictConfig FullStateDictConfig FullyShardedDataParallel
            GradientReductionHandle LocalOptimStateDictConfig LocalStateDictConfig MixedPrecision
            MixedPrecisionPolicy OffloadPolicy OptimStateDictConfig OptimStateKeyType
            ShardedOptimStateDictConfig ShardedStateDictConfig ShardingStrategy StateDictConfig
            StateDictSettings StateDictType UnshardHandle fully_shard register_fsdp_forward_method
            share_comm_ctx""",
        "distributed.fsdp.wrap": """
            CustomPolicy ModuleWrapPolicy always_wrap_policy enable_wrap lambda_auto_wrap_policy
            size_based_auto_wrap_policy transformer_auto_wrap_policy wrap""",
        "distributed.fsdp.fully_sharded_data_parallel": "FullyShardedDataParallel OptimStateKeyType",
        "distributed.tensor": """
            DTensor distribute_module distribute_tensor empty full linspace logspace ones rand randn
            zeros""",
        "distributed.tensor._utils": """
            ExplicitRedistributionContext compute_global_tensor_shape compute_local_shape_and_global_offset
            compute_local_stride compute_local_tensor_info normalize_to_torch_size try_find_mesh_from_args""",
        "distributed.tensor.device_mesh": "DeviceMesh init_device_mesh",
        "distributed.tensor.experimental": """
            context_parallel implicit_replication local_map register_sharding""",
        "distributed.tensor.parallel": """
            ColwiseParallel ParallelStyle PrepareModuleInput PrepareModuleInputOutput
            PrepareModuleOutput RowwiseParallel SequenceParallel loss_parallel parallelize_module""",
        "distributed._tensor": """
            DTensor DeviceMesh distribute_module distribute_tensor empty full init_device_mesh ones
            rand randn zeros""",
        "distributed.device_mesh": "DeviceMesh init_device_mesh",
        "distributed.checkpoint": """
            BytesStorageMetadata CheckpointException CheckpointableTensor ChunkStorageMetadata
            DefaultLoadPlanner DefaultSavePlanner FileSystemReader FileSystemWriter FsspecReader
            FsspecWriter HuggingFaceStorageReader HuggingFaceStorageWriter LoadPlan LoadPlanner
            Metadata QuantizedHuggingFaceStorageReader ReadItem SavePlan SavePlanner StorageReader
            StorageWriter TensorStorageMetadata WriteItem async_save load
            load_sharded_optimizer_state_dict load_state_dict save save_state_dict""",
        "distributed.checkpoint.state_dict": """
            StateDictOptions get_model_state_dict get_optimizer_state_dict get_state_dict
            set_model_state_dict set_optimizer_state_dict set_state_dict""",
        "distributed.checkpoint.default_planner": """
            DefaultLoadPlanner DefaultSavePlanner create_default_global_load_plan
            create_default_global_save_plan create_default_local_load_plan
            create_default_local_save_plan""",
        "distributed.checkpoint.hf_storage": "HuggingFaceStorageReader HuggingFaceStorageWriter",
        "distributed.algorithms": "Join JoinHook Joinable",
        "distributed.algorithms._checkpoint.checkpoint_wrapper": """
            ActivationWrapper CheckpointImpl CheckpointWrapper OffloadWrapper
            apply_activation_checkpointing checkpoint_wrapper offload_wrapper""",
        "distributed.algorithms.join": "Join JoinHook Joinable",
        "distributed.elastic": "",
        "distributed.elastic.multiprocessing": """
            DefaultLogsSpecs LogsDest LogsSpecs MultiprocessContext PContext ProcessFailure
            RunProcsResult SignalException Std SubprocessContext start_processes to_map""",
        "distributed.elastic.multiprocessing.errors": "ChildFailedError ErrorHandler ProcessFailure get_error_handler record",
        "distributed.rpc": """
            AllGatherStates BackendType RRef TensorPipeRpcBackendOptions get_worker_info init_rpc
            is_available method_factory new_method remote rpc_async rpc_sync shutdown""",
        "distributed.pipelining": """
            Pipe PipelineActivationLiveness PipelineStage PipelineStageInfo Schedule1F1B
            ScheduleDualPipeV ScheduleGPipe ScheduleInterleaved1F1B ScheduleInterleavedZeroBubble
            ScheduleLoopedBFS ScheduleZBVZeroBubble SplitPoint analyze_pipeline_activation_liveness
            build_stage pipe_split pipeline""",
        "distributed._functional_collectives": """
            AsyncCollectiveTensor DeviceMesh ReduceOp all_gather_inplace
            all_gather_into_tensor_backward all_gather_into_tensor_coalesced
            all_gather_into_tensor_coalesced_backward all_gather_into_tensor_coalesced_setup_context
            all_gather_into_tensor_setup_context all_gather_single all_gather_single_autograd
            all_gather_single_coalesced all_gather_tensor all_gather_tensor_autograd
            all_gather_tensor_inplace all_reduce all_reduce_backward all_reduce_coalesced
            all_reduce_coalesced_backward all_reduce_coalesced_setup_context all_reduce_inplace
            all_reduce_setup_context all_to_all_inplace all_to_all_single all_to_all_single_autograd
            all_to_all_single_backward all_to_all_single_setup_context
            allow_inflight_collective_as_graph_input_ctx backend_impl batch_p2p_ops_inplace
            broadcast irecv_inplace isend_inplace legacy_all_gather legacy_all_gather_base
            legacy_all_to_all_single legacy_allgather legacy_allgather_single legacy_allreduce
            legacy_batch_p2p_ops legacy_irecv legacy_isend legacy_reduce_scatter
            legacy_reduce_scatter_base legacy_reducescatter legacy_reducescatter_single
            permute_tensor reduce_scatter_inplace reduce_scatter_single
            reduce_scatter_single_autograd reduce_scatter_single_coalesced reduce_scatter_tensor
            reduce_scatter_tensor_autograd reduce_scatter_tensor_backward
            reduce_scatter_tensor_coalesced reduce_scatter_tensor_coalesced_backward
            reduce_scatter_tensor_coalesced_setup_context reduce_scatter_tensor_inplace
            reduce_scatter_tensor_setup_context wait_tensor wait_tensor_backward wait_tensors
            wait_tensors_backward""",
        "distributed._composable": "checkpoint contract replicate",
        "distributed._composable.fsdp": """
            CPUOffloadPolicy FSDPModule MixedPrecisionPolicy OffloadPolicy fully_shard
            register_fsdp_forward_method""",
        "distributed._symmetric_memory": """
            Work all_to_all_nd empty enable_symm_mem_for_group get get_backend get_mem_pool
            get_mempool_allocator get_signal_pad_size get_symm_mem_workspace is_nvshmem_available
            is_symm_mem_enabled_for_group is_symm_mem_tensor make_contiguous_for_perm put_signal
            reduce_partials reduce_scatter_offset rendezvous
            restride_A_for_fused_matmul_reduce_scatter restride_A_shard_for_fused_all_gather_matmul
            set_backend set_signal_pad_size triton_reduce_partials_first_dim wait_signal""",
        "distributed._shard": "load_with_process_group shard_module shard_parameter",
        "distributed._shard.sharded_tensor": """
            Shard ShardMetadata ShardedTensor ShardedTensorBase ShardedTensorMetadata
            TensorProperties allclose constant_ custom_sharded_op_impl empty equal full
            init_from_local_shards kaiming_uniform_ normal_ ones pre_load_state_dict_hook rand randn
            sharded_embedding sharded_embedding_bag state_dict_hook uniform_ zeros""",
        "distributed.autograd": "context is_available",
    },
    SPARSE: {
        "sparse": """
            SparseSemiStructuredTensorCUSPARSELT SparseSemiStructuredTensorCUTLASS as_sparse_gradcheck
            check_sparse_tensor_invariants log_softmax softmax solve""",
        "sparse._triton_ops_meta": "get_meta minimize update",
        "sparse.semi_structured": """
            SparseSemiStructuredTensorCUSPARSELT SparseSemiStructuredTensorCUTLASS""",
        "masked": "MaskedTensor as_masked_tensor masked_tensor",
    },
    GRAPHS: {
        "export": """
            AdditionalInputs CustomDecompTable ExportBackwardSignature FlatArgsAdapter ModuleCallEntry
            ModuleCallSignature UnflattenedModule draft_export unflatten""",
        "export.dynamic_shapes": "AdditionalInputs refine_dynamic_shapes_from_suggested_fixes",
        "onnx": """
            ExportableModule InputObserver JitScalarType ONNXProgram OnnxExporterError export
            select_model_mode_for_export unregister_custom_op_symbolic""",
        "onnx.symbolic_helper": """
            args_have_same_dtype check_training_mode dequantize_helper is_complex_value
            quantize_helper quantized_args requantize_bias_helper""",
        "onnx.utils": """
            disable_apex_o2_state_dict_hook export exporter_context model_signature
            register_custom_op_symbolic select_model_mode_for_export setup_onnx_logging
            unconvertible_ops unpack_quantized_tensor unregister_custom_op_symbolic
            warn_on_static_input_change""",
        "onnx.operators": "",
        "onnx.symbolic_opset11": "",
        "onnx.errors": "OnnxExporterWarning SymbolicValueError UnsupportedOperatorError",
        "fx.experimental.proxy_tensor": """
            DecompositionInterpreter PreDispatchTorchFunctionMode ProxyTorchDispatchMode
            PythonKeyTracer TorchFunctionMetadataMode decompose disable_autocast_cache
            disable_proxy_modes_tracing dispatch_trace extract_val fake_signature fetch_object_proxy
            fetch_sym_proxy get_isolated_graphmodule
            get_proxy_slot get_torch_dispatch_modes handle_sym_dispatch has_proxy_slot is_sym_node
            make_fx maybe_disable_thunkify maybe_enable_thunkify maybe_handle_decomp proxy_call
            selective_decompose set_meta set_original_aten_op set_proxy_slot snapshot_fake thunkify
            track_tensor track_tensor_tree wrap_key wrapper_and_args_for_make_fx""",
        "fx.experimental.symbolic_shapes": """
            CallMethodKey Constraint ConvertIntKey DimConstraints
            DimDynamic DivideByKey DynamicDimConstraintPrinter EqualityConstraint
            InnerTensorKey LoggingShapeGuardPrinter
            PendingUnbackedSymbolNotFound PropagateUnbackedSymInts RelaxedUnspecConstraint
            RuntimeAssert ShapeEnv ShapeEnvSettings ShapeGuardPrinter ShapeGuardPythonPrinter
            Specialization StatefulSymbolicContext StatelessSymbolicContext StrictMinMaxConstraint
            SubclassSymbolicContext SymExprPrinter SymIntEqByExpr SymIntSymbolicContext
            SymbolicContext TrackedFake ValueRangesSLoc bind_symbols canonicalize_bool_expr
            cast_symbool_to_symint_guardless check_consistent compute_unbacked_bindings
            constrain_range constrain_unify create_contiguous error eval_guards
            eval_is_non_overlapping_and_dense expect_true find_symbol_binding_fx_nodes free_symbols
            free_unbacked_symbols fx_placeholder_targets fx_placeholder_vals guard_bool guard_float
            guard_int guard_or_false guard_or_true guard_scalar guard_size_oblivious
            guarding_hint_or_throw has_free_symbols has_free_unbacked_symbols has_guarding_hint
            has_static_value has_symbolic_sizes_strides is_accessor_node is_concrete_bool
            is_concrete_float is_concrete_int is_nested_int is_symbol_binding_fx_node is_symbolic
            log_lru_cache_stats lru_cache optimization_hint rebind_unbacked
            resolve_unbacked_bindings safe_expand statically_known_false statically_known_true
            sym_and sym_eq sym_or uninteresting_files""",
        "fx.experimental.optimization": """
            MklSubgraph UnionFind gen_mkl_autotuner modules_to_mkldnn optimize_for_inference
            reset_modules use_mkl_length""",
        "fx.traceback": """
            NodeSource NodeSourceAction annotate annotate_fn format_stack get_current_meta
            get_current_replay_node get_graph_provenance_json has_preserved_node_meta
            preserve_node_meta reset_grad_fn_seq_nr set_current_meta set_current_replay_node
            set_grad_fn_seq_nr set_stack_trace""",
        "fx.operator_schemas": "create_type_hint type_matches",
        "package": """
            Directory EmptyMatchError GlobGroup Importer ObjMismatchError ObjNotFoundError
            OrderedImporter PackageExporter PackageImporter PackagingError is_from_package""",
        "jit.mobile": "LiteScriptModule validate_map_location",
        "utils.mobile_optimizer": "LintCode generate_mobile_module_lints optimize_for_mobile",
        "utils.bundled_inputs": """
            InflatableArg augment_many_model_functions_with_bundled_inputs
            augment_model_with_bundled_inputs bundle_inputs bundle_large_tensor bundle_randn""",
    },
    INTERNAL: {
        "_C": """
            Argument Block CompilationUnit FunctionSchema Graph Node
            ScriptFunction ScriptMethod ScriptModule ScriptObject Type Use Value""",
        "_dynamo.utils": """
            ChromiumEventLogger CleanupHook CleanupManager CompilationMetrics CompileCounterInt
            CompileEventLogLevel CompileEventLogger CompileTimeInstructionCounter
            DuplicateWarningChecker ExactWeakKeyDictionary FrameState GmWrapper Lit MetricsContext
            PySendResult ReInplaceTrigger ReinplaceCounters RuntimeMetricsContext StripAnsiFormatter
            TensorStaticReason add_compilation_metrics_to_chromium add_file_handler
            allow_lru_cache_wrapper_trace_without_warning assert_no_fake_params_or_buffers
            bitwise_same build_checkpoint_variable build_event build_invoke_subgraph_variable
            build_stream builtin_dict_keys calculate_time_spent call_size call_storage_offset
            call_stride check_constant_args check_is_cuda check_numpy_ndarray_args check_positional
            check_unspec_or_constant_args check_unspec_python_args checkpoint_params
            chromium_event_log_active chromium_event_timed class_has_getattribute clear_cell
            clear_compilation_metrics clear_torch_function_mode_stack clone_input clone_inputs
            clone_tensor common_constants compile_time_record_function compile_times const_repr
            constant_bits constants_identical copy_dynamo_tensor_attributes count_calls
            dataclass_fields deepcopy_to_fake_tensor defake deferred_full_gc dict_keys_getitem
            dict_keys_repr disable_cache_limit does_not_override_dict_iter_methods
            dump_compile_times dynamo_timed ensure_graph_fake enum_repr
            enumerate_items_with_dict_position extract_fake_example_value flatten_graph_inputs
            format_bytecode format_func_info format_source_range fqn gen_record_file_name
            get_chromium_event_logger get_compilation_metrics get_concrete_sizes_from_symints
            get_current_node get_custom_getattr get_debug_dir get_fake_value
            get_fake_values_from_nodes get_first_attr get_hook_for_recompile_user_context
            get_inputs_devices get_instruction_source_311 get_items_from_dict get_locals_to_steal
            get_metrics_context get_optimize_ddp_mode get_real_value get_runtime_metrics_context
            get_safe_global_name get_static_address_type get_torch_function_mode_stack
            get_torch_function_mode_stack_at get_traced_code get_unique_name_wrt getfile
            guard_if_dyn has_torch_function hashable identity ifdynstaticdefault import_submodule
            increment_frame increment_op_count invalid_removeable_handle is_compile_supported
            is_frozen_dataclass is_function is_function_or_wrapper is_in is_int_specialization_case
            is_invoke_subgraph is_jit_model is_lazy_module is_lru_cache_wrapped_function
            is_lru_cache_wrapper_trace_without_warning_allowed is_namedtuple is_namedtuple_cls
            is_node_meta_valid is_numpy_float_type is_numpy_int_type is_numpy_ndarray
            is_parameter_freezing is_pybind11_enum_member is_rng_state_getter_or_setter
            is_safe_constant is_safe_numpy_wrapper is_tensor_base_attr_getter
            is_tensor_getset_descriptor is_torch_class is_torch_function_object is_torch_sym
            is_typing is_utils_checkpoint is_wrapper_or_member_descriptor istensor istype
            iter_contains key_is_id key_to_id lazily_unpack lazy_format_graph_tabular
            list_reverseiterator_backing_list list_reverseiterator_setstate make_cell
            maybe_disable_inference_mode maybe_disable_inference_mode_for_fake_prop
            maybe_enable_compiled_autograd namedtuple_fields nn_module_get_all_hooks
            nn_module_has_global_hooks nn_module_new nn_module_proxy nnmodule_has_hooks no_keywords
            no_positional normalize_count_iter normalize_range_iter nothing numpy_attr_wrapper
            numpy_method_wrapper numpy_operator_wrapper numpy_to_tensor numpy_to_tensor_wrapper
            numpy_wrapper_cache_key object_delattr_ignore_descriptor object_has_getattribute
            object_setattr_ignore_descriptor preserve_rng_state print_once print_time_report product
            proxy_args_kwargs raise_args_mismatch record_compilation_metrics
            record_pregraph_bytecode_enter record_pregraph_bytecode_exit
            register_hook_for_recompile_user_context reset_frame_count reset_graph_break_dup_checker
            reset_recompile_user_contexts rmse rot_n_helper run_node same set_base_iter
            set_compilation_metrics_limit set_current_node set_example_value set_feature_use
            set_getitem set_locals_to_steal set_torch_function_mode_stack setup_compile_debug
            setup_log_file skip_frame_if_in_functorch_mode slice_length specialize_symnode
            strip_color_from_string tabulate tensor_always_has_static_shape
            tensor_static_reason_to_message timed to_fake_tensor to_int_ms to_int_us to_numpy_helper
            to_subclass torchscript tracked_repr tuple_iterator_getitem unpack_and_apply_fn
            unpack_iterable unwrap_if_wrapper unwrap_with_attr_name_if_wrapper
            verify_guard_fn_signature warn_once wrap_fake_exception write_record_to_file""",
        "_dynamo.eval_frame": """
            CompilerConfigProvider CondOpArgsMismatchError ConvertFrameReturn DisableContext
            DynamoStance DynamoTLS ExportResult FlattenInputOutputSignature Hooks OptimizeContext
            OptimizedModule RunOnlyContext ShortenTraceback TorchPatcher
            UncapturedHigherOrderOpError Unset Unsupported UserError UserErrorType add_skip_reason
            always_false argument_names check_for_incompatible_configs check_if_dynamo_supported
            check_if_inductor_supported check_signature_rewritable check_user_input_output
            clear_dynamo_tls compile_times explain export get_compiler_fn get_example_inputs
            get_skip_reasons guard_collectives_hook innermost_backend innermost_fn
            install_generation_tagging_init is_dynamo_supported is_inductor_supported lookup_backend
            make_set_enable_dynamic nothing optimize optimize_assert remove_from_cache
            reset_skip_reasons rewrite_signature set_enable_dynamic skip_code""",
        "_dynamo.backends": "",
        "_dynamo.backends.common": """
            AotAutograd AotAutogradKwargs TensorifyScalarRestartAnalysis aot_autograd defake
            device_from_inputs disable dtype_from_inputs fake_tensor_unsupported
            flatten_graph_inputs mem_efficient_fusion_kwargs""",
        "_dynamo.backends.registry": """
            CompiledFn get_default_backend list_backends lookup_backend register_backend
            set_default_backend""",
        "_dynamo.testing": """
            AotEagerAndRecordGraphs CheckFunctionManager CompileCounter CompileCounterInt
            CompileCounterWithBackend ConvertFrameReturn EagerAndRecordGraphs GuardedCode
            InductorAndRecordGraphs OutputGraph aot_eager check_dynamic_shape_capture clone_me
            collect_results create_instruction debug_checks debug_dir debug_dump debug_insert_nops
            dummy_fx_compile empty_line_normalizer expectedFailureCodegenDynamic
            expectedFailureDynamic expectedFailureDynamicWrapper extract_graph
            extract_graph_and_tracker format_speedup is_generator lru_cache_reordering
            make_test_cls_with_patches normalize_gm optimize_assert rand_strided
            reduce_to_scalar_loss remove_optimized_module_prefix remove_trailing_space
            requires_bwd_pass reset reset_rng_state same skipIfNotPy311 skipIfNotPy312
            skipIfOnlyNotPy312 skipIfPy312 standard_test strip_comment transform_code_object
            wrap_guarded_code xfailIfPy312""",
        "_dynamo.comptime": """
            CellVariable ComptimeContext ComptimeVar InstructionTranslatorBase SymNodeVariable
            VariableTracker comptime unimplemented""",
        "_dynamo.external_utils": """
            FakeBackwardCFunction FakeCompiledAutogradEngine call_accumulate_grad call_backward
            call_hook call_hook_from_backward_state call_module_hooks_from_backward_state
            filter_out_const_values get_nonrecursive_disable_wrapper insert_const_values_with_mask
            is_compiling normalize_as_list untyped_storage_size unwrap_maybe_dynamic_int
            wrap_dunder_call_ctx_manager wrap_inline wrap_inline_with_error_on_graph_break
            wrap_numpy""",
        "_inductor": """
            CompiledArtifact aot_compile aoti_compile_and_package aoti_load_package compile
            compile_to_python cudagraph_mark_step_begin list_mode_options list_options
            load_from_python standalone_compile""",
        "_inductor.utils": """
            AotOnlyBuffer BoxedBool CUDAGraphWrapper CUDAGraphWrapperMetadata CachedMethod
            ConstexprReprChildren DebugDirManager DelayReplaceLine DeviceProperties
            DualIndentedBuffer FakeIndentedBuffer GraphPartitionMap ImportableConstexprType
            OpDtypeRule Placeholder ScopedDict TDMGuardMode TritonAttrsDescriptorVersion
            add_scheduler_init_hook aggregate_origins align align_inputs_from_check_idxs
            any_is_symbolic apply_subprocess_env argsort argsort_sym boolean_ops
            buf_name_to_fused_snode cache_on_self cache_on_self_and_args cache_property_on_self
            can_use_tma ceildiv clear_caches clear_inductor_caches clear_on_fresh_cache
            clear_on_fresh_inductor_cache clone_preserve_strides cmp collect_defined_kernels
            commit_tdm_operand_layout contains_collective contains_wait convert_shape_to_inductor
            convert_shape_to_symint convert_symint_to_expr convert_to_symint copy_misaligned_inputs
            count_tangents datasheet_dram_bw_gbs datasheet_tops decode_device decompose_index
            determine_aoti_mmap_flags developer_warning device_need_guard device_supports_fp64
            do_bench_using_profiling dominated_nodes dtype_from_size dump_node_schedule
            ensure_cute_available ensure_nv_universal_gemm_available
            ensure_nvmatmul_heuristics_available expr_fits_within_32bit find_recursive_deps_of_node
            find_recursive_users_of_node flatten_index fp32_matmul_precision_key fp8_bench
            fresh_cache fresh_inductor_cache fx_node_crosses_devices gather_origins
            gen_gm_and_inputs generate_assert get_all_devices get_backend_num_stages
            get_benchmark_name get_bounds_index_expr get_cloned_parameter_buffer_name get_code
            get_constexpr_repr_children get_current_backend get_default_kpack get_device_dram_gbps
            get_device_tflops get_donated_idxs get_dtype_size get_first_incompatible_cudagraph_node
            get_free_symbols get_fused_kernel_name get_gpu_dram_gbps get_gpu_shared_memory
            get_gpu_type get_importable_constexpr_types get_k_splits get_kernel_metadata
            get_ld_library_path get_max_num_sms get_max_numwarps get_num_sms get_op_names
            get_static_bw_input_idxs get_sympy_Expr_dtype get_tma_workspace_arg
            get_triton_attrs_descriptor_version get_triton_code has_free_symbols
            has_free_threaded_python has_torchvision_roi_align infer_scale_swizzle
            infer_scale_swizzle_ir ir_dataclass is_bf16x9_matmul is_big_gpu
            is_codegen_graph_partition_subgraph is_collective is_collective_op is_cpu_device
            is_cudagraph_unsafe_fx_node is_cudagraph_unsafe_op is_dynamic is_fallback_op
            is_gfx1250_arch is_gpu is_linux is_mkldnn_bf16_supported is_mkldnn_fp16_supported
            is_multi_outputs_template is_nonfreeable_buffers is_nvidia_sm100_or_later is_ones
            is_output_of_multi_outputs_template is_pointwise_use is_rocm is_same_mkldnn_tensor
            is_same_tensor is_symbolic is_triton_fp8_dtype_supported is_using_cudagraph_partition
            is_valid_aoti_model_name is_view is_wait is_welford_reduction is_windows is_zeros
            load_template make_codegen_buffer maybe_aoti_standalone_config
            maybe_get_suppress_shape_guards_ctx maybe_profile
            needs_fallback_due_to_atomic_add_limitations normalize_name num_fw_fixed_arguments
            output_node override_lowering pad_listlike parallel_num_threads pass_execution_and_save
            patch_subprocess_env precompute_method precompute_methods prefix_is_pointwise
            prefix_is_reduction print_performance python_subprocess_env reduction_num_outputs
            register_op_dtype_propagation_rules register_op_requires_libdevice_fp64
            remove_unaligned_input_idxs restore_stdout_stderr rocm_gfx_arch run_and_get_code
            run_and_get_cpp_code run_and_get_graph_lowering run_and_get_kernels
            run_and_get_triton_code run_fw_bw_and_get_code runtime_ceildiv
            set_customized_partition_wrappers set_tracing_context_output_strides
            shape_env_from_inputs should_assume_input_aligned should_fallback_by_default
            should_use_remote_fx_graph_cache should_use_thread_workers snode_args_kwargs sympy_dot
            sympy_index_symbol sympy_index_symbol_with_prefix sympy_product sympy_str sympy_subs
            synchronize tabulate_2d tdm_descriptor_row_major tensor_is_aligned timed
            tlx_only_cuda_options tlx_only_hip_options tma_inner_dim triton_type
            triton_type_to_torch triton_version_uses_attrs_dict try_import_ck_lib tuple_sorted
            unique upcast_compute_type use_aten_gemm_kernels use_blackwell_cutedsl_grouped_mm
            use_ck_conv_template use_ck_gemm_template use_ck_template use_ck_tile_gemm_template
            use_contiguous use_cpp_bmm_template use_cpp_gemm_template use_cutlass_template
            use_decompose_k_choice use_flex_tdm_descriptor use_flydsl_gemm_template
            use_gfx1250_descriptor_codegen use_nv_universal_gemm_template use_scatter_fallback
            use_triton_blackwell_tma_template use_triton_scaling_template use_triton_tdm_template
            use_triton_template use_triton_tma_template using_b200 using_rocm_rdna3 zip_dicts""",
        "_inductor.compile_fx": """
            BoxedBool BoxedDeviceIndex CompiledAOTI CompiledFxGraph CompiledFxGraphConstantsWithGm
            CompilerConfigExtra CustomPartitionerFn DebugContext FxCompile FxCompileConfig
            FxCompileMode FxGraphCache GraphLowering IRNode InductorError OutputCode PlaceholderInfo
            TritonBundler align_inputs_from_check_idxs autograd_cache_key cache_dir
            clone_preserve_strides code_hash compile_fx compile_fx_aot compile_fx_backward
            compile_fx_forward compile_fx_inner copy_misaligned_inputs copy_strided_storage_
            count_tangents create_compiler_config_extra create_kernel_information_json
            create_mapping_pre_post_grad_nodes cudagraph_annotation_context
            cudagraph_trees_clone_live_user_visible_outputs cudagraphify cudagraphify_impl
            decompose_triton_kernel_wrapper_functional fake_tensor_prop format_default_skip_message
            fresh_cache fw_compiler_freezing fx_codegen_and_compile get_all_devices
            get_cloned_parameter_buffer_name get_compile_option_owner get_cpp_wrapper_config
            get_cuda_device_context get_device_type get_expanded_dims
            get_first_incompatible_cudagraph_node get_input_idxs_to_check
            get_kernel_information_jsons get_num_model_outputs get_patched_config_dict
            get_static_bw_input_idxs get_static_input_idxs get_wrapper_codegen_for_device
            graph_returns_tuple handle_dynamo_export_graph index_expanded_dims
            index_expanded_dims_and_copy_ init_backend_registration is_gpu
            is_tf32_warning_applicable is_triton joint_graph_passes
            log_cudagraph_skip_and_bump_counter log_optimus_to_scuba make_graph_return_tuple
            maybe_disable_comprehensive_padding maybe_disable_graph_partition
            maybe_get_suppress_shape_guards_ctx output_node partition_fn patch_compile_options
            post_grad_passes pre_grad_passes record_original_output_strides
            remove_unaligned_input_idxs run_pre_grad_passes save_args_for_compile_fx_inner
            select_decomp_table shape_env_from_inputs should_assume_input_aligned
            should_use_remote_fx_graph_cache split_const_gm static_input tensor_is_aligned
            time_and_log view_to_reshape with_fresh_cache_if_config""",
        "_functorch": "",
        "_functorch.aot_autograd": """
            AOTAutogradCache AOTConfig AOTDedupeWrapper AOTDispatchCompiler AOTGraphCapture AOTInput
            AOTState AOTSyntheticBaseWrapper BackwardSignature BufferAOTInput DifferentiableAOTInput
            FQN FakifiedFlatArgs GraphInputName GraphOutputName GraphSignature InputAliasInfo
            JointWithDescriptors MutationType OpaqueMeta OutputAliasInfo OutputType ParamAOTInput
            PlainAOTInput PytreeThunk SerializableAOTDispatchCompiler SerializableCompiledFunction
            SubclassCreationMeta SubclassMeta TensorAlias ViewAndMutationMeta
            aot_compile_joint_with_descriptors aot_dispatch_subclass aot_export_joint_simple
            aot_export_joint_with_descriptors aot_export_module aot_function aot_module
            aot_module_simplified aot_stage1_graph_capture aot_stage2_compile aot_stage2_export
            are_all_mutations_hidden_from_autograd are_all_mutations_under_no_grad_or_inference_mode
            assert_functional_graph autograd_cache_key boxed_nop_preserve_node_meta
            call_func_at_runtime_with_args compile_to_python compiled_function compiled_module
            compute_overlapping_inputs construct_fake_mode create_aot_state create_functional_call
            create_functionalized_fn create_functionalized_rng_ops_wrapper create_graph_signature
            create_joint create_synthetic_base_metadata create_tree_flattened_fn default_partition
            describe_input fn_input_mutations_to_outputs fn_prepped_for_autograd
            format_guard_bug_msg from_fun gen_alias_from_base get_aot_compilation_context
            get_aot_graph_name get_graph_being_compiled has_data_mutation has_metadata_mutation
            is_fun load_from_python make_boxed_compiler make_boxed_func maybe_to_fresh_input
            normalize_as_list partial_flatten_asdict prepare_aot_config
            prepare_aot_module_simplified process_inputs remove_dupe_metadata
            requires_subclass_dispatch root_module_when_exporting_non_strict
            run_functionalized_fw_and_collect_metadata set_model_name
            setup_stacktrace_preservation_hooks should_use_local_autograd_cache
            should_use_remote_autograd_cache simple_wraps sync_functional_tensor to_fun
            track_graph_compiling unwrap_tensor_subclasses
            unwrap_tensor_subclasses_with_indices_to_original wrap_tensor_subclasses
            wrap_tensor_subclasses_maybe_joint""",
        "_functorch.apis": "chunk_vmap vmap_impl",
        "_subclasses": """
            CrossRefFakeMode DynamicOutputShapeException FakeTensor FakeTensorMode
            UnsupportedFakeTensorException""",
        "_subclasses.fake_tensor": """
            DataDependentOutputException DispatchCacheInfo DynamicOutputShapeException FakeCopyMode
            FakeTensor FakeTensorConfig FakeTensorConverter FakeTensorDeviceMismatchError
            FakeTensorMode FakeTensorTLS IncrementRecursionCount MetaConverter MetadataMismatchError
            SingletonConstant SymNumberMemoDescriptor TensorMetadata UnsupportedFakeTensorException
            UnsupportedMutationAliasingException UnsupportedOperatorException assert_eq
            assert_metadata_eq contains_tensor_types disable_fake_tensor_cache dump_cache_stats
            evict_fake_tensor_cache_key extract_tensor_metadata get_fast_op_impls get_plain_tensors
            get_schema_info has_meta in_kernel_invocation_manager inferred_fake_kernel_from_real_out
            init_gpu_context is_fake_tensor is_sparse_any is_sparse_compressed
            maybe_get_fake_constant maybe_get_fake_device maybe_get_fake_mode maybe_get_real_tensor
            maybe_to_dense_mkldnn ordered_set run_fallback_kernel should_allow_numbers_as_tensors
            stride_incorrect_op torch_decomp_decompositions tree_flatten_only unset_fake_temporarily""",
        "_guards": """
            ChainedSource Checkpointable CompileContext CompileId DuplicateInputs GlobalContext
            GlobalContextCheckpointState Guard GuardBuilderBase GuardEnvExpr GuardSource
            GuardsCheckpointState GuardsContext GuardsSet HopDispatchSetCache HopSubgraphCache
            InlinedCodeCache InvokeSubgraphCache InvokeSubgraphReuseCondition
            InvokeSubgraphReuseEntry ModuleContext ModuleContextCheckpointState SLoc ShapeGuard
            Source StorageOverlap TraceId TracingContext active_fake_mode compile_context
            dataclass_with_cached_hash detect_fake_mode tracing""",
        "_decomp": """
            _should_decompose_because_unsafe_op core_aten_decompositions get_decompositions
            register_decomposition remove_decompositions""",
        "_prims": """
            ELEMENTWISE_PRIM_TYPE_PROMOTION_KIND RETURN_TYPE TensorMeta _make_token _sink_tokens
            _uniform_helper abs acos acosh add amax amin as_strided as_strided_scatter asin asinh
            atan atan2 atanh backwards_not_supported bessel_i0 bessel_i0e bessel_i1 bessel_i1e
            bessel_j0 bessel_j1 bitwise_and bitwise_not bitwise_or bitwise_xor broadcast_in_dim cat
            cbrt ceil clone collapse collapse_view conj conj_physical convert_element_type
            copy_strided copy_to cos cosh device_put digamma div empty_permuted empty_strided eq erf
            erf_inv erfc erfcx exp exp2 expand_dims expm1 fft_c2c fft_c2r fft_r2c fill floor fmax
            fmin fmod frexp gcd ge gt hypot igamma igammac imag iota isfinite item le lgamma log
            log10 log1p log2 lt maximum maximum_value minimum minimum_value mul ndtri ne neg
            nextafter normal pow prod real reciprocal register_debug_prims register_rng_prims
            remainder reshape resize rev round rsqrt scalar_tensor shift_left shift_right_arithmetic
            shift_right_logical sign signbit sin sinh spherical_bessel_j0 split_dim sqrt squeeze sub
            sum svd tan tanh torch_var transpose trunc type_to_dtype var view_element_type view_of
            where xor_sum zeta""",
        "_prims_common": """
            CUDARngStateHelper ELEMENTWISE_TYPE_PROMOTION_KIND K REDUCTION_OUTPUT_TYPE_KIND
            RETURN_TYPE alert_not_deterministic apply_perm are_strides_like_channels_last_or_false
            can_safe_cast_to canonicalize_device canonicalize_dim canonicalize_dims check
            check_all_strides check_contiguous_sizes_strides check_fp_or_complex
            check_in_bounds_for_storage check_is_matrix check_layout check_pin_memory
            check_same_device check_same_dtype check_same_shape check_significant_strides
            clone_preserve_strides compare_tensor_meta
            compute_elementwise_output_logical_to_physical_perm compute_elementwise_output_strides
            compute_reduction_output_shape compute_required_storage_length
            corresponding_complex_dtype corresponding_real_dtype device_or_default dtype_or_default
            dtype_to_type dtype_to_type_ctor elementwise_dtypes expr_type extract_dims_from_varargs
            extract_shape extract_shape_from_varargs get_acc_type get_aten_op get_computation_dtype
            get_dtype get_higher_dtype get_higher_type infer_size infer_size_shapes invert_perm
            is_boolean_dtype is_channels_last_contiguous is_channels_last_contiguous_2d
            is_channels_last_contiguous_3d is_channels_last_contiguous_or_false
            is_channels_last_contiguous_or_false_2d is_channels_last_contiguous_or_false_3d
            is_complex_dtype is_contiguous is_contiguous_for_memory_format
            is_contiguous_for_memory_format_or_false is_contiguous_or_false is_cpu_scalar_tensor
            is_expandable_to is_float_dtype is_grad_dtype is_integer_dtype is_low_precision_dtype
            is_non_overlapping_and_dense_or_false is_same_shape is_valid_permutation
            is_weakly_lesser_type layout_or_default make_channels_last_1d_strides_for
            make_channels_last_2d_strides_for make_channels_last_3d_strides_for
            make_channels_last_strides_for make_contiguous_strides_for mask_tensor number_type prod
            reduction_dims reduction_dtypes same_shape set_correction suggest_memory_format
            type_to_dtype validate_dim_length validate_dimension_indices validate_exclusive_idx
            validate_idx validate_memory_format validate_no_repeating_dims validate_shape
            validate_strides""",
        "_refs": """
            T abs abs_ acos acos_ acosh acosh_ add add_ addcdiv addcdiv_ addcmul addcmul_ addr alias
            alias_copy all allclose amax amin any arange as_strided as_strided_copy
            as_strided_scatter asin asin_ asinh asinh_ atan atan2 atan2_ atan_ atanh atanh_
            atleast_1d atleast_2d atleast_3d bitwise_and bitwise_and_ bitwise_left_shift
            bitwise_left_shift_ bitwise_not bitwise_not_ bitwise_or bitwise_or_ bitwise_right_shift
            bitwise_right_shift_ bitwise_xor bitwise_xor_ block_diag broadcast_shapes
            broadcast_tensors broadcast_to bucketize cat cauchy cauchy_ ceil ceil_ chunk clamp
            clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clone column_stack conj conj_physical
            conj_physical_ constant_pad_nd contiguous copy_to copysign copysign_ cos cos_ cosh cosh_
            count_nonzero cumprod cumprod_ cumsum cumsum_ deg2rad deg2rad_ diag diag_embed diagonal
            diagonal_copy diagonal_scatter digamma digamma_ div div_ dot dsplit dstack empty
            empty_like empty_out empty_permuted empty_strided eq eq_ equal erf erf_ erfc erfc_
            erfinv erfinv_ exp exp2 exp2_ exp_ expand expand_as expand_copy expm1 expm1_ exponential
            exponential_ eye fill fill_ flatten flip fliplr flipud float_power float_power_ floor
            floor_ floor_divide floor_divide_ fmax fmin fmod fmod_ frac frac_ frexp full full_like
            gcd gcd_ ge ge_ geometric geometric_ gt gt_ handle_noncontiguous_outputs heaviside
            heaviside_ hsplit hstack hypot hypot_ i0 i0_ igamma igamma_ igammac igammac_ imag
            index_add index_copy index_copy_ index_fill index_fill_ index_select is_complex
            is_noncontiguous_supported isclose isfinite isinf isnan isneginf isposinf isreal istft
            item lcm lcm_ le le_ lerp lerp_ lgamma lgamma_ linspace log log10 log10_ log1p log1p_
            log2 log2_ log_ log_normal log_normal_ log_softmax logaddexp logaddexp2 logical_and
            logical_and_ logical_not logical_not_ logical_or logical_or_ logical_xor logical_xor_
            logspace logsumexp lt lt_ masked_fill masked_fill_ maximum mean meshgrid minimum movedim
            mul mul_ mvlgamma mvlgamma_ nan_to_num nan_to_num_ narrow narrow_copy native_group_norm
            native_layer_norm native_layer_norm_fake ne ne_ neg neg_ new_empty new_empty_strided
            new_full new_ones new_zeros nextafter nextafter_ norm normal normal_ normal_functional
            ones ones_like permute permute_copy positive pow pow_ prod rad2deg rad2deg_ randn ravel
            real reciprocal reciprocal_ remainder remainder_ renorm repeat reshape reshape_as
            rfloordiv roll rot90 round rpow rsqrt rsqrt_ rsub rtruediv scalar_tensor select_scatter
            sgn sgn_ sigmoid sigmoid_ sign sign_ signbit sin sin_ sinc sinc_ sinh sinh_ softmax
            split_with_sizes sqrt sqrt_ square square_ squeeze squeeze_copy stack std std_mean stft
            sub sub_ sum sum_to_size swap_axes t t_copy take_along_dim tan tan_ tanh tanh_ tensor
            tensor_split to trace transpose transpose_copy tril tril_ tril_indices triu triu_
            triu_indices true_divide true_divide_ trunc trunc_ trunc_divide unbind unbind_copy
            unflatten unfold unfold_copy unsqueeze unsqueeze_copy var var_mean vdot view view_as
            view_as_complex view_copy vsplit vstack where xlogy xlogy_ zero zero_ zeros zeros_like""",
        "_higher_order_ops": """
            BaseHOP InvokeQuant _foreach_map aoti_call_delegate associative_scan auto_functionalized
            auto_functionalized_v2 call_torchbind cond dynamo_bypassing_wrapper
            executorch_call_delegate flat_apply flex_attention flex_attention_backward flex_gemm
            foreach_map hints_wrapper inductor_compiled_code inline_asm_elementwise
            invoke_leaf_function invoke_quant invoke_quant_packed invoke_subgraph local_map_hop map
            out_dtype print run_const_graph scan strict_mode switch tag_activation_checkpoint
            while_loop while_loop_stack_output with_effects wrap_activation_checkpoint
            wrap_with_autocast wrap_with_set_grad_enabled""",
        "utils.cpp_extension": """
            BuildExtension CUDAExtension CppExtension SyclExtension check_compiler_is_gcc
            check_compiler_ok_for_platform get_compiler_abi_compatibility_and_version
            get_cxx_compiler get_default_build_root include_paths is_ninja_available library_paths
            load load_inline remove_extension_h_precompiler_headers verify_ninja_availability""",
        "utils._python_dispatch": """
            AliasInfo BaseTorchDispatchMode SchemaInfo TensorWithFlatten TorchDispatchMode
            TraceableWrapperSubclass any_torch_dispatch_mode_on_stack autograd_would_have_decomposed
            get_alias_info is_in_any_mode_without_ignore_compile_internals is_in_torch_dispatch_mode
            is_traceable_wrapper_subclass is_traceable_wrapper_subclass_type
            return_and_correct_aliasing transform_subclass""",
        "utils.throughput_benchmark": "ExecutionStats ThroughputBenchmark format_time",
        "utils.mkldnn": "to_mkldnn",
        "utils.module_tracker": "ModuleTracker",
        "utils.tensorboard": "SummaryWriter FileWriter RecordWriter",
        "cuda.comm": "broadcast broadcast_coalesced gather reduce_add reduce_add_coalesced scatter",
        "cuda.nccl": """
            all_gather all_reduce broadcast init_rank is_available reduce reduce_scatter unique_id
            version""",
        "cuda.profiler": "profile start stop",
        "cuda.jiterator": "",
        "cuda.tunable": """
            dynamic_dims_mask enable get_cublaslt_requested_algo_count get_filename
            get_max_tuning_duration get_max_tuning_iterations get_results get_rotating_buffer_size
            get_validators is_enabled mgpu_tune_gemm_in_file read_file record_untuned_enable
            record_untuned_is_enabled set_cublaslt_requested_algo_count set_filename
            set_max_tuning_duration set_max_tuning_iterations set_numerical_check_tolerances
            set_rotating_buffer_size tune_gemm_in_file tuning_enable tuning_is_enabled
            wildcard_fallback_enable wildcard_fallback_is_enabled""",
        "mps.event": "Event",
        "mps.profiler": "is_capturing_metal is_metal_capture_enabled metal_capture profile start stop",
        "mps": """
            Event Stream compile_shader current_allocated_memory current_stream default_stream
            device_count driver_allocated_memory empty_cache get_rng_state is_available
            load_metallib manual_seed recommended_max_memory seed set_per_process_memory_fraction
            set_rng_state set_stream stream synchronize""",
        "monitor": "TensorboardEventHandler",
        "futures": "Future collect_all wait_all",
        "utils.flop_counter": """
            FlopCounterMode addmm_flop baddbmm_flop bmm_flop conv_backward_flop conv_flop
            conv_flop_count convert_num_with_suffix convert_to_percent_str get_shape get_suffix_str
            mm_flop normalize_tuple register_flop_formula sdpa_backward_flop
            sdpa_backward_flop_count sdpa_flop sdpa_flop_count shape_wrapper""",
    },
}
