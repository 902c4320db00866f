// Attention within documents: softmax(q k / sqrt(C)) v for each document and head, and its gradient. Documents here are short (tens to
// hundreds of tokens) and heads narrow (16 to 64), so that keys and values of a head stay in cache, and what a blocked kernel for long
// sequences spends on blocks is saved. Scores of a few queries at a time exist, never a matrix of them.
//
// One thread computes a document's head from its first token to its last: results are the same bits for any number of threads.

#include "vectors.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

constexpr int64_t STEP = 2 * LANES;  // keys whose scores are computed together

inline int64_t padded(int64_t count) { return (count + STEP - 1) / STEP * STEP; }

constexpr int R = 4;  // queries at once

// Vectors of a row at once: with R rows their sums take 8 or 12 of 16 registers, which hides the latency of products.
template <int V> constexpr int part_of() { return V % 3 == 0 ? 3 : V % 2 == 0 ? 2 : 1; }

// Buffers of one thread, as large as the longest document needs.
struct Buffers {
    std::vector<float> memory;
    float *next = nullptr;
    void begin(size_t floats) {
        if (memory.size() < floats) memory.resize(floats);
        next = memory.data();
    }
    float *take(int64_t floats) {
        float *taken = next;
        next += floats;
        return taken;
    }
};

// `count` rows of `width` values, `stride` apart, times `factor`, as rows of V vectors; zeros behind them up to `rows` rows.
template <int V>
void copy_rows(const float *from, int64_t stride, int64_t count, int64_t rows, int64_t width, float factor, float *to) {
    for (int64_t row = 0; row < count; row++) {
        float *target = to + row * V * LANES;
        std::memset(target + (V - 1) * LANES, 0, LANES * sizeof(float));
        along(width, [=](int64_t column, auto read, auto) { store(factor * read(from + row * stride + column), target + column); });
    }
    std::memset(to + count * V * LANES, 0, (rows - count) * V * LANES * sizeof(float));
}

// The same as columns: to[column][row], each column `rows` long and zero behind `count`.
void copy_columns(const float *from, int64_t stride, int64_t count, int64_t rows, int64_t width, float *to) {
    for (int64_t column = 0; column < width; column++) {
        float *target = to + column * rows;
        for (int64_t row = 0; row < count; row++) target[row] = from[row * stride + column];
        std::fill(target + count, target + rows, 0.0f);
    }
}

// scores[r][j] = <queries[r], keys[:, j]> for R queries and all j < end, a multiple of STEP.
template <int V>
void scores_of(const float *queries, const float *columns, int64_t length, int64_t width, int64_t end, float *scores) {
    for (int64_t j = 0; j < end; j += STEP) {
        Floats sums[R][2] = {};
        for (int64_t c = 0; c < width; c++) {
            Floats first = kept(load(columns + c * length + j)), second = kept(load(columns + c * length + j + LANES));
            for (int r = 0; r < R; r++) {
                float q = queries[r * V * LANES + c];
                sums[r][0] += q * first;
                sums[r][1] += q * second;
            }
        }
        for (int r = 0; r < R; r++) {
            store(sums[r][0], scores + r * length + j);
            store(sums[r][1], scores + r * length + j + LANES);
        }
    }
}

// sums[r] = sum over j < end of weights[r][j] * rows[j].
template <int V> void weighted(const float *weights, const float *rows, int64_t length, int64_t end, Floats (*sums)[V]) {
    constexpr int P = part_of<V>();
    for (int part = 0; part < V; part += P) {
        Floats of_part[R][P] = {};
        for (int64_t j = 0; j < end; j++) {
            Floats row[P];
            for (int v = 0; v < P; v++) row[v] = kept(load(rows + (j * V + part + v) * LANES));
            for (int r = 0; r < R; r++) {
                float weight = weights[r * length + j];
                for (int v = 0; v < P; v++) of_part[r][v] += weight * row[v];
            }
        }
        for (int r = 0; r < R; r++)
            for (int v = 0; v < P; v++) sums[r][part + v] = of_part[r][v];
    }
}

