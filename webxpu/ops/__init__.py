"""Every operation, by name. A new one is a module here, its cases, its kernels and its line below."""

from webxpu.ops.accept import accept
from webxpu.ops.activation import activation
from webxpu.ops.advance import advance
from webxpu.ops.alibi import alibi, alibi_slopes
from webxpu.ops.argmax import argmax
from webxpu.ops.attend import attend, attend_combine
from webxpu.ops.attention import attention, key_padding_bias
from webxpu.ops.axpy import axpy, axpy_inplace
from webxpu.ops.cache import cache_write
from webxpu.ops.conv import conv1d, conv1d_output_length, conv2d, conv3d
from webxpu.ops.conv_transpose import conv_transpose1d, conv_transpose1d_output_length, conv_transpose2d
from webxpu.ops.ctc_decode import ctc_decode
from webxpu.ops.dequant_transpose import dequant_transpose
from webxpu.ops.dequantize import dequantize
from webxpu.ops.draft import draft
from webxpu.ops.elementwise import elementwise, elementwise_rows
from webxpu.ops.embed import embed
from webxpu.ops.experts import expert_down, expert_gate_up
from webxpu.ops.flash_attention import flash_attention
from webxpu.ops.gather import gather
from webxpu.ops.gqa import grouped_attention, kv_cache_bytes, kv_head_of
from webxpu.ops.group_norm import group_norm
from webxpu.ops.istft import istft, istft_length, istft_max_length
from webxpu.ops.layernorm import layernorm
from webxpu.ops.logprobs import logprobs
from webxpu.ops.mask import mask
from webxpu.ops.matmul import linear, matmul, matmul_q4g128, matmul_q8
from webxpu.ops.matvec import matvec, matvec_q4g128, matvec_q8, matvec_q8_ffn, matvec_q8_residual
from webxpu.ops.mel import has_empty_band, hz_to_mel, mel_filterbank, mel_frequencies, mel_spectrogram, mel_to_hz
from webxpu.ops.moe import moe_dispatch, moe_gather, router
from webxpu.ops.norm_add import norm_add
from webxpu.ops.norm_gate_up import glu, norm_gate_up
from webxpu.ops.norm_head import norm_head, norm_head_argmax, norm_head_rows, norm_head_rows_argmax
from webxpu.ops.norm_linear import join, norm_linear
from webxpu.ops.norm_qkv import norm_qkv, rope_write
from webxpu.ops.pad import pad
from webxpu.ops.penalize import penalize
from webxpu.ops.permute import permute
from webxpu.ops.pope import legendre, pope
from webxpu.ops.project import attend_project, project
from webxpu.ops.quantize import quantize
from webxpu.ops.reduce import reduce
from webxpu.ops.rmsnorm import rmsnorm
from webxpu.ops.rope import (
    NtkScaling,
    YarnScaling,
    llama3_freq_factors,
    permute_rope_channels,
    rope,
    rope_axes,
    rope_frequency_params,
    rope_table,
)
from webxpu.ops.sample import sample
from webxpu.ops.scatter import scatter
from webxpu.ops.snake import snake, snake_beta
from webxpu.ops.softmax import softmax
from webxpu.ops.split_planes import split_planes
from webxpu.ops.stft import blackman_window, hamming_window, hann_window, stft, stft_bins, stft_frames
from webxpu.ops.transpose import transpose
from webxpu.ops.upsample import nearest_upsample_2d

# The modules that only the language-model engine calls; the others are operations of general use.
ENGINE = (
    "accept",
    "advance",
    "argmax",
    "attend",
    "cache",
    "draft",
    "embed",
    "experts",
    "logprobs",
    "mask",
    "norm_add",
    "norm_gate_up",
    "norm_head",
    "norm_linear",
    "norm_qkv",
    "penalize",
    "project",
    "sample",
    "split_planes",
)

__all__ = [
    "NtkScaling",
    "YarnScaling",
    "accept",
    "activation",
    "advance",
    "alibi",
    "alibi_slopes",
    "argmax",
    "attend",
    "attend_combine",
    "attend_project",
    "attention",
    "axpy",
    "axpy_inplace",
    "blackman_window",
    "cache_write",
    "conv1d",
    "conv1d_output_length",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose1d_output_length",
    "conv_transpose2d",
    "ctc_decode",
    "dequant_transpose",
    "dequantize",
    "draft",
    "elementwise",
    "elementwise_rows",
    "embed",
    "expert_down",
    "expert_gate_up",
    "flash_attention",
    "gather",
    "glu",
    "group_norm",
    "grouped_attention",
    "hamming_window",
    "hann_window",
    "has_empty_band",
    "hz_to_mel",
    "istft",
    "istft_length",
    "istft_max_length",
    "join",
    "key_padding_bias",
    "kv_cache_bytes",
    "kv_head_of",
    "layernorm",
    "legendre",
    "linear",
    "llama3_freq_factors",
    "logprobs",
    "mask",
    "matmul",
    "matmul_q4g128",
    "matmul_q8",
    "matvec",
    "matvec_q4g128",
    "matvec_q8",
    "matvec_q8_ffn",
    "matvec_q8_residual",
    "mel_filterbank",
    "mel_frequencies",
    "mel_spectrogram",
    "mel_to_hz",
    "moe_dispatch",
    "moe_gather",
    "nearest_upsample_2d",
    "norm_add",
    "norm_gate_up",
    "norm_head",
    "norm_head_argmax",
    "norm_head_rows",
    "norm_head_rows_argmax",
    "norm_linear",
    "norm_qkv",
    "pad",
    "penalize",
    "permute",
    "permute_rope_channels",
    "pope",
    "project",
    "quantize",
    "reduce",
    "rmsnorm",
    "rope",
    "rope_axes",
    "rope_frequency_params",
    "rope_table",
    "rope_write",
    "router",
    "sample",
    "scatter",
    "snake",
    "snake_beta",
    "softmax",
    "split_planes",
    "stft",
    "stft_bins",
    "stft_frames",
    "transpose",
]
