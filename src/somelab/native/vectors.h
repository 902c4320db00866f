// Vectors of floats as wide as the registers of this processor, rows of any width, GELU, and rows shared among threads: what all
// kernels are made of. fp32 and bf16 in memory, fp32 inside. Vectors are the compiler's own (GCC, Clang), so any SIMD unit will do.

#pragma once
#include <cstdint>
#include <cstring>
#include <omp.h>
#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

namespace {

// As wide as the registers: GCC splits a wider vector into scalars at each comparison, which makes GELU three times slower.
#ifdef __AVX512F__
constexpr int64_t LANES = 16;
#else
constexpr int64_t LANES = 8;
#endif
typedef float Floats __attribute__((vector_size(4 * LANES)));
typedef int32_t Ints __attribute__((vector_size(4 * LANES)));
typedef uint32_t Bits __attribute__((vector_size(4 * LANES)));
typedef uint16_t Halves __attribute__((vector_size(2 * LANES)));
typedef uint16_t bf16;

inline Floats load(const float *from) {
    Floats values;
    std::memcpy(&values, from, sizeof values);
    return values;
}

inline Floats load(const bf16 *from) {
    Halves halves;
    std::memcpy(&halves, from, sizeof halves);
    return (Floats)(__builtin_convertvector(halves, Bits) << 16);
}

inline void store(Floats values, float *to) { std::memcpy(to, &values, sizeof values); }

// Keeps a vector in a register: GCC would read it from memory again for each product, and reading would be what takes the time.
inline Floats kept(Floats values) {
#ifdef __AVX__  // without it a vector takes two registers, and this would not compile
    asm("" : "+x"(values));
#endif
    return values;
}

#ifdef __AVX512BF16__
inline void store(Floats values, bf16 *to) {
    __m256bh halves = _mm512_cvtneps_pbh((__m512)values);
    std::memcpy(to, &halves, sizeof halves);
}
#else
inline void store(Floats values, bf16 *to) {
    Bits bits = (Bits)values;
    Bits rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;  // to nearest, ties to even
    rounded = (values != values) ? Bits{} + 0x7fc0 : rounded;   // rounding could turn a NaN into an infinity
    Halves halves = __builtin_convertvector(rounded, Halves);
    std::memcpy(to, &halves, sizeof halves);
}
#endif

// The last values of a row: fewer than LANES, the rest zero.
template <class T> inline Floats load_some(const T *from, int64_t count) {
    T whole[LANES] = {};
    std::memcpy(whole, from, count * sizeof(T));
    return load(whole);
}

template <class T> inline void store_some(Floats values, T *to, int64_t count) {
    T whole[LANES];
    store(values, whole);
    std::memcpy(to, whole, count * sizeof(T));
}

// Calls body(column, read, write) for every LANES columns; `read` and `write` know about the end of the row.
template <class Body> inline void along(int64_t width, Body body) {
    int64_t column = 0;
    for (; column + LANES <= width; column += LANES)
        body(column, [](auto *from) { return load(from); }, [](Floats values, auto *to) { store(values, to); });
    if (int64_t left = width - column)
        body(column, [left](auto *from) { return load_some(from, left); },
             [left](Floats values, auto *to) { store_some(values, to, left); });
}

inline float largest(Floats lanes) {
    float most = lanes[0];
    for (int64_t lane = 1; lane < LANES; lane++) most = lanes[lane] > most ? lanes[lane] : most;
    return most;
}

inline float total(Floats lanes) {
    float sum = 0;
    for (int64_t lane = 0; lane < LANES; lane++) sum += lanes[lane];
    return sum;
}

// 2^t for t = shifted - 1.5 * 2^23 + f with an integer and f in [-1/2, 1/2]: a polynomial for 2^f, and the integer added to the exponent.
inline Floats power_of_two(Floats shifted, Floats f) {
    Floats f2 = f * f;
    Floats e = (f * 0.693146944f + 1.00000012f) + f2 * ((f * 0.0555071346f + 0.240221202f) + f2 * (f * 0.00132764701f + 0.00967554096f));
    return (Floats)((Bits)e + ((Bits)shifted << 23));
}

// exp(x) for x <= 0, with a relative error of 2e-7; 0 below -87, where it would be denormal. A NaN stays one.
inline Floats exp_of_negative(Floats x) {
    Floats least = Floats{} - 87.0f, zero = {};
    Floats bounded = x < least ? least : x;
    Floats t = bounded * 1.44269504f;
    Floats shifted = t + 12582912.0f;  // 1.5 * 2^23 rounds t to an integer
    Floats f = bounded * 1.44269504f - (shifted - 12582912.0f);
    return x < least ? zero : power_of_two(shifted, f);
}

// GELU in its exact form, x P(Z < x) for a standard normal Z, and its derivative P(Z < x) + x p(x). With a = |x| and the tail
// P(Z > a) = exp(-a^2/2) R(a): gelu(x) = max(x, 0) - a tail, and gelu'(x) = s for x < 0 and 1 - s else, s = tail - a p(a).
// R is smooth: a polynomial of degree 11, minimax on [0, 6] under the weight exp(-a^2/2) max(a, 0.8). From a = 7 on, where the tail is
// below 1e-9, its value at 7 stands. A NaN passes every step. Sums are written as trees: as chains, each would wait for the last.
// Error against float64 on [-12, 12], the rounding of the result included: 2.7e-7 for the value (torch 2.13: 1.3e-6), 2.1e-7 for the slope.
struct Gelu {
    Floats value;
    Floats slope;
};

inline Gelu gelu(Floats x) {
    Floats a = (Floats)((Ints)x & 0x7fffffff);
    Floats most = Floats{} + 7.0f, zero = {};
    a = most < a ? most : a;
    Floats a2 = a * a, a4 = a2 * a2;
    Floats shifted = a2 * -0.72134752f + 12582912.0f;  // exp(-a^2/2) = 2^(-0.72 a^2); 1.5 * 2^23 rounds that to an integer
    Floats e = power_of_two(shifted, a2 * -0.72134752f - (shifted - 12582912.0f));
    Floats low = (a * -0.398939013f + 0.49999997f) + a2 * (a * -0.132699355f + 0.249951407f);
    Floats middle = (a * -0.0250872821f + 0.0616559833f) + a2 * (a * -0.00240462623f + 0.00866718404f);
    Floats high = (a * -7.11575121e-05f + 0.000499286281f) + a2 * (a * -2.35970234e-07f + 6.11092219e-06f);
    Floats r = low + a4 * (middle + a4 * high);
    Floats s = e * (r - a * 0.3989422804f);
    return {(zero > x ? zero : x) - a * (e * r), x < zero ? s : 1.0f - s};
}

// Small work is not worth waking threads for.
int team_for(int threads, int64_t values) {
    int64_t most = values / 16384;
    return most < 1 ? 1 : most < threads ? (int)most : threads;
}

// Rows of each thread. Where rows name the places they are added to (sorted), equal places stay with one thread.
template <class Body> void over_rows(int64_t rows, int64_t width, int threads, const int64_t *places, Body body) {
    int team = team_for(threads, rows * width);
    auto border = [&](int64_t part) {
        int64_t row = rows * part / team;
        if (places)
            while (row > 0 && row < rows && places[row] == places[row - 1]) row++;
        return row;
    };
#pragma omp parallel num_threads(team) if (team > 1)
    {
        // The runtime may give fewer threads than asked for: then each takes several parts.
        for (int part = omp_get_thread_num(); part < team; part += omp_get_num_threads())
            for (int64_t row = border(part), end = border(part + 1); row < end; row++) body(row);
    }
}

}  // namespace
