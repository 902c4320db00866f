// Modulated experts, gamma sqrt(2) m * c * gelu(H (b * q)): b and c are those of expert 0 for all, and m selects the half of the units
// whose sign in an expert's own c is positive. A token takes one transform and one GELU per block; its experts only add their gates to
// the units that they use.
//
// A token is computed by one thread, its experts and blocks in their order: results are the same bits for any number of threads.

#include "hadamard.h"

namespace {

constexpr float HALF_POWER = 0.7071067811865476f;  // gamma sqrt(2) m = gamma (1 + c) / sqrt(2), c an expert's own

// One call: the signs b and c that all experts share, which are those of expert 0, and the experts of each token.
struct Call {
    const Task &task;
    const int64_t *indices;
    const Signs signs;
    const std::unique_ptr<uint64_t[]> own;  // where there is no table of signs
    const uint64_t *const b, *const c;
    const int64_t width;
    const float inner, outer;

    Call(const Task &task, const int64_t *indices)
        : task(task), indices(indices), signs(task.pool, task.tokens * task.top_k, task.threads), own(new uint64_t[2 * task.pool.words()]),
          b(signs.of(0, own.get())), c(b + task.pool.words()), width(task.pool.width()), inner(task.pool.inner()),
          outer(task.pool.outer() * HALF_POWER) {}

    // body(first) is called for every block of units, z = H (b * q) before it.
    template <class Body> void over_blocks(const float *q, float *z, Body body) const {
        for (int64_t first = 0; first < task.pool.d_ffn; first += width) {
            project(q, b, first, width, z);
            body(first);
        }
    }

    // on[unit] = sum of g (1 + c) over the experts of a token, c their own, for the block of units from `first` on.
    void add_gates(const float *gates, int64_t token, int64_t first, Room &room, float *on) const {
        std::fill(on, on + room.width, 0.0f);
        over_experts(token, room, [=](int64_t place, const uint64_t *own_c) {
            Floats gate = Floats{} + gates[place];
            for (int64_t unit = 0; unit < width; unit += LANES)
                store(load(on + unit) + gate + flip(gate, signs_at(own_c, first + unit)), on + unit);
        });
    }

    // to[place] (+)= outer <1 + c, values> for every expert of a token, `values` those of the block of units from `first` on.
    void dots(int64_t token, int64_t first, Room &room, const float *values, float *to) const {
        over_experts(token, room, [=](int64_t place, const uint64_t *own_c) {
            Floats sum = {};
            for (int64_t unit = 0; unit < width; unit += LANES) {
                Floats value = load(values + unit);
                sum += value + flip(value, signs_at(own_c, first + unit));
            }
            to[place] = (first ? to[place] : 0.0f) + total(sum) * outer;
        });
    }

    // body(place, signs c) is called for every expert of a token.
    template <class Body> void over_experts(int64_t token, Room &room, Body body) const {
        for (int64_t place = token * task.top_k; place < (token + 1) * task.top_k; place++)
            body(place, signs.of(indices[place], room.signs()) + task.pool.words());
    }
};

template <class T> void forward(const T *x, const int64_t *indices, const float *gates, T *out, const Task &task) {
    const Call call(task, indices);
    over_tokens(x, task, 4, [&, gates, out](int64_t token, Room &room, const float *q) {
        float *z = room.row(1), *on = room.row(2), *sum = room.row(3);
        std::fill(sum, sum + room.width, 0.0f);
        call.over_blocks(q, z, [&](int64_t first) {
            call.add_gates(gates, token, first, room, on);
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
    over_tokens(x, task, 3, [&, wanted, alignment](int64_t token, Room &room, const float *q) {
        float *z = room.row(1), *way = room.row(2);
        unfold(wanted + token * task.pool.d_model, task.pool, way, room.width);
        call.over_blocks(q, z, [&](int64_t first) {
            for (int64_t unit = 0; unit < call.width; unit += LANES)
                store(flip(load(way + unit), signs_at(call.c, first + unit)) * gelu(load(z + unit) * call.inner).value, z + unit);
            call.dots(token, first, room, z, alignment);
        });
    });
}

// From the gradient of the output: those of x, and of the gates, which are <expert(x), grad>.
template <class T>
void backward(const T *x, const int64_t *indices, const float *gates, const T *grad, T *grad_x, float *grad_gates, const Task &task) {
    const Call call(task, indices);
    over_tokens(x, task, 6, [&, gates, grad, grad_x, grad_gates](int64_t token, Room &room, const float *q) {
        float *z = room.row(1), *way = room.row(2), *sum = room.row(3), *on = room.row(4), *values = room.row(5);
        unfold(grad + token * task.pool.d_model, task.pool, way, room.width);
        std::fill(sum, sum + room.width, 0.0f);
        call.over_blocks(q, z, [&](int64_t first) {
            call.add_gates(gates, token, first, room, on);
            for (int64_t unit = 0; unit < call.width; unit += LANES) {
                Gelu at = gelu(load(z + unit) * call.inner);
                Floats here = flip(load(way + unit), signs_at(call.c, first + unit));
                store(here * at.value, values + unit);
                store(here * load(on + unit) * at.slope, z + unit);
            }
            call.dots(token, first, room, values, grad_gates);
            project_back(z, call.b, first, call.width, call.outer * call.inner, sum);
        });
        pack(sum, task.pool.d_model, grad_x + token * task.pool.d_model);
    });
}

}  // namespace

EXPERTS_FOR_TYPE(modulated, float, float32)
EXPERTS_FOR_TYPE(modulated, bf16, bfloat16)
