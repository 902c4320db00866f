// Hadamard experts, gamma c * gelu(H (b * q)), gathered by token: signs, transform, GELU, gates and sum without leaving the cache.
// Backward computes the transforms again, so that nothing is kept; <expert output, wanted> needs no outputs either.
//
// A token is computed by one thread, its experts and blocks in their order: results are the same bits for any number of threads.

#include "hadamard.h"

namespace {

// body(token, place, expert, signs b, signs c) is called for every block of every expert of a token.
template <class Body> inline void over_blocks(const Task &task, const Signs &signs, const int64_t *indices, int64_t token, Room &room, Body body) {
    int64_t width = task.pool.width();
    for (int64_t slot = 0; slot < task.top_k; slot++) {
        int64_t place = token * task.top_k + slot;
        const uint64_t *b = signs.of(indices[place], room.signs()), *c = b + task.pool.words();
        for (int64_t first = 0; first < task.pool.d_ffn; first += width) body(place, first, b, c);
    }
}

template <class T> void forward(const T *x, const int64_t *indices, const float *gates, T *out, const Task &task) {
    const Pool &pool = task.pool;
    const Signs signs(pool, task.tokens * task.top_k, task.threads);
    const int64_t width = pool.width(), d_model = pool.d_model;
    const float inner = pool.inner(), outer = pool.outer();
    over_tokens(x, task, 3, [&, indices, gates, out](int64_t token, Room &room, const float *q) {
        float *z = room.row(1), *sum = room.row(2);
        std::fill(sum, sum + room.width, 0.0f);
        over_blocks(task, signs, indices, token, room, [=](int64_t place, int64_t first, const uint64_t *b, const uint64_t *c) {
            float gate = gates[place] * outer;
            project(q, b, first, width, z);
            for (int64_t unit = 0; unit < width; unit += LANES) {
                Floats hidden = flip(gelu(load(z + unit) * inner).value, signs_at(c, first + unit));
                store(load(sum + unit) + gate * hidden, sum + unit);
            }
        });
        fold(sum, pool, out + token * d_model);
    });
}

// alignment[token, slot] = <expert(x), wanted>.
template <class T> void align(const T *x, const int64_t *indices, const T *wanted, float *alignment, const Task &task) {
    const Pool &pool = task.pool;
    const Signs signs(pool, task.tokens * task.top_k, task.threads);
    const int64_t width = pool.width(), d_model = pool.d_model;
    const float inner = pool.inner(), outer = pool.outer();
    over_tokens(x, task, 3, [&, indices, wanted, alignment](int64_t token, Room &room, const float *q) {
        float *z = room.row(1), *way = room.row(2);
        unfold(wanted + token * d_model, pool, way, room.width);
        over_blocks(task, signs, indices, token, room, [=](int64_t place, int64_t first, const uint64_t *b, const uint64_t *c) {
            project(q, b, first, width, z);
            Floats sum = {};
            for (int64_t unit = 0; unit < width; unit += LANES)
                sum += flip(load(way + unit), signs_at(c, first + unit)) * gelu(load(z + unit) * inner).value;
            alignment[place] = (first ? alignment[place] : 0.0f) + total(sum) * outer;
        });
    });
}

// From the gradient of the output: those of x, and of the gates, which are <expert(x), grad>.
template <class T>
void backward(const T *x, const int64_t *indices, const float *gates, const T *grad, T *grad_x, float *grad_gates, const Task &task) {
    const Pool &pool = task.pool;
    const Signs signs(pool, task.tokens * task.top_k, task.threads);
    const int64_t width = pool.width(), d_model = pool.d_model;
    const float inner = pool.inner(), outer = pool.outer();
    over_tokens(x, task, 4, [&, indices, gates, grad, grad_x, grad_gates](int64_t token, Room &room, const float *q) {
        float *z = room.row(1), *way = room.row(2), *sum = room.row(3);
        unfold(grad + token * d_model, pool, way, room.width);
        std::fill(sum, sum + room.width, 0.0f);
        over_blocks(task, signs, indices, token, room, [=](int64_t place, int64_t first, const uint64_t *b, const uint64_t *c) {
            float gate = gates[place] * outer * inner;
            project(q, b, first, width, z);
            Floats dot = {};
            for (int64_t unit = 0; unit < width; unit += LANES) {
                Gelu at = gelu(load(z + unit) * inner);
                Floats way_here = flip(load(way + unit), signs_at(c, first + unit));
                dot += way_here * at.value;
                store(way_here * at.slope, z + unit);
            }
            grad_gates[place] = (first ? grad_gates[place] : 0.0f) + total(dot) * outer;
            project_back(z, b, first, width, gate, sum);
        });
        pack(sum, d_model, grad_x + token * d_model);
    });
}

}  // namespace

EXPERTS_FOR_TYPE(hadamard, float, float32)
EXPERTS_FOR_TYPE(hadamard, bf16, bfloat16)
