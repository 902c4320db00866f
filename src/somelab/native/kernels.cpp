// What stands between the matrix products of frozen experts, each in one pass over memory: gather, GELU, its backward
// with the gate's gradient, and the weighted scatter. fp32 and bf16 in memory, fp32 inside. Plain C interface.
//
// A row is always computed by one thread, from its first value to its last in steps of LANES: results are the same bits for any
// number of threads and any alignment.

#include "vectors.h"

namespace {

// out[row] = source[places[row]]; with a bias also dot[row] = <out[row], bias>.
template <class T>
void gather(const T *source, const int64_t *places, const float *bias, T *out, float *dot, int64_t rows, int64_t width, int threads) {
    over_rows(rows, width, threads, nullptr, [=](int64_t row) {
        const T *from = source + places[row] * width;
        std::memcpy(out + row * width, from, width * sizeof(T));
        if (!bias) return;
        Floats sum = {};
        along(width, [&](int64_t column, auto read, auto) { sum += read(from + column) * read(bias + column); });
        dot[row] = total(sum);
    });
}

// out = gelu(product + bias).
template <class T> void activate(const T *product, const float *bias, T *out, int64_t rows, int64_t width, int threads) {
    over_rows(rows, width, threads, nullptr, [=](int64_t row) {
        const T *from = product + row * width;
        T *to = out + row * width;
        along(width, [=](int64_t column, auto read, auto write) {
            write(gelu(read(from + column) + read(bias + column)).value, to + column);
        });
    });
}

// With x = product + bias and grad the gradient of gelu(x): dot += <grad, gelu(x)>, and grad becomes the gradient of x.
template <class T>
void differentiate(T *grad, const T *product, const float *bias, float *dot, int64_t rows, int64_t width, int threads) {
    over_rows(rows, width, threads, nullptr, [=](int64_t row) {
        const T *from = product + row * width;
        T *both = grad + row * width;
        Floats sum = {};
        along(width, [&](int64_t column, auto read, auto write) {
            Floats g = read(both + column);
            Gelu at = gelu(read(from + column) + read(bias + column));
            sum += g * at.value;
            write(g * at.slope, both + column);
        });
        dot[row] += total(sum);
    });
}

// target[places[row]] += weight[row] * (product[row] + bias), rows in their order. Places are sorted; bias may be null.
template <class T>
void mix(float *target, const int64_t *places, const T *product, const float *bias, const float *weight, int64_t rows, int64_t width,
         int threads) {
    over_rows(rows, width, threads, places, [=](int64_t row) {
        float *to = target + places[row] * width;
        const T *from = product + row * width;
        float factor = weight[row];
        along(width, [=](int64_t column, auto read, auto write) {
            Floats value = read(from + column);
            if (bias) value += read(bias + column);
            write(read(to + column) + factor * value, to + column);
        });
    });
}

}  // namespace

#define FOR_TYPE(T, name)                                                                                                         \
    extern "C" void gather_##name(const T *source, const int64_t *places, const float *bias, T *out, float *dot, int64_t rows,       \
                                  int64_t width, int threads) {                                                                 \
        gather(source, places, bias, out, dot, rows, width, threads);                                                           \
    }                                                                                                                            \
    extern "C" void activate_##name(const T *product, const float *bias, T *out, int64_t rows, int64_t width, int threads) {         \
        activate(product, bias, out, rows, width, threads);                                                                     \
    }                                                                                                                            \
    extern "C" void differentiate_##name(T *grad, const T *product, const float *bias, float *dot, int64_t rows, int64_t width,      \
                                         int threads) {                                                                         \
        differentiate(grad, product, bias, dot, rows, width, threads);                                                          \
    }                                                                                                                            \
    extern "C" void mix_##name(float *target, const int64_t *places, const T *product, const float *bias, const float *weight,       \
                               int64_t rows, int64_t width, int threads) {                                                       \
        mix(target, places, product, bias, weight, rows, width, threads);                                                       \
    }

FOR_TYPE(float, float32)
FOR_TYPE(bf16, bfloat16)
