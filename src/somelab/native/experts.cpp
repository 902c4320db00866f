// Frozen experts in fp32: W_up gelu(W_down x + b) + b' for every pair of a token and an expert, and its gradient, with nothing but
// the hidden inputs kept in between.
//
// Tokens of one expert are taken a panel at a time: their values as columns side by side, one vector or two wide. A product then reads
// the expert's matrix as it is stored, value by value, and multiplies each with a vector of tokens; its result is a panel again. So
// no matrix is packed or transposed first (backward copies wide ones, once for many tokens), and experts with few tokens cost little
// more per token than those with many. Several panels pass while a few rows of a matrix stay in cache.
//
// A pair is computed by one thread, in the same steps whatever stands beside it, and a token's K outputs are added up in their order:
// results are the same bits for any number of threads and any batch.

#include "vectors.h"

#include <algorithm>
#include <memory>
#include <vector>
#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace {

#ifdef __AVX512F__
constexpr int ROWS = 12;  // rows of a matrix at once: with two vectors of tokens each, their sums stay in registers
#else
constexpr int ROWS = 6;
#endif
constexpr int64_t WIDE = 2 * LANES;  // tokens of a panel
constexpr int64_t PANELS = 4;        // panels that pass together
constexpr int64_t TOGETHER = PANELS * WIDE;
constexpr int64_t TASK = 8 * TOGETHER;  // pairs of one expert that stay with one thread

// result[r] = sum over k of matrix[r][k] panel[k], for R rows and V vectors of tokens.
template <int R, int V>
inline void multiply(const float *matrix, int64_t row_step, int64_t step, const float *panel, int64_t count, Floats (&result)[R][V]) {
    Floats sums[R][V] = {};  // of its own: GCC would store a sum that others may see at every step
    for (int64_t k = 0; k < count; k++) {
        Floats tokens[V];
#pragma GCC unroll 2
        for (int v = 0; v < V; v++) tokens[v] = kept(load(panel + (k * V + v) * LANES));
        const float *values = matrix + k * step;
#pragma GCC unroll 16
        for (int r = 0; r < R; r++)
#pragma GCC unroll 2
            for (int v = 0; v < V; v++) sums[r][v] += values[r * row_step] * tokens[v];
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; r++)
#pragma GCC unroll 2
        for (int v = 0; v < V; v++) result[r][v] = sums[r][v];
}

// Eight rows of eight values become eight columns.
#ifdef __AVX2__
inline void turn(const float *const *from, int64_t offset, float *const *to, int64_t to_offset) {
    __m256 row[8], pair[8], four[8];
    for (int i = 0; i < 8; i++) row[i] = _mm256_loadu_ps(from[i] + offset);
    for (int i = 0; i < 8; i += 2) pair[i] = _mm256_unpacklo_ps(row[i], row[i + 1]), pair[i + 1] = _mm256_unpackhi_ps(row[i], row[i + 1]);
    for (int i = 0; i < 8; i += 4)
        for (int half = 0; half < 2; half++) {
            four[i + 2 * half] = _mm256_shuffle_ps(pair[i + half], pair[i + 2 + half], 0x44);
            four[i + 2 * half + 1] = _mm256_shuffle_ps(pair[i + half], pair[i + 2 + half], 0xee);
        }
    for (int i = 0; i < 4; i++) {
        _mm256_storeu_ps(to[i] + to_offset, _mm256_permute2f128_ps(four[i], four[i + 4], 0x20));
        _mm256_storeu_ps(to[i + 4] + to_offset, _mm256_permute2f128_ps(four[i], four[i + 4], 0x31));
    }
}
#else
inline void turn(const float *const *from, int64_t offset, float *const *to, int64_t to_offset) {
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) to[j][to_offset + i] = from[i][offset + j];
}
#endif