// rows[j] += sum over r of weights[r][j] * queries[r], for j < end.
template <int V> void spread(const float *weights, const float *queries, int64_t length, int64_t end, float *rows) {
    constexpr int P = part_of<V>();
    for (int part = 0; part < V; part += P) {
        Floats query[R][P];
        for (int r = 0; r < R; r++)
            for (int v = 0; v < P; v++) query[r][v] = kept(load(queries + (r * V + part + v) * LANES));
        for (int64_t j = 0; j < end; j++) {
            Floats sums[P];
            for (int v = 0; v < P; v++) sums[v] = load(rows + (j * V + part + v) * LANES);
            for (int r = 0; r < R; r++) {
                float weight = weights[r * length + j];
                for (int v = 0; v < P; v++) sums[v] += weight * query[r][v];
            }
            for (int v = 0; v < P; v++) store(sums[v], rows + (j * V + part + v) * LANES);
        }
    }
}

template <int V> void write_row(const Floats *sums, float factor, int64_t width, float *to) {
    float row[V * LANES];
    for (int v = 0; v < V; v++) store(factor * sums[v], row + v * LANES);
    std::memcpy(to, row, width * sizeof(float));
}

// One head of one document. Rows of q, k and v are `stride` apart (they lie in one matrix), those of the output `out_stride`.
struct Head {
    const float *q, *k, *v;
    int64_t stride, out_stride, length, width, heads;
    bool causal;
    float scale() const { return 1.0f / std::sqrt((float)width); }
    // How many keys the last of some rows may see, and the first of those that this row may not.
    int64_t seen(int64_t rows_end) const { return causal ? std::min(rows_end, length) : length; }
    int64_t hidden_from(int64_t row) const { return causal ? std::min(row + 1, length) : length; }
};

template <int V> void forward(const Head &head, float *out, float *log_sums, Buffers &buffers) {
    int64_t length = padded(head.length), rows = head.length + R;
    buffers.begin((rows + length) * V * LANES + head.width * length + R * length);
    float *queries = buffers.take(rows * V * LANES), *values = buffers.take(length * V * LANES);
    float *keys = buffers.take(head.width * length), *scores = buffers.take(R * length);
    copy_rows<V>(head.q, head.stride, head.length, rows, head.width, head.scale(), queries);
    copy_rows<V>(head.v, head.stride, head.length, head.length, head.width, 1.0f, values);
    copy_columns(head.k, head.stride, head.length, length, head.width, keys);
    for (int64_t row = 0; row < head.length; row += R) {
        int64_t seen = head.seen(row + R), end = padded(seen);
        scores_of<V>(queries + row * V * LANES, keys, length, head.width, end, scores);
        float sums[R];
        for (int r = 0; r < R; r++) {
            float *of_row = scores + r * length;
            int64_t hidden = head.hidden_from(row + r);
            std::fill(of_row + hidden, of_row + end, (float)-INFINITY);
            Floats most = load(of_row), sum = {};
            for (int64_t j = LANES; j < end; j += LANES) {
                Floats value = load(of_row + j);
                most = value > most ? value : most;
            }
            float highest = largest(most);
            for (int64_t j = 0; j < end; j += LANES) {
                Floats e = exp_of_negative(load(of_row + j) - highest);
                sum += e;
                store(e, of_row + j);
            }
            sums[r] = total(sum);
            if (row + r < head.length) log_sums[(row + r) * head.heads] = highest + std::log(sums[r]);
        }
        Floats mixed[R][V];
        weighted<V>(scores, values, length, seen, mixed);
        for (int r = 0; r < R && row + r < head.length; r++)
            write_row<V>(mixed[r], 1.0f / sums[r], head.width, out + (row + r) * head.out_stride);
    }
}

