// Products of rows with matrices of int8 on processors that have no instruction for them (VNNI, AMX): unsigned 7-bit rows times signed
// 8-bit matrices, by AVX2's multiplication of bytes. Two neighbours are added in 16 bits: 2 x 127 x 127 < 2^15, so nothing saturates and
// the sums are exact. A row is x = scale (q - 64), q from 1 to 127. Integers are added in any order to the same sum: results are the
// same bits for any number of threads.

#include "vectors.h"

#include <cmath>
#include <memory>
#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace {

constexpr int64_t COLUMNS = 16;  // outputs of a panel
constexpr int64_t QUAD = 4;      // inputs that one instruction pair adds up
constexpr int64_t TOGETHER = 4;  // rows of a tile: with two vectors of outputs each, half of the registers
constexpr int64_t ROWS = 48;     // rows that stay in the cache while all panels pass
constexpr int64_t FEW = 8;       // so many rows are not worth packing the matrix
constexpr float LEVELS = 63.0f;
constexpr int32_t ZERO = 64;

struct Largest {
    Floats most = {}, spoilt = {};  // spoilt: a NaN where a value is infinite or none
    void see(Floats x) {
        Floats size = (Floats)((Ints)x & 0x7fffffff);
        most = size > most ? size : most;
        spoilt += x - x;
    }
    float value() const { return largest(most) + total(spoilt); }
};

// q = 64 + round(x / scale) with scale = max |x| / 63, which is returned.
inline float quantise_row(const float *x, float most, uint8_t *q, int64_t width) {
    typedef uint8_t Bytes __attribute__((vector_size(LANES)));
    float inverse = most > 0 ? LEVELS / most : 0.0f;
    int64_t column = 0;
    for (; column + LANES <= width; column += LANES) {
        Bits bits = (Bits)(load(x + column) * inverse + 12582976.0f);  // 1.5 * 2^23 + 64 rounds, and leaves q in the last byte
        Bytes bytes = __builtin_convertvector(bits & 0xffu, Bytes);
        std::memcpy(q + column, &bytes, sizeof bytes);
    }
    for (; column < width; column++) q[column] = (uint8_t)(std::nearbyint(x[column] * inverse) + ZERO);
    return most / LEVELS;
}

void quantise(const float *x, uint8_t *q, float *scales, int64_t rows, int64_t width, int threads) {
    over_rows(rows, width, threads, nullptr, [=](int64_t row) {
        const float *from = x + row * width;
        Largest found;
        along(width, [&](int64_t column, auto read, auto) { found.see(read(from + column)); });
        scales[row] = quantise_row(from, found.value(), q + row * width, width);
    });
}

// The same of gelu(x).
void activate_quantise(const float *x, uint8_t *q, float *scales, int64_t rows, int64_t width, int threads) {
    over_rows(rows, width, threads, nullptr, [=](int64_t row) {
        static thread_local std::unique_ptr<float[]> memory;
        static thread_local int64_t size = 0;
        if (size < width) memory.reset(new float[width]), size = width;
        float *hidden = memory.get();
        const float *from = x + row * width;
        Largest found;
        along(width, [&](int64_t column, auto read, auto write) {
            Floats value = gelu(read(from + column)).value;
            found.see(value);
            write(value, hidden + column);
        });
        scales[row] = quantise_row(hidden, found.value(), q + row * width, width);
    });
}

// A matrix as it is stored: outputs x inputs, or (`transposed`) inputs x outputs.
struct Matrix {
    const int8_t *values;
    int64_t inputs, outputs;
    bool transposed;
    float scale;
};

struct Input {
    const uint8_t *rows;
    const float *scales;
    const int64_t *places;  // null: row n is at n
    int64_t width;
    int64_t place(int64_t row) const { return places ? places[row] : row; }
    const uint8_t *row(int64_t number) const { return rows + place(number) * width; }
    float scale(int64_t number) const { return scales[place(number)]; }
};

// Panel of COLUMNS outputs: the four values of each quad of inputs side by side, output by output. `sums` gets 64 times their sums.
#ifdef __AVX2__
inline __m256i quads_of(__m256i rows, __m256i matrix) {
    return _mm256_madd_epi16(_mm256_maddubs_epi16(rows, matrix), _mm256_set1_epi16(1));
}

