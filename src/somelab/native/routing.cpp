// What a router does with queries, each in one pass over memory: rows scaled to length 1 or to rms 1, the way back of their gradient,
// the best of a row of scores, and sums of queries by expert. fp32. A value is computed by one thread: results are the same bits for any number of threads.

#include "vectors.h"

#include <cmath>

namespace {

constexpr float LEAST_LENGTH = 1e-12f;        // as in torch's `normalize`
constexpr float RMS_EPSILON = 1.1920929e-07f;  // as in torch's `rms_norm`: the spacing of fp32 at 1

struct Rows {
    int64_t count, width, parts;  // a row is cut into equal parts, each scaled by itself
    bool rms;                      // to rms 1, else to length 1
    int threads;
    int64_t part_width() const { return width / parts; }
};

// y = scale (x - centre), part by part; centre may be null. 1 / scale: sqrt(mean square + epsilon), or the length.
void scale_rows(const float *x, const float *centre, float *y, float *scales, const Rows &rows) {
    const int64_t width = rows.part_width();
    over_rows(rows.count, rows.width, rows.threads, nullptr, [=](int64_t row) {
        for (int64_t part = 0; part < rows.parts; part++) {
            const float *from = x + row * rows.width + part * width, *middle = centre ? centre + part * width : nullptr;
            float *to = y + row * rows.width + part * width;
            Floats sum = {};
            along(width, [&](int64_t column, auto read, auto) {
                Floats value = middle ? read(from + column) - read(middle + column) : read(from + column);
                sum += value * value;
            });
            float square = total(sum), length = std::sqrt(square);
            float scale = rows.rms ? 1 / std::sqrt(square / (float)width + RMS_EPSILON) : 1 / (length < LEAST_LENGTH ? LEAST_LENGTH : length);
            scales[row * rows.parts + part] = scale;
            along(width, [=](int64_t column, auto read, auto write) {
                Floats value = middle ? read(from + column) - read(middle + column) : read(from + column);
                write(value * scale, to + column);
            });
        }
    });
}

// The gradient of x from that of y: scale (grad - share y <grad, y>), share 1 / width for rms 1, 1 for length 1, 0 below the least length.
void scale_rows_back(const float *y, const float *scales, const float *grad, float *grad_x, const Rows &rows) {
    const int64_t width = rows.part_width();
    over_rows(rows.count, rows.width, rows.threads, nullptr, [=](int64_t row) {
        for (int64_t part = 0; part < rows.parts; part++) {
            int64_t first = row * rows.width + part * width;
            float scale = scales[row * rows.parts + part];
            Floats sum = {};
            along(width, [&](int64_t column, auto read, auto) { sum += read(y + first + column) * read(grad + first + column); });
            float share = rows.rms ? 1 / (float)width : scale < 1 / LEAST_LENGTH ? 1.0f : 0.0f;
            float along_y = total(sum) * share;
            along(width, [=](int64_t column, auto read, auto write) {
                write(scale * (read(grad + first + column) - along_y * read(y + first + column)), grad_x + first + column);
            });
        }
    });
}

// The best so far, in descending order; of equal values the first. NaNs count as minus infinity.
struct Best {
    float *values;
    int64_t *places, most, count = 0;
    float least() const { return count < most ? -INFINITY : values[most - 1]; }
    void take(float value, int64_t place) {
        value = value == value ? value : -INFINITY;
        int64_t at = count < most ? count++ : most - 1;
        for (; at > 0 && values[at - 1] < value; at--) values[at] = values[at - 1], places[at] = places[at - 1];
        values[at] = value, places[at] = place;
    }
};

inline bool any(Ints lanes) {
    int64_t words[LANES / 2], found = 0;
    std::memcpy(words, &lanes, sizeof lanes);
    for (int64_t word : words) found |= word;
    return found != 0;
}

// Takes the top_k largest of scores + bias in a long row.
void best_of_long_row(const float *score, const float *bias, Best best, int64_t width) {
    constexpr int64_t STRIDE = 4 * LANES;
    int64_t column = 0;
    for (; column < best.most; column++) best.take(score[column] + bias[column], column);
    float least = best.least();
    auto one_by_one = [&](int64_t end) {
        for (; column < end; column++)
            if (float value = score[column] + bias[column]; value > least) best.take(value, column), least = best.least();
    };
    while (column + STRIDE <= width) {
        Floats most = load(score + column) + load(bias + column);
        for (int64_t next = LANES; next < STRIDE; next += LANES) {
            Floats value = load(score + column + next) + load(bias + column + next);
            most = value > most ? value : most;
        }
        if (any(most > least)) one_by_one(column + STRIDE);
        else column += STRIDE;
    }
    one_by_one(width);
}

// The same for a short row, without branches that depend on scores: top_k rounds, each the maximum of a whole row. A candidate is one
// integer, its value in the upper half so that integers compare as floats do, the complement of its place in the lower: of equal values
// the first is the largest. NaNs come last, in their order.
constexpr int64_t SHORT_ROW = 256, WORDS = LANES / 2;
typedef int64_t Words __attribute__((vector_size(8 * WORDS)));

void best_of_short_row(const float *score, const float *bias, float *values, int64_t *places, int64_t width, int64_t top_k) {
    Words candidates[SHORT_ROW / WORDS];
    const int64_t count = (width + WORDS - 1) / WORDS;
    auto *candidate = reinterpret_cast<int64_t *>(candidates);
    for (int64_t column = 0; column < width; column++) {
        float value = score[column] + bias[column] + 0.0f;  // the sum makes a negative zero a positive one
        int32_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        bits = bits < 0 ? bits ^ 0x7fffffff : bits;
        bits = value != value ? INT32_MIN : bits;
        candidate[column] = ((int64_t)bits << 32) | (uint32_t)~(uint32_t)column;
    }
    for (int64_t column = width; column < count * WORDS; column++) candidate[column] = INT64_MIN;
    for (int64_t rank = 0; rank < top_k; rank++) {
        Words most = candidates[0];
        for (int64_t i = 1; i < count; i++) most = candidates[i] > most ? candidates[i] : most;
        int64_t best = most[0];
        for (int64_t word = 1; word < WORDS; word++) best = most[word] > best ? most[word] : best;
        int64_t place = (int64_t)(uint32_t)~(uint32_t)best;
        places[rank] = place, values[rank] = score[place] + bias[place];
        // A whole vector: one value written alone would have to reach memory before the next round could read its vector.
        Words &taken = candidates[place / WORDS];
        taken = taken == best ? Words{} + INT64_MIN : taken;
    }
}

// values and places of the top_k largest of scores + bias, in every row.
void best_of_rows(const float *scores, const float *bias, float *values, int64_t *places, int64_t rows, int64_t width, int64_t top_k,
                  int threads) {
    over_rows(rows, width, threads, nullptr, [=](int64_t row) {
        const float *score = scores + row * width;
        if (width <= SHORT_ROW) best_of_short_row(score, bias, values + row * top_k, places + row * top_k, width, top_k);
        else best_of_long_row(score, bias, {values + row * top_k, places + row * top_k, top_k}, width);
    });
}

// target[indices[t, k]] += weights[t, k] * rows[t], tokens and slots in their order. A thread has columns of its own.
void add_weighted(float *target, const int64_t *indices, const float *weights, const float *rows, int64_t tokens, int64_t width, int64_t top_k,
                  int threads) {
    const int64_t columns = (width + LANES - 1) / LANES;
    over_rows(columns < threads ? columns : threads, tokens * top_k * width, threads, nullptr, [=](int64_t part) {
        int64_t parts = columns < threads ? columns : threads;
        int64_t begin = columns * part / parts * LANES, end = columns * (part + 1) / parts * LANES;
        int64_t count = (end < width ? end : width) - begin;
        for (int64_t place = 0; place < tokens * top_k; place++) {
            const float *from = rows + place / top_k * width + begin;
            float *to = target + indices[place] * width + begin;
            float weight = weights[place];
            along(count, [=](int64_t column, auto read, auto write) {
                write(read(to + column) + weight * read(from + column), to + column);
            });
        }
    });
}

}  // namespace

extern "C" void add_weighted_float32(float *target, const int64_t *indices, const float *weights, const float *rows, int64_t tokens,
                                     int64_t width, int64_t top_k, int threads) {
    add_weighted(target, indices, weights, rows, tokens, width, top_k, threads);
}

extern "C" void scale_rows_float32(const float *x, const float *centre, float *y, float *scales, int64_t rows, int64_t width,
                                   int64_t parts, int64_t rms, int threads) {
    scale_rows(x, centre, y, scales, {rows, width, parts, rms != 0, threads});
}

extern "C" void scale_rows_back_float32(const float *y, const float *scales, const float *grad, float *grad_x, int64_t rows, int64_t width,
                                        int64_t parts, int64_t rms, int threads) {
    scale_rows_back(y, scales, grad, grad_x, {rows, width, parts, rms != 0, threads});
}

extern "C" void best_of_rows_float32(const float *scores, const float *bias, float *values, int64_t *places, int64_t rows, int64_t width,
                                     int64_t top_k, int threads) {
    best_of_rows(scores, bias, values, places, rows, width, top_k, threads);
}