// Tokens of one expert: `count` of them in a panel of V vectors.
template <int V> struct Panel {
    static constexpr int VECTORS = V;
    static constexpr int64_t TOKENS = V * LANES;
    int64_t count;

    // panel[column][token] = row(token)[column]; the columns behind `count` repeat the first token.
    template <class Row> void gather(Row row, int64_t width, float *panel) const {
        for (int64_t token = 0; token < TOKENS; token += 8) {
            const float *from[8];
            for (int i = 0; i < 8; i++) from[i] = row(token + i < count ? token + i : 0);
            int64_t column = 0;
            for (; column + 8 <= width; column += 8) {
                float *to[8];
                for (int i = 0; i < 8; i++) to[i] = panel + (column + i) * TOKENS;
                turn(from, column, to, token);
            }
            for (; column < width; column++)
                for (int i = 0; i < 8; i++) panel[column * TOKENS + token + i] = from[i][column];
        }
    }

    // row(token)[column] = panel[column][token].
    template <class Row> void scatter(const float *panel, int64_t width, Row row) const {
        for (int64_t token = 0; token < count; token += 8) {
            const int64_t here = std::min<int64_t>(8, count - token);
            float unused[8], *to[8];
            int64_t column = 0;
            for (; column + 8 <= width; column += 8) {
                const float *from[8];
                for (int i = 0; i < 8; i++) {
                    from[i] = panel + (column + i) * TOKENS;
                    to[i] = i < here ? row(token + i) + column : unused;
                }
                turn(from, token, to, 0);
            }
            for (; column < width; column++)
                for (int64_t i = 0; i < here; i++) row(token + i)[column] = panel[column * TOKENS + token + i];
        }
    }
};

// A few rows of a matrix: value k of row r is at values[r * row_step + k * step].
struct Rows {
    const float *values;
    int64_t row_step, step;
};

// A matrix as a product reads it: `outputs` rows of `inputs` values, or the transposed one of what is stored.
struct Matrix {
    const float *values;
    int64_t outputs, inputs;
    bool transposed;
    const float *copy;  // of a transposed one with rows side by side, or null

    int64_t strip() const { return ROWS * inputs + LANES; }  // not a multiple of a page: strips would compete for places of the cache
    int64_t copy_size() const { return (outputs + ROWS - 1) / ROWS * strip(); }

    // Values of a row that are a kilobyte apart or more compete for places of the cache. Then it pays to copy them.
    bool wants_copy() const { return transposed && outputs >= 256; }

    Rows rows(int64_t first) const {
        if (!transposed) return {values + first * inputs, inputs, 1};
        return copy ? Rows{copy + first / ROWS * strip(), 1, ROWS} : Rows{values + first, 1, outputs};
    }

    void copy_to(float *to) const {
        for (int64_t k = 0; k < inputs; k++)
            for (int64_t row = 0; row < outputs; row += ROWS)
                for (int64_t r = 0; r < std::min<int64_t>(ROWS, outputs - row); r++)
                    to[row / ROWS * strip() + k * ROWS + r] = values[k * outputs + row + r];
    }
};

// R rows of matrix x panel, plus the bias if there is one.
template <int R, int V>
inline void rows_of_product(const Rows &rows, int64_t inputs, const float *panel, const float *bias, float *to) {
    Floats sums[R][V];
    multiply<R, V>(rows.values, rows.row_step, rows.step, panel, inputs, sums);
#pragma GCC unroll 16
    for (int r = 0; r < R; r++)
#pragma GCC unroll 2
        for (int v = 0; v < V; v++) store(bias ? sums[r][v] + bias[r] : sums[r][v], to + (r * V + v) * LANES);
}

template <int V, int R = ROWS - 1>
inline void last_rows(int64_t left, const Rows &rows, int64_t inputs, const float *panel, const float *bias, float *to) {
    if constexpr (R > 0) {
        if (left == R) rows_of_product<R, V>(rows, inputs, panel, bias, to);
        else last_rows<V, R - 1>(left, rows, inputs, panel, bias, to);
    }
}

// Memory of a thread, kept: fresh memory costs page faults.
struct Buffers {
    std::unique_ptr<float[]> memory;
    int64_t size = 0;
    float *fit(int64_t floats) {
        if (size < floats) memory.reset(new float[floats + 16]), size = floats;
        return reinterpret_cast<float *>((reinterpret_cast<uintptr_t>(memory.get()) + 63) / 64 * 64);
    }
};

