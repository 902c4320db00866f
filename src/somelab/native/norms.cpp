// RMS norm with a gain per column, y = gain x / sqrt(mean(x^2) + epsilon), and its gradients: one pass over memory each. fp32.
// A value is computed by one thread: results are the same bits for any number of threads.

#include "vectors.h"

#include <cmath>

namespace {

// 1 / sqrt(mean(x^2) + epsilon) of each row goes to `scales`.
void rms_norm(const float *x, const float *gain, float *y, float *scales, int64_t rows, int64_t width, float epsilon, int threads) {
    over_rows(rows, width, threads, nullptr, [=](int64_t row) {
        const float *from = x + row * width;
        float *to = y + row * width;
        Floats sum = {};
        along(width, [&](int64_t column, auto read, auto) {
            Floats value = read(from + column);
            sum += value * value;
        });
        float scale = 1 / std::sqrt(total(sum) / (float)width + epsilon);
        scales[row] = scale;
        along(width, [=](int64_t column, auto read, auto write) { write(read(from + column) * scale * read(gain + column), to + column); });
    });
}

// The gradient of x: scale (g - x scale^2 mean(g x)), g = gain grad.
void rms_norm_back(const float *x, const float *gain, const float *scales, const float *grad, float *grad_x, int64_t rows, int64_t width,
                   int threads) {
    over_rows(rows, width, threads, nullptr, [=](int64_t row) {
        const float *from = x + row * width, *way = grad + row * width;
        float *to = grad_x + row * width;
        Floats sum = {};
        along(width, [&](int64_t column, auto read, auto) { sum += read(from + column) * read(gain + column) * read(way + column); });
        float scale = scales[row], along_x = scale * scale * total(sum) / (float)width;
        along(width, [=](int64_t column, auto read, auto write) {
            write(scale * (read(gain + column) * read(way + column) - along_x * read(from + column)), to + column);
        });
    });
}

// The gradient of the gain: the sum over rows of grad x scale. A thread has columns of its own.
void rms_norm_gain(const float *x, const float *scales, const float *grad, float *grad_gain, int64_t rows, int64_t width, int threads) {
    const int64_t columns = (width + LANES - 1) / LANES, parts = columns < threads ? columns : threads;
    over_rows(parts, rows * width, threads, nullptr, [=](int64_t part) {
        int64_t begin = columns * part / parts * LANES, end = columns * (part + 1) / parts * LANES;
        int64_t count = (end < width ? end : width) - begin;
        float *to = grad_gain + begin;
        std::memset(to, 0, count * sizeof(float));
        for (int64_t row = 0; row < rows; row++) {
            const float *from = x + row * width + begin, *way = grad + row * width + begin;
            float scale = scales[row];
            along(count, [=](int64_t column, auto read, auto write) {
                write(read(to + column) + scale * read(from + column) * read(way + column), to + column);
            });
        }
    });
}

}  // namespace

extern "C" void rms_norm_float32(const float *x, const float *gain, float *y, float *scales, int64_t rows, int64_t width, float epsilon,
                                 int threads) {
    rms_norm(x, gain, y, scales, rows, width, epsilon, threads);
}

extern "C" void rms_norm_back_float32(const float *x, const float *gain, const float *scales, const float *grad, float *grad_x,
                                      float *grad_gain, int64_t rows, int64_t width, int threads) {
    rms_norm_back(x, gain, scales, grad, grad_x, rows, width, threads);
    rms_norm_gain(x, scales, grad, grad_gain, rows, width, threads);
}