// Gradients of q, k and v from that of the output. With probabilities p and d = <grad, out>: dv_j = sum_i p_ij grad_i,
// ds_ij = p_ij (<grad_i, v_j> - d_i), dq_i = scale sum_j ds_ij k_j, dk_j = scale sum_i ds_ij q_i.
template <int V>
void backward(const Head &head, const float *out, const float *log_sums, const float *grad, float *grad_q, float *grad_k, float *grad_v,
              Buffers &buffers) {
    int64_t length = padded(head.length), rows = head.length + R, row_floats = V * LANES;
    buffers.begin((2 * rows + 3 * length) * row_floats + 2 * head.width * length + 2 * R * length);
    float *queries = buffers.take(rows * row_floats), *grads = buffers.take(rows * row_floats);
    float *key_rows = buffers.take(length * row_floats), *key_grads = buffers.take(length * row_floats);
    float *value_grads = buffers.take(length * row_floats);
    float *keys = buffers.take(head.width * length), *values = buffers.take(head.width * length);
    float *chances = buffers.take(R * length), *slopes = buffers.take(R * length);
    copy_rows<V>(head.q, head.stride, head.length, rows, head.width, head.scale(), queries);
    copy_rows<V>(grad, head.out_stride, head.length, rows, head.width, 1.0f, grads);
    copy_rows<V>(head.k, head.stride, head.length, head.length, head.width, 1.0f, key_rows);
    copy_columns(head.k, head.stride, head.length, length, head.width, keys);
    copy_columns(head.v, head.stride, head.length, length, head.width, values);
    std::fill(key_grads, key_grads + 2 * length * row_floats, 0.0f);  // those of values lie behind them
    for (int64_t row = 0; row < head.length; row += R) {
        int64_t seen = head.seen(row + R), end = padded(seen);
        scores_of<V>(queries + row * row_floats, keys, length, head.width, end, chances);
        scores_of<V>(grads + row * row_floats, values, length, head.width, end, slopes);
        for (int r = 0; r < R; r++) {
            float *p = chances + r * length, *s = slopes + r * length;
            if (row + r >= head.length) {  // rows behind the last have no part in any sum
                std::fill(p, p + end, 0.0f);
                std::fill(s, s + end, 0.0f);
                continue;
            }
            const float *own = out + (row + r) * head.out_stride, *given = grads + (row + r) * row_floats;
            float d = 0, log_sum = log_sums[(row + r) * head.heads];
            for (int64_t c = 0; c < head.width; c++) d += own[c] * given[c];
            int64_t hidden = head.hidden_from(row + r);
            std::fill(p + hidden, p + end, (float)-INFINITY);
            for (int64_t j = 0; j < end; j += LANES) {
                Floats chance = exp_of_negative(load(p + j) - log_sum);
                store(chance, p + j);
                store(chance * (load(s + j) - d), s + j);
            }
        }
        Floats mixed[R][V];
        weighted<V>(slopes, key_rows, length, seen, mixed);
        for (int r = 0; r < R && row + r < head.length; r++)
            write_row<V>(mixed[r], head.scale(), head.width, grad_q + (row + r) * head.stride);
        spread<V>(slopes, queries + row * row_floats, length, seen, key_grads);
        spread<V>(chances, grads + row * row_floats, length, seen, value_grads);
    }
    for (int64_t row = 0; row < head.length; row++) {
        std::memcpy(grad_k + row * head.stride, key_grads + row * row_floats, head.width * sizeof(float));
        std::memcpy(grad_v + row * head.stride, value_grads + row * row_floats, head.width * sizeof(float));
    }
}

// Calls body with the number of vectors of a head as a constant.
template <class Body> void with_vectors(int64_t width, Body body) {
    switch ((width + LANES - 1) / LANES) {
        case 1: return body(std::integral_constant<int, 1>{});
        case 2: return body(std::integral_constant<int, 2>{});
        case 3: return body(std::integral_constant<int, 3>{});
        case 4: return body(std::integral_constant<int, 4>{});
        case 5:
        case 6: return body(std::integral_constant<int, 6>{});
        case 7:
        case 8: return body(std::integral_constant<int, 8>{});
    }
}