// The matrix with a copy in this memory if it wants one. `is_new`: the memory may hold that of another matrix.
inline Matrix copied(Matrix matrix, Buffers &memory, bool is_new) {
    if (!matrix.wants_copy()) return matrix;
    float *copy = memory.fit(matrix.copy_size());
    if (is_new) matrix.copy_to(copy);
    matrix.copy = copy;
    return matrix;
}

// The panels of up to TOGETHER tokens: wide ones, and one of a single vector where few tokens are left. In a buffer of what is `width`
// wide, the panel whose first token is `first` begins at first * width.
struct Panels {
    int64_t count;
    int64_t whole() const { return count % WIDE > LANES || count % WIDE == 0 ? (count + WIDE - 1) / WIDE : count / WIDE; }
    bool has_narrow() const { return whole() * WIDE < count; }
    int64_t places() const { return whole() * WIDE + (has_narrow() ? LANES : 0); }

    // Calls body(panel, first token) for each.
    template <class Body> void each(Body body) const {
        for (int64_t number = 0; number < whole(); number++)
            body(Panel<2>{std::min(WIDE, count - number * WIDE)}, number * WIDE);
        if (has_narrow()) body(Panel<1>{count - whole() * WIDE}, whole() * WIDE);
    }

    // to = matrix from + bias; the bias may be null.
    void product(const Matrix &matrix, const float *from, const float *bias, float *to) const {
        for (int64_t row = 0; row < matrix.outputs; row += ROWS) {
            const int64_t left = std::min<int64_t>(ROWS, matrix.outputs - row);
            const Rows rows = matrix.rows(row);
            each([&](auto panel, int64_t first) {
                constexpr int V = decltype(panel)::VECTORS;
                const float *tokens = from + first * matrix.inputs;
                float *out = to + first * matrix.outputs + row * panel.TOKENS;
                if (left == ROWS) rows_of_product<ROWS, V>(rows, matrix.inputs, tokens, bias ? bias + row : nullptr, out);
                else last_rows<V>(left, rows, matrix.inputs, tokens, bias ? bias + row : nullptr, out);
            });
        }
    }

    // panels = row(token), token by token.
    template <class Row> void gather(Row row, int64_t width, float *to) const {
        each([=](auto panel, int64_t first) { panel.gather([=](int64_t token) { return row(first + token); }, width, to + first * width); });
    }

    // row(token) = panels.
    template <class Row> void scatter(const float *from, int64_t width, Row row) const {
        each([=](auto panel, int64_t first) { panel.scatter(from + first * width, width, [=](int64_t token) { return row(first + token); }); });
    }
};

struct Pool {
    const float *down, *down_bias, *up, *up_bias;  // `up` is null where an expert returns its hidden features
    int64_t experts, d_model, d_ffn, d_out;
    Matrix down_of(int64_t expert, bool transposed) const {
        const float *values = down + expert * d_ffn * d_model;
        return transposed ? Matrix{values, d_model, d_ffn, true, nullptr} : Matrix{values, d_ffn, d_model, false, nullptr};
    }
    Matrix up_of(int64_t expert, bool transposed) const {
        const float *values = up + expert * d_out * d_ffn;
        return transposed ? Matrix{values, d_ffn, d_out, true, nullptr} : Matrix{values, d_out, d_ffn, false, nullptr};
    }
    const float *bias_of(int64_t expert) const { return down_bias + expert * d_ffn; }
    const float *up_bias_of(int64_t expert) const { return up_bias ? up_bias + expert * d_out : nullptr; }
};

// Pairs in the order of their experts. An expert's pairs begin at begins[e]; its panels at starts[e], rounded up to whole vectors.
struct Sorted {
    const int64_t *order, *begins, *starts;
    int64_t pairs, top_k;
};

// Pairs of one expert that one thread computes, one block after another.
struct Task {
    int64_t expert, begin, end;
};