// Four rows of 16 outputs each become 16 quads.
inline void interleave(const int8_t *from, int64_t stride, int8_t *to) {
    __m128i row[QUAD];
    for (int64_t k = 0; k < QUAD; k++) row[k] = _mm_loadu_si128((const __m128i *)(from + k * stride));
    __m128i low = _mm_unpacklo_epi8(row[0], row[1]), high = _mm_unpackhi_epi8(row[0], row[1]);
    __m128i low2 = _mm_unpacklo_epi8(row[2], row[3]), high2 = _mm_unpackhi_epi8(row[2], row[3]);
    __m128i *quads = (__m128i *)to;
    _mm_store_si128(quads, _mm_unpacklo_epi16(low, low2));
    _mm_store_si128(quads + 1, _mm_unpackhi_epi16(low, low2));
    _mm_store_si128(quads + 2, _mm_unpacklo_epi16(high, high2));
    _mm_store_si128(quads + 3, _mm_unpackhi_epi16(high, high2));
}

// Eight quads of eight rows: rows become columns.
inline void turn(const int8_t *from, int64_t stride, int8_t *to) {
    __m256i row[8], pair[8], four[8];
    for (int i = 0; i < 8; i++) row[i] = _mm256_loadu_si256((const __m256i *)(from + i * stride));
    for (int i = 0; i < 8; i += 2) {
        pair[i] = _mm256_unpacklo_epi32(row[i], row[i + 1]);
        pair[i + 1] = _mm256_unpackhi_epi32(row[i], row[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
        for (int half = 0; half < 2; half++) {
            four[i + 2 * half] = _mm256_unpacklo_epi64(pair[i + half], pair[i + 2 + half]);
            four[i + 2 * half + 1] = _mm256_unpackhi_epi64(pair[i + half], pair[i + 2 + half]);
        }
    for (int i = 0; i < 4; i++) {
        _mm256_store_si256((__m256i *)(to + i * QUAD * COLUMNS), _mm256_permute2x128_si256(four[i], four[i + 4], 0x20));
        _mm256_store_si256((__m256i *)(to + (i + 4) * QUAD * COLUMNS), _mm256_permute2x128_si256(four[i], four[i + 4], 0x31));
    }
}

void pack(const Matrix &matrix, int64_t first, int8_t *panel, int32_t *sums) {
    int64_t input = 0;
    if (matrix.transposed)
        for (; input < matrix.inputs; input += QUAD)
            interleave(matrix.values + input * matrix.outputs + first, matrix.outputs, panel + input * COLUMNS);
    for (; input + 8 * QUAD <= matrix.inputs; input += 8 * QUAD)
        for (int64_t half = 0; half < 2; half++)
            turn(matrix.values + (first + 8 * half) * matrix.inputs + input, matrix.inputs, panel + input * COLUMNS + 32 * half);
    for (; input < matrix.inputs; input += QUAD)
        for (int64_t output = 0; output < COLUMNS; output++)
            std::memcpy(panel + input * COLUMNS + output * QUAD, matrix.values + (first + output) * matrix.inputs + input, QUAD);
    __m256i left = _mm256_setzero_si256(), right = left;
    const __m256i zero = _mm256_set1_epi8(ZERO);
    for (int64_t k = 0; k < matrix.inputs; k += QUAD) {
        left = _mm256_add_epi32(left, quads_of(zero, _mm256_load_si256((const __m256i *)(panel + k * COLUMNS))));
        right = _mm256_add_epi32(right, quads_of(zero, _mm256_load_si256((const __m256i *)(panel + k * COLUMNS + 32))));
    }
    _mm256_storeu_si256((__m256i *)sums, left);
    _mm256_storeu_si256((__m256i *)(sums + 8), right);
}

template <int COUNT>
inline void tile(const Input &input, int64_t row, const int8_t *panel, const int32_t *sums, const Matrix &matrix, float *out) {
    const uint8_t *from[COUNT];
    __m256i sum[COUNT][2];
#pragma GCC unroll 4
    for (int i = 0; i < COUNT; i++) from[i] = input.row(row + i), sum[i][0] = sum[i][1] = _mm256_setzero_si256();
    for (int64_t k = 0; k < matrix.inputs; k += QUAD) {
        __m256i left = _mm256_load_si256((const __m256i *)(panel + k * COLUMNS));
        __m256i right = _mm256_load_si256((const __m256i *)(panel + k * COLUMNS + 32));
#pragma GCC unroll 4
        for (int i = 0; i < COUNT; i++) {
            int32_t four;
            std::memcpy(&four, from[i] + k, sizeof four);
            __m256i values = _mm256_set1_epi32(four);
            sum[i][0] = _mm256_add_epi32(sum[i][0], quads_of(values, left));
            sum[i][1] = _mm256_add_epi32(sum[i][1], quads_of(values, right));
            asm volatile("" : "+x"(sum[i][0]), "+x"(sum[i][1]));  // row by row: GCC would run out of registers otherwise
        }
    }
    // Unrolled like the others: with an index that is not constant, the sums would be in memory instead of registers.
#pragma GCC unroll 4
    for (int i = 0; i < COUNT; i++) {
        __m256 factor = _mm256_set1_ps(input.scale(row + i) * matrix.scale);
#pragma GCC unroll 2
        for (int half = 0; half < 2; half++) {
            __m256i whole = _mm256_sub_epi32(sum[i][half], _mm256_loadu_si256((const __m256i *)(sums + 8 * half)));
            _mm256_storeu_ps(out + (row + i) * matrix.outputs + 8 * half, _mm256_mul_ps(_mm256_cvtepi32_ps(whole), factor));
        }
    }
}

inline int32_t dot(const uint8_t *row, const int8_t *values, int64_t count) {
    __m256i sum = _mm256_setzero_si256(), all = sum;
    int64_t k = 0;
    for (; k + 32 <= count; k += 32) {
        __m256i matrix = _mm256_loadu_si256((const __m256i *)(values + k));
        sum = _mm256_add_epi32(sum, quads_of(_mm256_loadu_si256((const __m256i *)(row + k)), matrix));
        all = _mm256_add_epi32(all, quads_of(_mm256_set1_epi8(ZERO), matrix));
    }
    int32_t lanes[8], result = 0;
    _mm256_storeu_si256((__m256i *)lanes, _mm256_sub_epi32(sum, all));
    for (int32_t lane : lanes) result += lane;
    for (; k < count; k++) result += ((int32_t)row[k] - ZERO) * values[k];
    return result;
}
#else
void pack(const Matrix &matrix, int64_t first, int8_t *panel, int32_t *sums) {
    int32_t sum[COLUMNS] = {};
    for (int64_t input = 0; input < matrix.inputs; input += QUAD) {
        int8_t *to = panel + input * COLUMNS;
        for (int64_t output = 0; output < COLUMNS; output++)
            if (matrix.transposed)
                for (int64_t k = 0; k < QUAD; k++) to[output * QUAD + k] = matrix.values[(input + k) * matrix.outputs + first + output];
            else std::memcpy(to + output * QUAD, matrix.values + (first + output) * matrix.inputs + input, QUAD);
        for (int64_t output = 0; output < COLUMNS; output++)
            for (int64_t k = 0; k < QUAD; k++) sum[output] += to[output * QUAD + k];
    }
    for (int64_t output = 0; output < COLUMNS; output++) sums[output] = ZERO * sum[output];
}

template <int COUNT>
inline void tile(const Input &input, int64_t row, const int8_t *panel, const int32_t *sums, const Matrix &matrix, float *out) {
    for (int i = 0; i < COUNT; i++)
        for (int64_t output = 0; output < COLUMNS; output++) {
            int32_t sum = -sums[output];
            for (int64_t k = 0; k < matrix.inputs; k++)
                sum += input.row(row + i)[k] * panel[k / QUAD * QUAD * COLUMNS + output * QUAD + k % QUAD];
            out[(row + i) * matrix.outputs + output] = (float)sum * (input.scale(row + i) * matrix.scale);
        }
}

inline int32_t dot(const uint8_t *row, const int8_t *values, int64_t count) {
    int32_t sum = 0;
    for (int64_t k = 0; k < count; k++) sum += ((int32_t)row[k] - ZERO) * values[k];
    return sum;
}
#endif

// For a few rows: the matrix is read once, as it is stored.
void few_rows(const Input &input, const Matrix &matrix, float *out, int64_t rows, int threads) {
    over_rows(matrix.outputs, rows * matrix.inputs, threads, nullptr, [=](int64_t output) {
        const int8_t *values = matrix.values + output * matrix.inputs;
        for (int64_t row = 0; row < rows; row++)
            out[row * matrix.outputs + output] = (float)dot(input.row(row), values, matrix.inputs) * (input.scale(row) * matrix.scale);
    });
}

// Memory of the calling thread for packed matrices, kept: fresh memory costs page faults.
struct Panels {
    std::unique_ptr<int8_t[]> memory;
    std::unique_ptr<int32_t[]> sums;
    int64_t bytes = 0, outputs = 0;
    void fit(int64_t more_bytes, int64_t more_outputs) {
        if (bytes < more_bytes) memory.reset(new int8_t[more_bytes + 64]), bytes = more_bytes;
        if (outputs < more_outputs) sums.reset(new int32_t[more_outputs]), outputs = more_outputs;
    }
    int8_t *panel(int64_t offset) const {
        return reinterpret_cast<int8_t *>((reinterpret_cast<uintptr_t>(memory.get()) + 63) / 64 * 64) + offset;
    }
};

// out[n] = matrix row(n), in fp32. Inputs are a multiple of QUAD, outputs of COLUMNS.
void product(const Input &input, const Matrix &matrix, float *out, int64_t rows, int threads) {
    if (rows <= FEW && !matrix.transposed) return few_rows(input, matrix, out, rows, threads);
    const int64_t panels = matrix.outputs / COLUMNS, blocks = (rows + ROWS - 1) / ROWS, wide = 4;
    const int64_t groups = (panels + wide - 1) / wide;
    static thread_local Panels own;
    own.fit(matrix.inputs * matrix.outputs, matrix.outputs);
    const Panels &packed = own;  // the caller's, in every thread of the team
    int team = team_for(threads, rows * matrix.inputs);
#pragma omp parallel num_threads(team) if (team > 1)
    {
#pragma omp for schedule(static)
        for (int64_t number = 0; number < panels; number++)
            pack(matrix, number * COLUMNS, packed.panel(number * COLUMNS * matrix.inputs), packed.sums.get() + number * COLUMNS);
#pragma omp for schedule(dynamic)
        for (int64_t task = 0; task < blocks * groups; task++) {
            int64_t begin = task / groups * ROWS, end = begin + ROWS < rows ? begin + ROWS : rows, group = task % groups;
            for (int64_t number = group * wide; number < (group + 1) * wide && number < panels; number++) {
                const int8_t *panel = packed.panel(number * COLUMNS * matrix.inputs);
                const int32_t *sums = packed.sums.get() + number * COLUMNS;
                float *to = out + number * COLUMNS;
                int64_t row = begin;
                for (; row + TOGETHER <= end; row += TOGETHER) tile<TOGETHER>(input, row, panel, sums, matrix, to);
                for (; row < end; row++) tile<1>(input, row, panel, sums, matrix, to);
            }
        }
    }
}

}  // namespace

extern "C" int int8_is_fast(void) {
#ifdef __AVX2__
    return 1;
#else
    return 0;
#endif
}

extern "C" void int8_quantise_float32(const float *x, uint8_t *q, float *scales, int64_t rows, int64_t width, int threads) {
    quantise(x, q, scales, rows, width, threads);
}

extern "C" void int8_activate_float32(const float *x, uint8_t *q, float *scales, int64_t rows, int64_t width, int threads) {
    activate_quantise(x, q, scales, rows, width, threads);
}

extern "C" void int8_product_float32(const uint8_t *rows, const float *scales, const int64_t *places, const int8_t *matrix, float *out,
                                     int64_t count, int64_t inputs, int64_t outputs, int64_t transposed, float scale, int threads) {
    product({rows, scales, places, inputs}, {matrix, inputs, outputs, transposed != 0, scale}, out, count, threads);
}
