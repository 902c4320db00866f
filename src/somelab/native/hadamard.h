// What experts without matrices are made of: signs from a hash, the Walsh-Hadamard transform, and memory for one token.
// Units: width (N) of a transform, blocks of them make up an expert; unit p adds to output p mod d_model.

#pragma once
#include "vectors.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace {

constexpr int64_t LINE = 16;         // floats of a cache line
constexpr int64_t MOST_RADIX = 8;    // vectors transformed together: half of 16 registers, the rest hold constants and sums
constexpr double MEAN_SQUARE = 0.42522;

struct Pool {
    uint64_t key;
    int64_t num_experts, d_model, d_ffn;
    int64_t width() const {
        int64_t width = 1;
        while (width < d_model) width *= 2;
        return width;
    }
    int64_t words() const { return (d_ffn + 63) / 64; }  // of one sign vector; an expert has two
    float inner() const { return (float)(1 / std::sqrt((double)d_model)); }
    float outer() const { return (float)std::sqrt(d_model / (d_ffn * MEAN_SQUARE)); }
};

// 64 random bits for a counter (splitmix64), as `somelab.core.seeding.hashed`.
inline uint64_t hashed(uint64_t key, uint64_t counter) {
    uint64_t state = (counter + 1) * 0x9E3779B97F4A7C15u + key;
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
    state = (state ^ (state >> 27)) * 0x94D049BB133111EBu;
    return state ^ (state >> 31);
}

// Signs of experts. If every expert is used several times, all are hashed once per call; else where they are used, since a hash
// costs less than memory that is not in the cache: a pool of a million experts is as fast as one of ten thousand.
class Signs {
  public:
    Signs(const Pool &pool, int64_t uses, int threads) : pool(pool), count(2 * pool.words()) {
        if (pool.num_experts * 4 > uses) return;
        table.reset(new uint64_t[pool.num_experts * count]);
        over_rows(pool.num_experts, count, threads, nullptr, [&](int64_t expert) { fill(expert, table.get() + expert * count); });
    }
    const uint64_t *of(int64_t expert, uint64_t *own) const {
        if (table) return table.get() + expert * count;
        fill(expert, own);
        return own;
    }

  private:
    const Pool pool;
    const int64_t count;
    std::unique_ptr<uint64_t[]> table;
    void fill(int64_t expert, uint64_t *to) const {
        for (int64_t word = 0; word < count; word++) to[word] = hashed(pool.key, (uint64_t)(expert * count + word));
    }
};

// Bit `lane` of `bits` changes the sign of that lane.
inline Floats flip(Floats values, uint32_t bits) {
#ifdef __AVX512F__
    constexpr Bits left = {31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16};
#else
    constexpr Bits left = {31, 30, 29, 28, 27, 26, 25, 24};
#endif
    return (Floats)((Bits)values ^ (((Bits{} + bits) << left) & 0x80000000u));
}

// The signs of LANES units from `unit` on. Bits beyond a narrow block belong to another: there, values are zero.
inline uint32_t signs_at(const uint64_t *words, int64_t unit) { return (uint32_t)(words[unit / 64] >> (unit % 64)); }

template <int H> inline Floats swapped(Floats x) {
#ifdef __AVX512F__
    constexpr Ints order = {0 ^ H, 1 ^ H, 2 ^ H,  3 ^ H,  4 ^ H,  5 ^ H,  6 ^ H,  7 ^ H,
                            8 ^ H, 9 ^ H, 10 ^ H, 11 ^ H, 12 ^ H, 13 ^ H, 14 ^ H, 15 ^ H};
#else
    constexpr Ints order = {0 ^ H, 1 ^ H, 2 ^ H, 3 ^ H, 4 ^ H, 5 ^ H, 6 ^ H, 7 ^ H};
#endif
#ifdef __clang__
    Floats y;
    for (int64_t lane = 0; lane < LANES; lane++) y[lane] = x[order[lane]];
    return y;
#else
    return __builtin_shuffle(x, order);
#endif
}