// Calls body(expert, first pair, count, first place in the panels, is first of its task) for up to TOGETHER pairs of one expert, in
// parallel. Long runs of pairs are cut, so that an expert with most of the tokens does not keep the other threads waiting.
template <class Body> void over_experts(const Pool &pool, const Sorted &sorted, int threads, Body body) {
    int team = team_for(threads, sorted.pairs * pool.d_model);
    std::vector<Task> tasks;
    for (int64_t expert = 0; expert < pool.experts; expert++)
        for (int64_t begin = sorted.begins[expert], end = sorted.begins[expert + 1]; begin < end; begin += TASK)
            tasks.push_back({expert, begin, std::min(begin + TASK, end)});
#pragma omp parallel for schedule(dynamic) num_threads(team) if (team > 1)
    for (size_t number = 0; number < tasks.size(); number++) {
        const Task task = tasks[number];
        const int64_t shift = sorted.starts[task.expert] - sorted.begins[task.expert];
        for (int64_t first = task.begin; first < task.end; first += TOGETHER)
            body(task.expert, first, std::min(TOGETHER, task.end - first), first + shift, first == task.begin);
    }
}

// mixed[t] = sum over k of weights[t][k] rows[t][k].
void add_up(const float *rows, const float *weights, float *mixed, int64_t tokens, int64_t top_k, int64_t width, int threads) {
    over_rows(tokens, top_k * width, threads, nullptr, [=](int64_t token) {
        const float *from = rows + token * top_k * width, *weight = weights + token * top_k;
        along(width, [=](int64_t column, auto read, auto write) {
            Floats sum = weight[0] * read(from + column);
            for (int64_t k = 1; k < top_k; k++) sum += weight[k] * read(from + k * width + column);
            write(sum, mixed + token * width + column);
        });
    });
}

// outputs[pair] = the expert's output for the token; inputs: what gelu is applied to, as panels, or null.
void forward(const float *x, const Pool &pool, const Sorted &sorted, float *inputs, float *outputs, int threads) {
    over_experts(pool, sorted, threads, [=](int64_t expert, int64_t begin, int64_t count, int64_t start, bool) {
        static thread_local Buffers own;
        const Panels panels{count};
        float *tokens = own.fit(TOGETHER * (pool.d_model + pool.d_ffn + pool.d_out));
        float *hidden = tokens + TOGETHER * pool.d_model, *output = pool.up ? hidden + TOGETHER * pool.d_ffn : hidden;
        float *input = inputs ? inputs + start * pool.d_ffn : hidden;
        const int64_t *order = sorted.order + begin;
        panels.gather([=](int64_t token) { return x + order[token] / sorted.top_k * pool.d_model; }, pool.d_model, tokens);
        panels.product(pool.down_of(expert, false), tokens, pool.bias_of(expert), input);
        for (int64_t place = 0; place < panels.places() * pool.d_ffn; place += LANES)
            store(gelu(load(input + place)).value, hidden + place);
        if (pool.up) panels.product(pool.up_of(expert, false), hidden, pool.up_bias_of(expert), output);
        panels.scatter(output, pool.d_out, [=](int64_t token) { return outputs + order[token] * pool.d_out; });
    });
}

