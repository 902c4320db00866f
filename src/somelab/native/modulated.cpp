// Modulated experts, gamma sqrt(2) m * c * gelu(H (b * q)): b and c are those of expert 0 for all, and m selects the half of the units
// whose sign in an expert's own c is positive. A token takes one transform and one GELU per block; its experts only add their gates to
// the units that they use.
//
// A token is computed by one thread, its experts and blocks in their order: results are the same bits for any number of threads.

#include "hadamard.h"

namespace {

constexpr float ROOT_OF_TWO = 1.4142135623730951f;
constexpr int64_t MOST_IN_TABLE = 1 << 16;  // floats: what the second cache holds beside other data
constexpr int64_t TOGETHER = 4;             // vectors of units whose sums stay in registers

// The masks m of experts as rows of 1 and 0, a block of units in `stride` floats. If every expert is used several times and all fit
// in the cache, they are made once per call; else for each token.
class Masks {
  public:
    Masks(const Task &task, const Signs &signs, int64_t stride)
        : pool(task.pool), signs(signs), stride(stride), blocks(pool.d_ffn / pool.width()), size(blocks * stride) {
        if (pool.num_experts * 4 > task.tokens * task.top_k || pool.num_experts * size > MOST_IN_TABLE) return;
        std::unique_ptr<uint64_t[]> own(new uint64_t[2 * pool.words()]);
        table.reset(new float[pool.num_experts * size]);
        for (int64_t expert = 0; expert < pool.num_experts; expert++) fill(expert, own.get(), table.get() + expert * size);
    }
    // How many rows of `stride` floats a token needs for its experts.
    int64_t rows(int64_t top_k) const { return table ? 0 : top_k * blocks; }
    // of[slot] = m of each of a token's experts, in the table or in the rows from `to` on.
    void find(const int64_t *experts, int64_t top_k, uint64_t *words, float *to, const float **of) const {
        for (int64_t slot = 0; slot < top_k; slot++) {
            of[slot] = table ? table.get() + experts[slot] * size : to + slot * size;
            if (!table) fill(experts[slot], words, to + slot * size);
        }
    }
    const Pool pool;
    const Signs &signs;
    const int64_t stride, blocks, size;

  private:
    std::unique_ptr<float[]> table;
    void fill(int64_t expert, uint64_t *words, float *to) const {
        const uint64_t *c = signs.of(expert, words) + pool.words();
        const Floats half = Floats{} + 0.5f;
        for (int64_t first = 0, block = 0; block < blocks; first += pool.width(), block++)
            for (int64_t unit = 0; unit < pool.width(); unit += LANES)
                store(half + flip(half, signs_at(c, first + unit)), to + block * stride + unit);
    }
};

// One call: the signs b and c that all experts share, which are those of expert 0, and the experts of each token.
struct Call {
    const Task &task;
    const int64_t *indices;
    const Signs signs;
    const std::unique_ptr<uint64_t[]> own;  // where there is no table of signs
    const uint64_t *const b, *const c;
    const int64_t width;
    const float inner, outer;
    const Masks masks;

    Call(const Task &task, const int64_t *indices)
        : task(task), indices(indices), signs(task.pool, task.tokens * task.top_k, task.threads), own(new uint64_t[2 * task.pool.words()]),
          b(signs.of(0, own.get())), c(b + task.pool.words()), width(task.pool.width()), inner(task.pool.inner()),
          outer(task.pool.outer() * ROOT_OF_TWO), masks(task, signs, Room::row_width(task.pool)) {}

    // body(token, room, q, of) is called for every token: `of` are the masks of its experts. The room has `rows` of its own.
    template <class T, class Body> void over_tokens(const T *x, int64_t rows, Body body) const {
        ::over_tokens(x, task, rows + masks.rows(task.top_k), [&, rows](int64_t token, Room &room, const float *q) {
            static thread_local std::unique_ptr<const float *[]> of;
            static thread_local int64_t most = 0;
            if (most < task.top_k) of.reset(new const float *[task.top_k]), most = task.top_k;
            masks.find(indices + token * task.top_k, task.top_k, room.signs(), room.row(rows), of.get());
            body(token, room, q, of.get());
        });
    }

    // body(first, at) is called for every block of units, z = H (b * q) before it. `at`: where the block begins in a mask.
    template <class Body> void over_blocks(const float *q, float *z, Body body) const {
        for (int64_t first = 0, at = 0; first < task.pool.d_ffn; first += width, at += masks.stride) {
            project(q, b, first, width, z);
            body(first, at);
        }
    }