// Butterflies among the lanes of a vector: lane l becomes x[l] + x[l ^ H], or x[l ^ H] - x[l] where bit H of l is set.
template <int H> inline Floats butterfly(Floats x) {
    Floats sign;
    for (int64_t lane = 0; lane < LANES; lane++) sign[lane] = lane & H ? -1.0f : 1.0f;
    return x * sign + swapped<H>(x);
}

// `span` is below LANES for a narrow transform alone.
inline Floats within(Floats x, int64_t span) {
    if (span > 1) x = butterfly<1>(x);
    if (span > 2) x = butterfly<2>(x);
    if (span > 4) x = butterfly<4>(x);
#ifdef __AVX512F__
    if (span > 8) x = butterfly<8>(x);
#endif
    return x;
}

template <int R> inline void across(Floats *x) {
#pragma GCC unroll 4
    for (int h = 1; h < R; h *= 2)
#pragma GCC unroll 8
        for (int i = 0; i < R; i++)
            if (!(i & h)) {
                Floats a = x[i], b = x[i + h];
                x[i] = a + b;
                x[i + h] = a - b;
            }
}

// One pass over `count` vectors in place: groups of R that lie `stride` vectors apart. The first pass also goes through the lanes.
template <int R, bool FIRST> inline void pass(float *z, int64_t count, int64_t stride, int64_t span) {
    for (int64_t base = 0; base < count; base += R * stride)
        for (int64_t start = base; start < base + stride; start++) {
            Floats x[R];
#pragma GCC unroll 8
            for (int i = 0; i < R; i++) {
                x[i] = load(z + (start + i * stride) * LANES);
                if (FIRST) x[i] = within(x[i], span);
            }
            across<R>(x);
#pragma GCC unroll 8
            for (int i = 0; i < R; i++) store(x[i], z + (start + i * stride) * LANES);
        }
}

// z = H z with entries 1 and -1: not divided by the root of its width, a power of two. z is filled up to a whole vector.
void walsh_hadamard(float *z, int64_t width) {
    int64_t count = std::max<int64_t>(1, width / LANES), stride = std::min(count, MOST_RADIX);
    if (stride == 8) pass<8, true>(z, count, 1, LANES);
    else if (stride == 4) pass<4, true>(z, count, 1, LANES);
    else if (stride == 2) pass<2, true>(z, count, 1, LANES);
    else pass<1, true>(z, count, 1, std::min(width, LANES));
    while (stride < count) {
        int64_t radix = std::min(count / stride, MOST_RADIX);
        if (radix == 8) pass<8, false>(z, count, stride, LANES);
        else if (radix == 4) pass<4, false>(z, count, stride, LANES);
        else pass<2, false>(z, count, stride, LANES);
        stride *= radix;
    }
}

// z = H (b * q) for the block of units from `first` on.
inline void project(const float *q, const uint64_t *b, int64_t first, int64_t width, float *z) {
    for (int64_t unit = 0; unit < width; unit += LANES) store(flip(load(q + unit), signs_at(b, first + unit)), z + unit);
    walsh_hadamard(z, width);
}

// sum += factor (b * H z), the way back of a gradient. z is overwritten.
inline void project_back(float *z, const uint64_t *b, int64_t first, int64_t width, float factor, float *sum) {
    walsh_hadamard(z, width);
    for (int64_t unit = 0; unit < width; unit += LANES)
        store(load(sum + unit) + factor * flip(load(z + unit), signs_at(b, first + unit)), sum + unit);
}

// The memory of one thread for one token: rows of `width` floats, filled up to a whole vector, and the signs of one expert.
class Room {
  public:
    Room(const Pool &pool, int64_t rows) {
        width = row_width(pool);
        if (size < rows * width) memory.reset(new float[rows * width + LINE]), size = rows * width;
        if (num_words < 2 * pool.words()) words.reset(new uint64_t[2 * pool.words()]), num_words = 2 * pool.words();
    }
    float *row(int64_t number) const {
        auto address = (reinterpret_cast<uintptr_t>(memory.get()) + 4 * LINE - 1) / (4 * LINE) * (4 * LINE);
        return reinterpret_cast<float *>(address) + number * width;
    }
    uint64_t *signs() const { return words.get(); }
    static int64_t row_width(const Pool &pool) { return (std::max(pool.width(), LANES) + LINE - 1) / LINE * LINE; }
    int64_t width;