// Calls body(head, first row, number of the head, buffers) for every head of every document; the longest documents should come first,
// but batches have many documents, and threads take the next as they are done.
template <class Body>
void over_heads(const float *qkv, const int64_t *lengths, int64_t documents, int64_t heads, int64_t width, bool causal, int threads, Body body) {
    std::vector<int64_t> starts(documents + 1, 0);
    for (int64_t d = 0; d < documents; d++) starts[d + 1] = starts[d] + lengths[d];
    int64_t model = heads * width;
    int team = team_for(threads, starts[documents] * model);
#pragma omp parallel num_threads(team) if (team > 1)
    {
        Buffers buffers;
#pragma omp for schedule(dynamic, 1)
        for (int64_t task = 0; task < documents * heads; task++) {
            int64_t first = starts[task / heads], number = task % heads;
            const float *q = qkv + first * 3 * model + number * width;
            body(Head{q, q + model, q + 2 * model, 3 * model, model, lengths[task / heads], width, heads, causal}, first, number, buffers);
        }
    }
}

// out = qkv with every head of the queries and the keys rotated: the pair (i, i + C/2) by the angle i of its token. Token n has the row
// n modulo `period` of the tables. direction: 1, or -1 for the rotation back, which is also its gradient.
void rotate(const float *qkv, const float *cosines, const float *sines, float *out, int64_t tokens, int64_t period, int64_t heads,
            int64_t width, float direction, int threads) {
    int64_t model = heads * width, half = width / 2;
    over_rows(tokens, 3 * model, threads, nullptr, [=](int64_t token) {
        const float *from = qkv + token * 3 * model, *cosine = cosines + token % period * half, *sine = sines + token % period * half;
        float *to = out + token * 3 * model;
        for (int64_t head = 0; head < 2 * heads; head++, from += width, to += width)
            for (int64_t i = 0; i < half; i++) {
                float first = from[i], second = from[i + half], turned = direction * sine[i];
                to[i] = first * cosine[i] - second * turned;
                to[i + half] = second * cosine[i] + first * turned;
            }
        std::memcpy(to, from, model * sizeof(float));
    });
}

}  // namespace

extern "C" void attention_rotate_float32(const float *qkv, const float *cosines, const float *sines, float *out, int64_t tokens,
                                         int64_t period, int64_t heads, int64_t width, int back, int threads) {
    rotate(qkv, cosines, sines, out, tokens, period, heads, width, back ? -1.0f : 1.0f, threads);
}

extern "C" void attention_forward_float32(const float *qkv, const int64_t *lengths, float *out, float *log_sums, int64_t documents,
                                          int64_t heads, int64_t width, int causal, int threads) {
    with_vectors(width, [=](auto vectors) {
        over_heads(qkv, lengths, documents, heads, width, causal, threads, [=](const Head &head, int64_t first, int64_t number, Buffers &buffers) {
            forward<decltype(vectors)::value>(head, out + first * heads * width + number * width, log_sums + first * heads + number, buffers);
        });
    });
}

extern "C" void attention_backward_float32(const float *qkv, const int64_t *lengths, const float *out, const float *log_sums,
                                           const float *grad, float *grad_qkv, int64_t documents, int64_t heads, int64_t width, int causal,
                                           int threads) {
    int64_t model = heads * width;
    with_vectors(width, [=](auto vectors) {
        over_heads(qkv, lengths, documents, heads, width, causal, threads, [=](const Head &head, int64_t first, int64_t number, Buffers &buffers) {
            int64_t at = first * model + number * width;
            float *grad_q = grad_qkv + first * 3 * model + number * width;
            backward<decltype(vectors)::value>(head, out + at, log_sums + first * heads + number, grad + at, grad_q, grad_q + model,
                                               grad_q + 2 * model, buffers);
        });
    });
}
