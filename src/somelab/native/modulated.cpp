// Modulated experts, gamma sqrt(2) m * c * gelu(H (b * q)): b and c are those of expert 0 for all, and m selects the half of the units
// whose sign in an expert's own c is positive. A token takes one transform and one GELU per block; its experts only add their gates to
// the units that they use.
//
// A token is computed by one thread, its experts and blocks in their order: results are the same bits for any number of threads.

#include "hadamard.h"

namespace {

constexpr float HALF_POWER = 0.7071067811865476f;  // gamma sqrt(2) m = gamma (1 + c) / sqrt(2), c an expert's own

// The signs b and c that all experts share, once per call.
class Shared {
  public:
    explicit Shared(const Pool &pool) : words(new uint64_t[2 * pool.words()]), count(pool.words()) {
        for (int64_t word = 0; word < 2 * count; word++) words[word] = hashed(pool.key, (uint64_t)word);
    }
    const uint64_t *b() const { return words.get(); }
    const uint64_t *c() const { return words.get() + count; }

  private:
    const std::unique_ptr<uint64_t[]> words;
    const int64_t count;
};

// body(place, signs c) is called for every expert of a token.
template <class Body> inline void over_experts(const Task &task, const Signs &signs, const int64_t *indices, int64_t token, Room &room, Body body) {
    for (int64_t place = token * task.top_k; place < (token + 1) * task.top_k; place++)
        body(place, signs.of(indices[place], room.signs()) + task.pool.words());
}

// on[unit] = sum of g (1 + c) over the experts of a token, for the block of units from `first` on.
inline void add_gates(const Task &task, const Signs &signs, const int64_t *indices, const float *gates, int64_t token, int64_t first, Room &room, float *on) {
    std::fill(on, on + room.width, 0.0f);
    int64_t width = task.pool.width();
    over_experts(task, signs, indices, token, room, [=](int64_t place, const uint64_t *c) {
        Floats gate = Floats{} + gates[place];
        for (int64_t unit = 0; unit < width; unit += LANES)
            store(load(on + unit) + gate + flip(gate, signs_at(c, first + unit)), on + unit);
    });
}

// to[place] (+)= factor <1 + c, values> for every expert of a token, `values` those of the block of units from `first` on.
inline void dots(const Task &task, const Signs &signs, const int64_t *indices, int64_t token, int64_t first, Room &room, const float *values, float factor, float *to) {
    int64_t width = task.pool.width();
    over_experts(task, signs, indices, token, room, [=](int64_t place, const uint64_t *c) {
        Floats sum = {};
        for (int64_t unit = 0; unit < width; unit += LANES) {
            Floats value = load(values + unit);
            sum += value + flip(value, signs_at(c, first + unit));
        }
        to[place] = (first ? to[place] : 0.0f) + total(sum) * factor;
    });
}

template <class T> void forward(const T *x, const int64_t *indices, const float *gates, T *out, const Task &task) {
    const Pool &pool = task.pool;
    const Signs signs(pool, task.tokens * task.top_k, task.threads);
    const Shared shared(pool);
    const int64_t width = pool.width(), d_model = pool.d_model;
    const float inner = pool.inner(), outer = pool.outer() * HALF_POWER;
    over_tokens(x, task, 4, [&, indices, gates, out](int64_t token, Room &room, const float *q) {
        float *z = room.row(1), *on = room.row(2), *sum = room.row(3);
        std::fill(sum, sum + room.width, 0.0f);
        for (int64_t first = 0; first < pool.d_ffn; first += width) {
            add_gates(task, signs, indices, gates, token, first, room, on);
            project(q, shared.b(), first, width, z);
            for (int64_t unit = 0; unit < width; unit += LANES) {
                Floats hidden = flip(gelu(load(z + unit) * inner).value, signs_at(shared.c(), first + unit));
                store(load(sum + unit) + outer * load(on + unit) * hidden, sum + unit);
            }
        }
        fold(sum, pool, out + token * d_model);
    });
}

// alignment[token, slot] = <expert(x), wanted>.
template <class T> void align(const T *x, const int64_t *indices, const T *wanted, float *alignment, const Task &task) {
    const Pool &pool = task.pool;
    const Signs signs(pool, task.tokens * task.top_k, task.threads);
    const Shared shared(pool);
    const int64_t width = pool.width(), d_model = pool.d_model;
    const float inner = pool.inner(), outer = pool.outer() * HALF_POWER;
    over_tokens(x, task, 3, [&, indices, wanted, alignment](int64_t token, Room &room, const float *q) {
        float *z = room.row(1), *way = room.row(2);
        unfold(wanted + token * d_model, pool, way, room.width);
        for (int64_t first = 0; first < pool.d_ffn; first += width) {
            project(q, shared.b(), first, width, z);
            for (int64_t unit = 0; unit < width; unit += LANES)
                store(flip(load(way + unit), signs_at(shared.c(), first + unit)) * gelu(load(z + unit) * inner).value, z + unit);
            dots(task, signs, indices, token, first, room, z, outer, alignment);
        }
    });
}

// From the gradient of the output: those of x, and of the gates, which are <expert(x), grad>.
template <class T>
void backward(const T *x, const int64_t *indices, const float *gates, const T *grad, T *grad_x, float *grad_gates, const Task &task) {
    const Pool &pool = task.pool;
    const Signs signs(pool, task.tokens * task.top_k, task.threads);
    const Shared shared(pool);
    const int64_t width = pool.width(), d_model = pool.d_model;
    const float inner = pool.inner(), outer = pool.outer() * HALF_POWER;
    over_tokens(x, task, 6, [&, indices, gates, grad, grad_x, grad_gates](int64_t token, Room &room, const float *q) {
        float *z = room.row(1), *way = room.row(2), *sum = room.row(3), *on = room.row(4), *values = room.row(5);
        unfold(grad + token * d_model, pool, way, room.width);
        std::fill(sum, sum + room.width, 0.0f);
        for (int64_t first = 0; first < pool.d_ffn; first += width) {
            add_gates(task, signs, indices, gates, token, first, room, on);
            project(q, shared.b(), first, width, z);
            for (int64_t unit = 0; unit < width; unit += LANES) {
                Gelu at = gelu(load(z + unit) * inner);
                Floats here = flip(load(way + unit), signs_at(shared.c(), first + unit));
                store(here * at.value, values + unit);
                store(here * load(on + unit) * at.slope, z + unit);
            }
            dots(task, signs, indices, token, first, room, values, outer, grad_gates);
            project_back(z, shared.b(), first, width, outer * inner, sum);
        }
        pack(sum, d_model, grad_x + token * d_model);
    });
}

}  // namespace

EXPERTS_FOR_TYPE(modulated, float, float32)
EXPERTS_FOR_TYPE(modulated, bf16, bfloat16)
