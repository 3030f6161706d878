/* Upper bounds of log predictive densities of a document in many clusters, from one byte per number of a panel: among
 * many clusters, most are so unlikely for a long document that an eighth of the memory suffices to show it. Part of
 * multinomial_loops.h. */

/* Slots per step; their sums of codes stay in registers. */
#if SPARSEMIX_VECTORS
#define WIDTH (4 * VECTOR_BYTES)
#else
#define WIDTH 64
#endif
/* Number of codes whose sum fits 16 bits. */
#define MOST_CODES 256
/* Prefetch distance in rows. */
#define AHEAD 16

/* Code of (x + r) / (beta + r) from that of x / beta, never larger. Below x = r, 1 + x / r is at most 2, eight
 * codes. Above, it is x / r times a remainder that decreases by more than one code in four. */
TARGET SPARSEMIX_INLINE uint8_t SPARSEMIX_NAME(code_of_copy)(uint8_t code, uint8_t from)
{
    const uint8_t above = (uint8_t)((code > from ? code : from) - from);
    const uint8_t sum = (uint8_t)(above + 8 - ((above < 20 ? above : 20) >> 2));
    return sum < code ? sum : code;
}

/* Prefetch the codes of word ``e``; at the end of the document, those of the first word in the next slots. */
TARGET SPARSEMIX_INLINE void SPARSEMIX_NAME(send_for)(const sparsemix_document *d, const uint8_t *codes,
                                                      ptrdiff_t stride, ptrdiff_t e, const int width)
{
    const ptrdiff_t next = e - d->n_entries;
    int v;
    if (next >= d->n_entries)
        return;
    codes += next < 0 ? d->words[e] * stride : d->words[next] * stride + width;
    for (v = 0; v < width; v += 64)
        sparsemix_prefetch(codes + v);
}

/* Sums of a document's codes in ``width`` slots. */
TARGET SPARSEMIX_INLINE void SPARSEMIX_NAME(sums_of_codes)(const sparsemix_document *d, const sparsemix_copies *copies,
                                                           const uint8_t *codes, ptrdiff_t stride, double *out,
                                                           const int width)
{
    uint16_t sums[WIDTH];
    int n_codes = 0, v, r;
    ptrdiff_t e;
    for (v = 0; v < width; v++)
        out[v] = 0.0, sums[v] = 0;
    for (e = 0; e < d->n_entries; e++) {
        const uint8_t *row = codes + d->words[e] * stride;
        const double count = ceil(d->counts[e]), more = count - SPARSEMIX_COPIES;
        const int n_copies = more < 0.0 ? (int)count : SPARSEMIX_COPIES;
        SPARSEMIX_NAME(send_for)(d, codes, stride, e + AHEAD, width);
        if (n_codes + n_copies > MOST_CODES) {
            for (v = 0; v < width; v++)
                out[v] += sums[v], sums[v] = 0;
            n_codes = 0;
        }
        n_codes += n_copies;
        for (v = 0; v < width; v++)
            sums[v] += row[v];
        for (r = 1; r < n_copies; r++)
            for (v = 0; v < width; v++)
                sums[v] += SPARSEMIX_NAME(code_of_copy)(row[v], copies->from[r]);
        if (more > 0.0)
            for (v = 0; v < width; v++)
                out[v] += more * SPARSEMIX_NAME(code_of_copy)(row[v], copies->from[SPARSEMIX_COPIES - 1]);
    }
    for (v = 0; v < width; v++)
        out[v] += sums[v];
}

/* Upper bounds of log_prior + log density in slots up to the next multiple of eight, without the words' term under the
 * prior: codes bound the product over tokens; the product of the totals has a concave log, bounded by the mean of its
 * ends. SPARSEMIX_NO_BOUND if a code may not represent a number; ``largest``: the maximum with its old value. */
TARGET static void SPARSEMIX_NAME(bounds)(const sparsemix_document *d, const sparsemix_copies *copies,
                                          const uint8_t *codes, ptrdiff_t stride, const double *totals,
                                          const double *log_prior, double largest_total, ptrdiff_t n_slots, double *out,
                                          double *largest)
{
    VECTOR top = FILL(*largest);
    ptrdiff_t k;
    for (k = 0; stride >= WIDTH && k < n_slots; k += WIDTH) { /* recomputes some of the last slots if necessary */
        const ptrdiff_t first = k + WIDTH > stride ? stride - WIDTH : k;
        SPARSEMIX_NAME(sums_of_codes)(d, copies, codes + first, stride, out + first, WIDTH);
    }
    for (k = 0; stride < WIDTH && k < n_slots; k += SPARSEMIX_SLOTS)
        SPARSEMIX_NAME(sums_of_codes)(d, copies, codes + k, stride, out + k, SPARSEMIX_SLOTS);
    for (k = 0; k < (n_slots + 7) / 8 * 8; k += LANES) {
        const VECTOR total = *(const VECTOR *)(totals + k), sum = *(VECTOR *)(out + k);
        const VECTOR ends = SPARSEMIX_NAME(log)(total * (total + (REAL)(d->n_tokens - 1.0)));
        const VECTOR bound = sum * (REAL)SPARSEMIX_CODE - ends * (REAL)(0.5 * d->n_tokens);
        const BITS holds = MASK(total < FILL(largest_total));
        const VECTOR prior = *(const VECTOR *)(log_prior + k);
        *(VECTOR *)(out + k) = prior + CHOOSE(holds, bound, FILL(SPARSEMIX_NO_BOUND));
        top = LARGER(top, prior + CHOOSE(holds, bound, FILL(-INFINITY)));
    }
    for (k = 0; k < LANES; k++)
        *largest = ((const double *)&top)[k] > *largest ? ((const double *)&top)[k] : *largest;
}

/* The groups of eight slots in which a bound is at least ``least``, and their number. */
TARGET static void SPARSEMIX_NAME(eights)(const double *bounds, ptrdiff_t n_slots, double least, int *eights,
                                          ptrdiff_t *n_eights)
{
    ptrdiff_t i, k;
    *n_eights = 0;
    for (i = 0; 8 * i < n_slots; i++) {
        int n = 0;
        for (k = 8 * i; k < 8 * i + 8; k += LANES)
            n += SPARSEMIX_NAME(passed)(FILL(least), *(const VECTOR *)(bounds + k));
        eights[*n_eights] = (int)i;
        *n_eights += n > 0;
    }
}

#undef WIDTH
#undef MOST_CODES
#undef AHEAD