// From the gradient of the mixed output: that of each gate, and of each expert's input, without the gate; `grad_inputs` may be null.
void backward(const float *grad, const Pool &pool, const Sorted &sorted, const float *inputs, float *grad_gates, float *grad_inputs,
              int threads) {
    over_experts(pool, sorted, threads, [=](int64_t expert, int64_t begin, int64_t count, int64_t start, bool is_new) {
        static thread_local Buffers own, up_copy, down_copy;
        const Panels panels{count};
        float *wanted = own.fit(TOGETHER * (pool.d_out + pool.d_ffn + pool.d_model + 1));
        float *hidden = pool.up ? wanted + TOGETHER * pool.d_out : wanted, *result = wanted + TOGETHER * (pool.d_out + pool.d_ffn);
        float *gates = result + TOGETHER * pool.d_model;
        const int64_t *order = sorted.order + begin;
        const float *up_bias = pool.up_bias_of(expert);
        panels.gather([=](int64_t token) { return grad + order[token] / sorted.top_k * pool.d_out; }, pool.d_out, wanted);
        if (pool.up) panels.product(copied(pool.up_of(expert, true), up_copy, is_new), wanted, nullptr, hidden);
        // The gradient of gelu(input) becomes that of the input. The gate's is <gradient of the output, output>:
        // <dY, W_up h + b> = <dY W_up, h> + <dY, b>.
        panels.each([=](auto panel, int64_t first) {
            constexpr int V = decltype(panel)::VECTORS;
            const float *input = inputs + (start + first) * pool.d_ffn, *given = wanted + first * pool.d_out;
            float *both = hidden + first * pool.d_ffn;
            Floats sums[V] = {};
            for (int64_t row = 0; up_bias && row < pool.d_out; row++)
                for (int v = 0; v < V; v++) sums[v] += up_bias[row] * load(given + (row * V + v) * LANES);
            for (int64_t row = 0; row < pool.d_ffn; row++)
                for (int v = 0; v < V; v++) {
                    int64_t place = (row * V + v) * LANES;
                    Gelu at = gelu(load(input + place));
                    Floats value = load(both + place);
                    sums[v] += value * at.value;
                    store(value * at.slope, both + place);
                }
            for (int v = 0; v < V; v++) store(sums[v], gates + first + v * LANES);
        });
        for (int64_t i = 0; i < count; i++) grad_gates[order[i]] = gates[i];
        if (!grad_inputs) return;
        panels.product(copied(pool.down_of(expert, true), down_copy, is_new), hidden, nullptr, result);
        panels.scatter(result, pool.d_model, [=](int64_t token) { return grad_inputs + order[token] * pool.d_model; });
    });
}

}  // namespace

// Whether sums stay in registers: with narrower ones they are in memory, and torch's products are faster.
extern "C" int experts_are_fast(void) {
#if defined(__AVX2__) && defined(__FMA__)
    return 1;
#else
    return 0;
#endif
}

// Sorts pairs by expert, those of one expert by token. begins and starts have experts + 1 values.
extern "C" void experts_sort_float32(const int64_t *indices, int64_t *order, int64_t *begins, int64_t *starts, int64_t pairs,
                                     int64_t experts) {
    std::fill(begins, begins + experts + 1, 0);
    for (int64_t pair = 0; pair < pairs; pair++) begins[indices[pair] + 1]++;
    starts[0] = 0;
    for (int64_t expert = 0; expert < experts; expert++) {
        starts[expert + 1] = starts[expert] + (begins[expert + 1] + LANES - 1) / LANES * LANES;
        begins[expert + 1] += begins[expert];
    }
    std::unique_ptr<int64_t[]> next(new int64_t[experts]);
    std::copy(begins, begins + experts, next.get());
    for (int64_t pair = 0; pair < pairs; pair++) order[next[indices[pair]]++] = pair;
}

extern "C" void experts_forward_float32(const float *x, const float *gates, const float *down, const float *down_bias, const float *up,
                                        const float *up_bias, const int64_t *order, const int64_t *begins, const int64_t *starts,
                                        float *inputs, float *outputs, float *mixed, int64_t tokens, int64_t top_k, int64_t experts,
                                        int64_t d_model, int64_t d_ffn, int64_t d_out, int threads) {
    const Pool pool{down, down_bias, up, up_bias, experts, d_model, d_ffn, d_out};
    forward(x, pool, {order, begins, starts, tokens * top_k, top_k}, inputs, outputs, threads);
    add_up(outputs, gates, mixed, tokens, top_k, d_out, threads);
}

extern "C" void experts_backward_float32(const float *grad, const float *gates, const float *down, const float *down_bias, const float *up,
                                         const float *up_bias, const int64_t *order, const int64_t *begins, const int64_t *starts,
                                         const float *inputs, float *grad_gates, float *grad_inputs, float *grad_x, int64_t tokens,
                                         int64_t top_k, int64_t experts, int64_t d_model, int64_t d_ffn, int64_t d_out, int threads) {
    const Pool pool{down, down_bias, up, up_bias, experts, d_model, d_ffn, d_out};
    backward(grad, pool, {order, begins, starts, tokens * top_k, top_k}, inputs, grad_gates, grad_inputs, threads);
    if (grad_inputs) add_up(grad_inputs, gates, grad_x, tokens, top_k, d_model, threads);
}
