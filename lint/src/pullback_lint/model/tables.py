"""What is known about the operations of PyTorch, as sets of names."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())


META = words("""
    size numel dim ndimension stride storage_offset element_size is_contiguous is_floating_point is_complex
    get_device data_ptr len isinstance issubclass type id hasattr callable is_tensor finfo iinfo nelement
    get_dim broadcast_shapes is_cuda is_sparse range enumerate_shape result_type promote_types
""")
"""Calls whose result says nothing about values."""

META_ATTRIBUTES = words("""
    shape dtype device ndim requires_grad is_cuda is_sparse layout itemsize grad_fn names is_leaf is_cpu nbytes
    is_quantized is_meta _version __class__ __name__
""")

CUT = words("""
    sign sgn round floor ceil trunc fix argmax argmin argsort heaviside nonzero bernoulli searchsorted bucketize
    detach eq ne lt le gt ge equal isnan isinf isfinite isclose allclose any all logical_and logical_or
    logical_not logical_xor count_nonzero unique unique_consecutive long int bool short byte one_hot histc
    bincount item tolist numpy detach_ floor_divide signbit not_equal less greater less_equal greater_equal
    bitwise_and bitwise_or bitwise_not is_nonzero multinomial poisson nms randint
""")
"""Operations without a derivative."""

FRESH = {
    "zeros": "zero",
    "zeros_like": "zero",
    "new_zeros": "zero",
    "empty": "empty",
    "empty_like": "empty",
    "new_empty": "empty",
    "empty_strided": "empty",
    "new_empty_strided": "empty",
    "ones": "constant",
    "ones_like": "constant",
    "new_ones": "constant",
    "full": "constant",
    "full_like": "constant",
    "new_full": "constant",
    "eye": "constant",
    "arange": "constant",
    "linspace": "constant",
    "logspace": "constant",
    "tril_indices": "constant",
    "triu_indices": "constant",
    "rand": "random",
    "randn": "random",
    "rand_like": "random",
    "randn_like": "random",
    "randint": "random",
    "randint_like": "random",
    "randperm": "random",
}
"""Operations that make a tensor out of nothing but a shape, and the tag of their result."""

FILLED = words("full full_like new_full")
"""Of those, the ones whose result has the value of an argument."""

RANDOM = words("""
    bernoulli bernoulli_ normal normal_ uniform_ exponential_ geometric_ cauchy_ log_normal_ random_ dropout
    multinomial poisson rand randn rand_like randn_like randint randint_like randperm alpha_dropout
    feature_dropout gumbel_softmax rrelu dropout_ dropout1d dropout2d dropout3d
""")
"""Operations that draw from a generator."""

VIEWS = words("""
    view view_as reshape reshape_as flatten unflatten squeeze unsqueeze transpose t permute expand expand_as
    narrow select unfold diagonal movedim moveaxis swapaxes swapdims adjoint real imag chunk split unbind
    tensor_split view_as_real view_as_complex as_strided contiguous detach squeeze_ unsqueeze_ t_ transpose_
    requires_grad_ ravel alias atleast_1d atleast_2d atleast_3d resolve_conj resolve_neg hsplit vsplit dsplit
    get_buffer
""")
"""Operations whose result is, or may be, the same memory."""

VIEW_ATTRIBUTES = words("T mT mH H real imag data")

NOT_IN_PLACE = words("""
    set_
    requires_grad_ retain_grad_ share_memory_ squeeze_ unsqueeze_ t_ transpose_ detach_ record_stream_ names_
    rename_ swapaxes_ swapdims_
