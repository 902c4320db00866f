// What stands between the matrix products of frozen experts, each in one pass over memory: gather, GELU, its backward
// with the gate's gradient, and the weighted scatter; and the cross-entropy behind the head's product. fp32 and bf16 in memory,
// fp32 inside. Plain C interface.
//
// A row is always computed by one thread, from its first value to its last in steps of LANES: results are the same bits for any
// number of threads and any alignment.

#include "vectors.h"

#include <algorithm>
#include <cmath>

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

// Cross-entropy of each row of logits = product + bias: nats[row] = log sum exp(logits) - logits[target], and the product becomes its
// gradient, softmax(logits) - one_hot(target). A row stays in cache between its three passes. Bias may be null.
void cross_entropy(float *product, const float *bias, const int64_t *targets, float *nats, int64_t rows, int64_t width, int threads) {
    over_rows(rows, width, threads, nullptr, [=](int64_t row) {
        float *logits = product + row * width;
        int64_t whole = width / LANES * LANES, column;
        Floats most = Floats{} + (float)-INFINITY, sum = {};
        for (column = 0; column < whole; column += LANES) {
            Floats value = load(logits + column);
            if (bias) store(value += load(bias + column), logits + column);
            most = value > most ? value : most;
        }
        float highest = largest(most);
        for (; column < width; column++) {
            if (bias) logits[column] += bias[column];
            highest = std::max(highest, logits[column]);
        }
        float target = logits[targets[row]];
        for (column = 0; column < whole; column += LANES) {
            Floats e = exp_of_negative(load(logits + column) - highest);
            sum += e;
            store(e, logits + column);
        }
        float all = total(sum);
        for (; column < width; column++) all += logits[column] = std::exp(logits[column] - highest);
        nats[row] = std::log(all) + (highest - target);
        along(width, [=](int64_t at, auto read, auto write) { write(read(logits + at) / all, logits + at); });
        logits[targets[row]] -= 1.0f;
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

extern "C" void cross_entropy_float32(float *product, const float *bias, const int64_t *targets, float *nats, int64_t rows, int64_t width,
                                      int threads) {
    cross_entropy(product, bias, targets, nats, rows, width, threads);
}
