// GeLU (tanh form) in one pass: 16-byte reads and writes, arithmetic in float32.
#include <cstdint>
#include <cstring>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace {

// Small blocks with one read per thread came closest to the speed of a copy on an H200; two reads,
// 512 threads and streaming hints each cost 2 to 5 %.
constexpr int THREADS = 128;

__device__ float widen(float x) { return x; }
__device__ float widen(__half x) { return __half2float(x); }
__device__ float widen(__nv_bfloat16 x) { return __bfloat162float(x); }

__device__ void narrow(float value, float& x) { x = value; }
__device__ void narrow(float value, __half& x) { x = __float2half_rn(value); }
__device__ void narrow(float value, __nv_bfloat16& x) { x = __float2bfloat16_rn(value); }

// (1 + tanh u) / 2 = 1 / (1 + exp(-2u)), which needs no branch and can't overflow to NaN.
template <typename T>
__device__ T gelu(T x) {
  const float value = widen(x);
  const float inner = 0.7978845608028654f * (value + 0.044715f * value * value * value);
  T result;
  narrow(__fdividef(value, 1.0f + __expf(-2.0f * inner)), result);
  return result;
}

template <typename T>
__global__ void gelu_kernel(const T* __restrict__ x, T* __restrict__ y, int64_t elements) {
  constexpr int WIDTH = 16 / sizeof(T);
  const int64_t whole = elements / WIDTH;
  const int64_t i = int64_t(blockIdx.x) * THREADS + threadIdx.x;
  if (i < whole) {
    uint4 held = reinterpret_cast<const uint4*>(x)[i];
    T values[WIDTH];
    memcpy(values, &held, 16);
#pragma unroll
    for (int j = 0; j < WIDTH; ++j) values[j] = gelu(values[j]);
    memcpy(&held, values, 16);
    reinterpret_cast<uint4*>(y)[i] = held;
  }
  // Elements left over after the last full vector, one per thread of the first block.
  const int64_t rest = whole * WIDTH + threadIdx.x;
  if (blockIdx.x == 0 && rest < elements) y[rest] = gelu(x[rest]);
}

template <typename T>
void launch(uintptr_t x, uintptr_t y, int64_t elements, uintptr_t stream) {
  const int64_t per_block = int64_t(THREADS) * 16 / sizeof(T);
  const unsigned blocks = unsigned((elements + per_block - 1) / per_block);
  gelu_kernel<T><<<blocks, THREADS, 0, reinterpret_cast<cudaStream_t>(stream)>>>(
      reinterpret_cast<const T*>(x), reinterpret_cast<T*>(y), elements);
}

}  // namespace

// x, y: addresses divisible by 16; kind: 0 float32, 1 float16, 2 bfloat16. Returns CUDA's error.
int launch_gelu(uintptr_t x, uintptr_t y, int64_t elements, int kind, uintptr_t stream) {
  if (kind == 0) launch<float>(x, y, elements, stream);
  if (kind == 1) launch<__half>(x, y, elements, stream);
  if (kind == 2) launch<__nv_bfloat16>(x, y, elements, stream);
  return cudaGetLastError();
}