  private:
    static thread_local std::unique_ptr<float[]> memory;
    static thread_local std::unique_ptr<uint64_t[]> words;
    static thread_local int64_t size, num_words;
};
thread_local std::unique_ptr<float[]> Room::memory;
thread_local std::unique_ptr<uint64_t[]> Room::words;
thread_local int64_t Room::size = 0, Room::num_words = 0;

// to = from, and zeros after it.
template <class T> inline void unpack(const T *from, int64_t count, float *to, int64_t width) {
    along(count, [=](int64_t column, auto read, auto) { store(read(from + column), to + column); });
    std::fill(to + count, to + width, 0.0f);
}

// A row of outputs as the units see it: unit p at p mod d_model.
template <class T> inline void unfold(const T *from, const Pool &pool, float *to, int64_t width) {
    unpack(from, pool.d_model, to, width);
    float *rest = to + pool.d_model;
    along(pool.width() - pool.d_model, [=](int64_t column, auto read, auto write) { write(read(from + column), rest + column); });
}

template <class T> inline void pack(const float *from, int64_t count, T *to) {
    along(count, [=](int64_t column, auto, auto write) { write(load(from + column), to + column); });
}

// to = the units added up by output, p mod d_model. `units` is overwritten.
template <class T> inline void fold(float *units, const Pool &pool, T *to) {
    const float *rest = units + pool.d_model;
    along(pool.width() - pool.d_model,
          [=](int64_t column, auto read, auto write) { write(read(units + column) + read(rest + column), units + column); });
    pack(units, pool.d_model, to);
}

struct Task {
    Pool pool;
    int64_t tokens, top_k;
    int threads;
};

// body(token, room, q) is called for every token, q its row of x filled up with zeros: row 0 of the room, which has `rows`.
template <class T, class Body> void over_tokens(const T *x, const Task &task, int64_t rows, Body body) {
    const Pool &pool = task.pool;
    over_rows(task.tokens, task.top_k * pool.d_ffn, task.threads, nullptr, [&, x](int64_t token) {
        Room room(pool, rows);
        unpack(x + token * pool.d_model, pool.d_model, room.row(0), room.width);
        body(token, room, room.row(0));
    });
}

}  // namespace

// The functions of a file by the names that Python calls: `forward`, `align` and `backward` are its own.
#define EXPERTS_FOR_TYPE(family, T, name)                                                                                         \
    extern "C" void family##_forward_##name(const T *x, const int64_t *indices, const float *gates, T *out, uint64_t key,         \
                                            int64_t num_experts, int64_t d_model, int64_t d_ffn, int64_t tokens, int64_t top_k,   \
                                            int threads) {                                                                        \
        forward(x, indices, gates, out, {{key, num_experts, d_model, d_ffn}, tokens, top_k, threads});                            \
    }                                                                                                                             \
    extern "C" void family##_align_##name(const T *x, const int64_t *indices, const T *wanted, float *alignment, uint64_t key,    \
                                          int64_t num_experts, int64_t d_model, int64_t d_ffn, int64_t tokens, int64_t top_k,     \
                                          int threads) {                                                                          \
        align(x, indices, wanted, alignment, {{key, num_experts, d_model, d_ffn}, tokens, top_k, threads});                       \
    }                                                                                                                             \
    extern "C" void family##_backward_##name(const T *x, const int64_t *indices, const float *gates, const T *grad, T *grad_x,    \
                                             float *grad_gates, uint64_t key, int64_t num_experts, int64_t d_model, int64_t d_ffn,\
                                             int64_t tokens, int64_t top_k, int threads) {                                        \
        backward(x, indices, gates, grad, grad_x, grad_gates, {{key, num_experts, d_model, d_ffn}, tokens, top_k, threads});      \
    }