""")
"""Names with a trailing underscore that leave the values alone."""

WITH_INDEX = words("max min topk sort kthvalue median mode cummax cummin")
"""Operations that may give values and indices."""

NAN_SAFE_WORDS = words("eps epsilon tiny min_norm safe clamp clamp_min nan_to_num")

TENSOR_OPS = words("""
    abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv addr amax amin aminmax angle asin asinh atan
    atan2 atanh baddbmm bmm cat concat concatenate cdist cholesky clamp clamp_max clamp_min clip clone complex
    polar conj conj_physical copysign cos cosh cross cummax cummin cumprod cumsum logcumsumexp deg2rad det diag
    diag_embed diagflat diff dist div divide dot dstack einsum erf erfc erfinv exp exp2 expm1 fft ifft rfft
    irfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn flip fliplr flipud fmax fmin fmod frac gather gelu
    relu relu6 elu selu celu silu mish leaky_relu prelu softplus softsign softmin tanhshrink softshrink
    hardshrink hardtanh hardsigmoid hardswish logsigmoid glu threshold normalize cosine_similarity
    pairwise_distance layer_norm batch_norm group_norm instance_norm hypot i0 igamma index_add index_copy
    index_fill index_put index_select inner inv inverse kron lerp lgamma digamma log log10 log1p log2
    log_softmax logaddexp logaddexp2 logdet logit logsumexp lu_solve masked_fill masked_scatter masked_select
    matmul matrix_exp matrix_power max maximum mean median meshgrid min minimum mm mul multi_dot multiply mv
    mvlgamma nan_to_num nanmean nansum neg negative norm vector_norm matrix_norm outer ger pinverse pinv
    polygamma positive pow prod qr rad2deg reciprocal remainder renorm repeat repeat_interleave roll rot90 rsqrt
    scatter scatter_add scatter_reduce select_scatter slice_scatter sigmoid expit sin sinc sinh slogdet softmax
    solve solve_triangular triangular_solve cholesky_solve sort sparse_coo_tensor coalesce to_dense to_sparse
    sqrt square stack std std_mean sub subtract sum sum_to_size svd eig eigh eigvalsh take take_along_dim tan
    tanh tensordot tile topk trace trapz tril triu true_divide var var_mean vdot vstack hstack column_stack
    where xlogy xlog1py zeros zeros_like ones ones_like to type type_as float double half bfloat16 cuda cpu
    conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv1d_input conv2d_input
    conv3d_input conv1d_weight conv2d_weight conv3d_weight unfold fold interpolate grid_sample affine_grid pad
    linear bilinear embedding avg_pool1d avg_pool2d avg_pool3d max_pool1d max_pool2d max_pool3d
    adaptive_avg_pool1d adaptive_avg_pool2d mse_loss l1_loss smooth_l1_loss nll_loss cross_entropy
    binary_cross_entropy binary_cross_entropy_with_logits kl_div pixel_shuffle tensor as_tensor from_numpy
    scalar_tensor heaviside sgn baddmm erfcx ndtr log_ndtr entr bessel_j0 lstsq householder_product
    nonzero_tuple fftshift ifftshift broadcast_to broadcast_tensors block_diag cartesian_prod combinations cov
    corrcoef nanmedian quantile nanquantile sparse_mm spmm addmm_ item numpy tolist mul_ add_ sub_ div_ unfold_
    is_same_size vecdot
""") | CUT | VIEWS | frozenset(FRESH) | RANDOM | WITH_INDEX  # fmt: skip
"""Names of torch functions and tensor methods whose result depends on their arguments and on nothing else."""

CASTS = words("to type_as type float double half bfloat16 cuda cpu clone requires_grad_")
"""Operations that change the kind of a tensor and keep its values."""

CTX_API = words("""
    save_for_backward save_for_forward saved_tensors saved_variables needs_input_grad mark_dirty
    mark_non_differentiable mark_shared_storage set_materialize_grads materialize_grads to_save
    saved_for_forward non_differentiable dirty_tensors metadata name next_functions register_hook
    register_prehook _register_hook_dict _sequence_nr _set_sequence_nr _raw_saved_tensors _fwd_used_autocast
    _dtype _materialize_non_diff_grads _autograd_function_id apply forward backward vjp jvp _forward_cls
    _backward_cls _input_metadata maybe_clear_saved_tensors clear_saved_tensors_on_access boxed_grads_call
    _compiled_autograd_backward_state _is_compiled_autograd_tracing _get_compiled_autograd_symints
    _lazy_backward_info _bw_module save_for_backward_ __class__ __dict__ _in_ctx_manager __setattr__
    __getattribute__ generate_vmap_rule is_traceable _clear_saved_tensors_on_access _boxed_grads_call
    _compiled_autograd_key _aot_id
""")
"""What every context has."""

FUNCTION_BASES = words("""
    torch.autograd.Function torch.autograd.function.Function torch.autograd.function.InplaceFunction
    torch.autograd.function.NestedIOFunction torch.autograd.function._SingleLevelFunction
    torch.autograd.function.BackwardCFunction torch.autograd.InplaceFunction torch.autograd.NestedIOFunction
""")

MODULE_BASES = words("torch.nn.Module torch.nn.modules.module.Module torch.nn.modules.Module")

ONCE = words("torch.autograd.function.once_differentiable torch.autograd.once_differentiable once_differentiable")

NO_GRAD = words("""
    torch.no_grad torch.autograd.no_grad torch.inference_mode torch.autograd.grad_mode.no_grad
    torch.autograd.grad_mode.inference_mode
""")