    // on[unit] = sum of the gates of the experts that use it, for a block of units.
    void add_gates(const float *gates, const float *const *of, int64_t at, float *on) const {
        int64_t unit = 0;
        for (; unit + TOGETHER * LANES <= width; unit += TOGETHER * LANES) add_gates_of<TOGETHER>(gates, of, at + unit, on + unit);
        for (; unit < width; unit += LANES) add_gates_of<1>(gates, of, at + unit, on + unit);
    }

    template <int N> void add_gates_of(const float *gates, const float *const *of, int64_t at, float *on) const {
        Floats sums[N] = {};
        for (int64_t slot = 0; slot < task.top_k; slot++)
#pragma GCC unroll 4
            for (int i = 0; i < N; i++) sums[i] += gates[slot] * load(of[slot] + at + i * LANES);
#pragma GCC unroll 4
        for (int i = 0; i < N; i++) store(sums[i], on + i * LANES);
    }

    // to[slot] (+)= outer <m, values> for every expert of a token, `values` those of the block of units from `first` on.
    void dots(const float *const *of, int64_t first, int64_t at, const float *values, float *to) const {
        for (int64_t slot = 0; slot < task.top_k; slot++) {
            Floats sum = {};
            for (int64_t unit = 0; unit < width; unit += LANES) sum += load(values + unit) * load(of[slot] + at + unit);
            to[slot] = (first ? to[slot] : 0.0f) + total(sum) * outer;
        }
    }
};

template <class T> void forward(const T *x, const int64_t *indices, const float *gates, T *out, const Task &task) {
    const Call call(task, indices);
    call.over_tokens(x, 4, [&, gates, out](int64_t token, Room &room, const float *q, const float *const *of) {
        float *z = room.row(1), *on = room.row(2), *sum = room.row(3);
        std::fill(sum, sum + room.width, 0.0f);
        call.over_blocks(q, z, [&](int64_t first, int64_t at) {
            call.add_gates(gates + token * task.top_k, of, at, on);
            for (int64_t unit = 0; unit < call.width; unit += LANES) {
                Floats hidden = flip(gelu(load(z + unit) * call.inner).value, signs_at(call.c, first + unit));
                store(load(sum + unit) + call.outer * load(on + unit) * hidden, sum + unit);
            }
        });
        fold(sum, task.pool, out + token * task.pool.d_model);
    });
}

// alignment[token, slot] = <expert(x), wanted>.
template <class T> void align(const T *x, const int64_t *indices, const T *wanted, float *alignment, const Task &task) {
    const Call call(task, indices);
    call.over_tokens(x, 4, [&, wanted, alignment](int64_t token, Room &room, const float *q, const float *const *of) {
        float *z = room.row(1), *way = room.row(2), *values = room.row(3);
        unfold(wanted + token * task.pool.d_model, task.pool, way, room.width);
        call.over_blocks(q, z, [&](int64_t first, int64_t at) {
            for (int64_t unit = 0; unit < call.width; unit += LANES)
                store(flip(load(way + unit), signs_at(call.c, first + unit)) * gelu(load(z + unit) * call.inner).value, values + unit);
            call.dots(of, first, at, values, alignment + token * task.top_k);
        });
    });
}

// From the gradient of the output: those of x, and of the gates, which are <expert(x), grad>.
template <class T>
void backward(const T *x, const int64_t *indices, const float *gates, const T *grad, T *grad_x, float *grad_gates, const Task &task) {
    const Call call(task, indices);
    call.over_tokens(x, 6, [&, gates, grad, grad_x, grad_gates](int64_t token, Room &room, const float *q, const float *const *of) {
        float *z = room.row(1), *way = room.row(2), *sum = room.row(3), *on = room.row(4), *values = room.row(5);
        unfold(grad + token * task.pool.d_model, task.pool, way, room.width);
        std::fill(sum, sum + room.width, 0.0f);
        call.over_blocks(q, z, [&](int64_t first, int64_t at) {
            call.add_gates(gates + token * task.top_k, of, at, on);
            for (int64_t unit = 0; unit < call.width; unit += LANES) {
                Gelu hidden = gelu(load(z + unit) * call.inner);
                Floats here = flip(load(way + unit), signs_at(call.c, first + unit));
                store(here * hidden.value, values + unit);
                store(here * load(on + unit) * hidden.slope, z + unit);
            }
            call.dots(of, first, at, values, grad_gates + token * task.top_k);
            project_back(z, call.b, first, call.width, call.outer * call.inner, sum);
        });
        pack(sum, task.pool.d_model, grad_x + token * task.pool.d_model);
    });
}

}  // namespace

EXPERTS_FOR_TYPE(modulated, float, float32)
EXPERTS_FOR_TYPE(modulated, bf16, bfloat16)
