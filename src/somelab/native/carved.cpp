// Groups of neurons of a carved feed-forward block, for one token: y += sum over the groups in use of D_e (silu(G_e x) * (U_e x) - mean_e).
// Every weight is read once, where it is; memory bandwidth is all that this costs. Threads share the groups, and each has a sum of its own.

#include "vectors.h"
#include <cmath>
#include <vector>

namespace {

void groups(float *y, const float *x, const int64_t *used, const float *gate_up, const float *down, const float *mean, int64_t count,
            int64_t size, int64_t width, int threads) {
    int most = threads < count ? threads : (int)count;
    if (most < 1) return;
    std::vector<float> sums((size_t)most * width, 0.0f);
    #pragma omp parallel for num_threads(most) schedule(static, 1)
    for (int part = 0; part < most; part++) {
        float *sum = sums.data() + (size_t)part * width;
        for (int64_t at = count * part / most; at < count * (part + 1) / most; at++) {
            const float *gates = gate_up + used[at] * 2 * size * width, *ups = gates + size * width;
            const float *downs = down + used[at] * size * width, *means = mean + used[at] * size;
            for (int64_t row = 0; row < size; row++) {
                const float *g = gates + row * width, *u = ups + row * width, *d = downs + row * width;
                float gate = 0, up = 0;
                #pragma omp simd reduction(+ : gate, up)
                for (int64_t column = 0; column < width; column++) {
                    gate += g[column] * x[column];
                    up += u[column] * x[column];
                }
                float hidden = gate / (1 + std::exp(-gate)) * up - means[row];
                #pragma omp simd
                for (int64_t column = 0; column < width; column++) sum[column] += hidden * d[column];
            }
        }
    }
    for (int part = 0; part < most; part++)
        for (int64_t column = 0; column < width; column++) y[column] += sums[(size_t)part * width + column];
}

}  // namespace

extern "C" void carved_groups(float *y, const float *x, const int64_t *used, const float *gate_up, const float *down, const float *mean,
                              int64_t count, int64_t size, int64_t width, int threads) {
    groups(y, x, used, gate_up, down, mean, count, size, width, threads);
}
